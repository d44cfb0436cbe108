/* wordcount.c: the table of wordcount.h. No libc, so that it compiles to WebAssembly as it is. */
#include "wordcount.h"

#include <stddef.h>

_Static_assert(sizeof(lw_mutex) == 8, "wordcount.js: MUTEX_BYTES");
_Static_assert(sizeof(struct wc_arena) == 76, "wordcount.js: ARENA");
_Static_assert(offsetof(struct wc_arena, next_file) == 52, "wordcount.js: ARENA");
_Static_assert(offsetof(struct wc_arena, heap_next) == 64, "wordcount.js: ARENA");
_Static_assert(sizeof(struct wc_word) == 16, "wordcount.js: WORD");
_Static_assert(sizeof(struct wc_tally) == 28, "wordcount.js: TALLY");

/* Without locks a chain may run in circles. No honest one of a table that is not overfull comes
 * near this. */
#define MAX_CHAIN_UNLOCKED 256u

#define ALIGNMENT 64u
#define STRIPES_AT 128u /* behind the struct wc_arena */
#define FNV_BASIS 2166136261u
#define FNV_PRIME 16777619u

/*
 * A number in the table. Volatile, so that the compiler reads it exactly where the source does:
 * without locks it may change at any moment, and a bound must be checked on the very value that is
 * then used.
 */
typedef volatile uint32_t cell;

static uint8_t *bytes_at(struct wc_arena *arena, uint32_t offset)
{
    return (uint8_t *)arena + offset;
}

static cell *bucket_of(struct wc_arena *arena, uint32_t hash)
{
    return (cell *)(void *)bytes_at(arena, arena->buckets_at) + (hash & (arena->buckets - 1));
}

lw_mutex *wc_stripe(struct wc_arena *arena, const struct wc_key *key)
{
    return (lw_mutex *)(void *)bytes_at(arena, arena->stripes_at) +
           (key->hash & (arena->stripes - 1));
}

static uint32_t round_up(uint32_t n, uint32_t unit)
{
    return (n + unit - 1) & ~(unit - 1);
}

static uint32_t buckets_at(void)
{
    return round_up(STRIPES_AT + WC_STRIPES * (uint32_t)sizeof(lw_mutex), ALIGNMENT);
}

uint64_t wc_size(uint32_t heap_bytes, uint32_t buckets)
{
    return buckets_at() + (uint64_t)buckets * sizeof(uint32_t) + heap_bytes;
}

void wc_format(struct wc_arena *arena, uint32_t heap_bytes, uint32_t buckets, uint32_t files,
               uint32_t locking)
{
    const uint32_t heap_at = (uint32_t)wc_size(0, buckets);
    *arena = (struct wc_arena){
        .magic = WC_MAGIC,
        .arena_bytes = sizeof(struct wc_arena),
        .word_bytes = sizeof(struct wc_word),
        .tally_bytes = sizeof(struct wc_tally),
        .size = heap_at + heap_bytes,
        .stripes = WC_STRIPES,
        .stripes_at = STRIPES_AT,
        .buckets = buckets,
        .buckets_at = buckets_at(),
        .heap_at = heap_at,
        .max_chain = locking ? UINT32_MAX : MAX_CHAIN_UNLOCKED,
        .locking = locking,
        .files = files,
        .heap_next = heap_at,
    };
}

static uint32_t us_since(int64_t start_ns)
{
    return (uint32_t)((lw_after_ns(0) - start_ns) / 1000);
}

static void lock_contended(lw_mutex *lock, struct wc_tally *tally)
{
    const int64_t came = lw_after_ns(0);
    tally->contended++;
    if (lw_mutex_trylock(lock) != 0) {
        tally->waits++;
        lw_mutex_lock(lock);
    }
    const uint32_t us = us_since(came);
    tally->waited_us += us;
    if (us > tally->longest_us)
        tally->longest_us = us;
}

static void lock_and_tally(lw_mutex *lock, struct wc_tally *tally)
{
    if (lw_mutex_trylock(lock) != 0)
        lock_contended(lock, tally);
}

/* Locks of the table, which a run without locks leaves out. */
static void enter(struct wc_arena *arena, lw_mutex *lock, struct wc_tally *tally)
{
    if (arena->locking)
        lock_and_tally(lock, tally);
}

static void leave(struct wc_arena *arena, lw_mutex *lock)
{
    if (arena->locking)
        lw_mutex_unlock(lock);
}

uint32_t wc_next_file(struct wc_arena *arena)
{
    return arena->next_file < arena->files ? arena->next_file++ : WC_NO_FILE;
}

/* Locked in every run: otherwise a file might be counted twice, and the words that get lost would
 * be hard to tell from that. */
