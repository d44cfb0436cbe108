/* store.c: see store.h. Open addressing. */
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

static void grow_table(struct store *store)
{
    const struct store_entry *old = store->table;
    const uint32_t size = 2 * store->table_size;
    struct store_entry *table = allocate(size, sizeof *table);
    for (uint32_t i = 0; i < store->table_size; i++) {
        if (old[i].number == 0)
            continue;
        uint32_t slot = old[i].hash & (size - 1);
        while (table[slot].number)
            slot = (slot + 1) & (size - 1);
        table[slot] = old[i];
    }
    free(store->table);
    store->table = table;
    store->table_size = size;
}

uint32_t store_hash(const struct store *store, const unsigned char *state)
{
    const uint32_t hash = (uint32_t)hash_bytes(state, store->size, 0);
    __builtin_prefetch(&store->table[hash & (store->table_size - 1)]);
    return hash;
}

void store_fetch(const struct store *store, uint32_t hash)
{
    const struct store_entry entry = store->table[hash & (store->table_size - 1)];
    if (entry.number && entry.hash == hash) {
        const unsigned char *state = store_get(store, entry.number - 1);
        __builtin_prefetch(state);
        __builtin_prefetch(state + store->size - 1);
    }
}

uint32_t store_add(struct store *store, const unsigned char *state, uint32_t parent)
{
    return store_add_hashed(store, state, store_hash(store, state), parent);
}

uint32_t store_add_hashed(struct store *store, const unsigned char *state, uint32_t hash,
                          uint32_t parent)
{
    uint32_t slot = hash & (store->table_size - 1);
    struct store_entry entry;
    for (; (entry = store->table[slot]).number; slot = (slot + 1) & (store->table_size - 1)) {
        /* Most other states are told apart here, without a look at them in memory. */
        if (entry.hash == hash &&
            memcmp(store_get(store, entry.number - 1), state, store->size) == 0)
            return entry.number - 1;
    }
    if (store->count == store->capacity) {
        store->capacity *= 2;
        store->states = reallocate(store->states, store->capacity, store->size);
        store->parents = reallocate(store->parents, store->capacity, sizeof *store->parents);
    }
    memcpy(store->states + store->count * store->size, state, store->size);
    store->parents[store->count] = parent;
    store->table[slot] = (struct store_entry){++store->count, hash};
    if (store->count > store->table_size / 2)
        grow_table(store);
    return store->count - 1;
}
