/* memory.c: see memory.h. */
#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *insist(void *memory)
{
    if (!memory) {
        fprintf(stderr, "explorer: out of memory\n");
        exit(2);
    }
    return memory;
}

void *allocate(size_t count, size_t size)
{
    return insist(calloc(count, size));
}

void *reallocate(void *old, size_t count, size_t size)
{
    return insist(realloc(old, count * size));
}

static uint64_t mix(uint64_t x)
{
    x *= 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
    const unsigned char *at = bytes;
    uint64_t hash = seed + size;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t block;
        memcpy(&block, at, 8);
        hash = mix(hash ^ block);
    }
    uint64_t rest = 0;
    memcpy(&rest, at, size);
    return mix(mix(hash ^ rest) ^ hash >> 32);
}