uint32_t wc_take_file(struct wc_arena *arena, struct wc_tally *tally)
{
    lock_and_tally(&arena->files_lock, tally);
    const uint32_t file = wc_next_file(arena);
    lw_mutex_unlock(&arena->files_lock);
    return file;
}

/* The word at this offset; NULL if there can be none. */
static volatile struct wc_word *word_at(struct wc_arena *arena, uint32_t offset)
{
    const bool fits = offset >= arena->heap_at && offset <= arena->size - sizeof(struct wc_word) &&
                      offset % 4 == 0;
    return fits ? (volatile struct wc_word *)(void *)bytes_at(arena, offset) : NULL;
}

static bool is_word(struct wc_arena *arena, uint32_t offset, volatile struct wc_word *word,
                    const struct wc_key *key)
{
    if (word->hash != key->hash || word->length != key->length ||
        key->length > arena->size - sizeof *word - offset)
        return false;
    const uint8_t *letters = bytes_at(arena, offset) + sizeof *word;
    uint32_t i = 0;
    while (i < key->length && letters[i] == key->letters[i])
        i++;
    return i == key->length;
}

uint32_t wc_look_up(struct wc_arena *arena, const struct wc_key *key)
{
    uint32_t offset = *bucket_of(arena, key->hash);
    for (uint32_t left = arena->max_chain; offset != 0; left--) {
        volatile struct wc_word *word = word_at(arena, offset);
        if (word == NULL || left == 0)
            return WC_DAMAGED;
        if (is_word(arena, offset, word, key))
            return offset;
        offset = word->next;
    }
    return WC_UNKNOWN;
}

/* A word whose chain leads nowhere is done with, too: it is tallied as damaged. */
bool wc_count_known(struct wc_arena *arena, struct wc_tally *tally, const struct wc_key *key)
{
    const uint32_t offset = wc_look_up(arena, key);
    if (offset == WC_UNKNOWN)
        return false;
    if (offset == WC_DAMAGED)
        tally->damaged++;
    else
        word_at(arena, offset)->count++;
    return true;
}

/* Room for a word of this length; 0: there is none left. */
static uint32_t allocate(struct wc_arena *arena, uint32_t length)
{
    cell *next = &arena->heap_next;
    const uint32_t offset = *next;
    const uint64_t end = ((uint64_t)offset + sizeof(struct wc_word) + length + 3) & ~UINT64_C(3);
    const bool fits = end <= arena->size;
    if (fits)
        *next = (uint32_t)end;
    return fits ? offset : 0;
}

/* The word is in the table when its chain begins with it, and whole then. */
uint32_t wc_insert(struct wc_arena *arena, struct wc_tally *tally, const struct wc_key *key,
                   uint32_t count)
{
    const uint32_t offset = allocate(arena, key->length);
    if (offset == 0) {
        tally->full++;
        return 0;
    }
    volatile struct wc_word *word = (volatile struct wc_word *)(void *)bytes_at(arena, offset);
    uint8_t *letters = bytes_at(arena, offset) + sizeof *word;
    for (uint32_t i = 0; i < key->length; i++)
        letters[i] = key->letters[i];
    word->hash = key->hash;
    word->length = key->length;
    word->count = count;
    word->next = *bucket_of(arena, key->hash);
    *bucket_of(arena, key->hash) = offset;
    return offset;
}

static void add(struct wc_arena *arena, struct wc_tally *tally, const struct wc_key *key)
{
    lw_mutex *stripe = wc_stripe(arena, key);
    enter(arena, stripe, tally);
    if (!wc_count_known(arena, tally, key)) {
        enter(arena, &arena->heap_lock, tally);
        wc_insert(arena, tally, key, 1);
        leave(arena, &arena->heap_lock);
    }
    leave(arena, stripe);
    tally->words++;
}

static bool starts_word(uint8_t c)
{
    return (uint8_t)((c | 0x20) - 'a') < 26 || c == '_';
}

static bool continues_word(uint8_t c)
{
    return starts_word(c) || (uint8_t)(c - '0') < 10;
}

bool wc_find(const uint8_t *text, uint32_t length, uint32_t *at, struct wc_key *key)
{
    uint32_t i = *at;
    while (i < length && !starts_word(text[i]))
        i++;
    const uint32_t start = i;
    uint32_t hash = FNV_BASIS;
    for (; i < length && continues_word(text[i]); i++)
        hash = (hash ^ text[i]) * FNV_PRIME;
    *at = i;
    *key = (struct wc_key){.letters = text + start, .length = i - start, .hash = hash};
    return i > start;
}

void wc_count(struct wc_arena *arena, struct wc_tally *tally, const uint8_t *text, uint32_t length)
{
    struct wc_key key;
    uint32_t at = 0;
    while (wc_find(text, length, &at, &key))
        add(arena, tally, &key);
}
