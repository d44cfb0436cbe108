/* store.c: see store.h. Open addressing; the table holds numbers plus one. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void store_open(struct store *store, size_t size_of_state)
{
    *store = (struct store){.size = size_of_state, .capacity = 1 << 10, .table_size = 1 << 12};
    store->states = allocate(store->capacity, store->size);
    store->parents = allocate(store->capacity, sizeof *store->parents);
    store->table = allocate(store->table_size, sizeof *store->table);
}

void store_close(struct store *store)
{
    free(store->states);
    free(store->parents);
    free(store->table);
}

const unsigned char *store_get(const struct store *store, uint32_t number)
{
    return store->states + number * store->size;
}

static uint32_t hash_of(const struct store *store, const unsigned char *state)
{
    return (uint32_t)hash_bytes(state, store->size, 0);
}

static void grow_table(struct store *store)
{
    free(store->table);
    store->table_size *= 2;
    store->table = allocate(store->table_size, sizeof *store->table);
    for (uint32_t i = 0; i < store->count; i++) {
        uint32_t slot = hash_of(store, store_get(store, i)) & (store->table_size - 1);
        while (store->table[slot])
            slot = (slot + 1) & (store->table_size - 1);
        store->table[slot] = i + 1;
    }
}

uint32_t store_add(struct store *store, const unsigned char *state, uint32_t parent)
{
    uint32_t slot = hash_of(store, state) & (store->table_size - 1);
    for (; store->table[slot]; slot = (slot + 1) & (store->table_size - 1)) {
        if (memcmp(store_get(store, store->table[slot] - 1), state, store->size) == 0)
            return store->table[slot] - 1;
    }
    if (store->count == store->capacity) {
        store->capacity *= 2;
        store->states = reallocate(store->states, store->capacity, store->size);
        store->parents = reallocate(store->parents, store->capacity, sizeof *store->parents);
    }
    memcpy(store->states + store->count * store->size, state, store->size);
    store->parents[store->count] = parent;
    store->table[slot] = ++store->count;
    if (store->count > store->table_size / 2)
        grow_table(store);
    return store->count - 1;
}
