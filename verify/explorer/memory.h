/* memory.h: allocation that cannot fail quietly, and a hash. */
#ifndef EXPLORER_MEMORY_H
#define EXPLORER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed. Ends the program if there is none. */
void *allocate(size_t count, size_t size);

/* What is new is not zeroed. Ends the program if there is none. */
void *reallocate(void *old, size_t count, size_t size);

uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed);

#endif
