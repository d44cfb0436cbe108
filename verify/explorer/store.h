/*
 * store.h: the set of states found so far, numbered in the order of their discovery, each with the
 * one it was found from.
 */
#ifndef EXPLORER_STORE_H
#define EXPLORER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store {
    size_t size;
    uint32_t count, capacity;
    unsigned char *states;
    uint32_t *parents;
    struct store_entry {
        uint32_t number; /* plus one */
        uint32_t hash;
    } * table;
    uint32_t table_size;
};

void store_open(struct store *store, size_t size_of_state);
void store_close(struct store *store);

/* The number of this state, which is added with this parent if it is new. */
uint32_t store_add(struct store *store, const unsigned char *state, uint32_t parent);

/*
 * The same in three parts, for many states at once: the first two fetch into the cache what the
 * third will look at.
 */
uint32_t store_hash(const struct store *store, const unsigned char *state);
void store_fetch(const struct store *store, uint32_t hash);
uint32_t store_add_hashed(struct store *store, const unsigned char *state, uint32_t hash,
                          uint32_t parent);

const unsigned char *store_get(const struct store *store, uint32_t number);

#endif
