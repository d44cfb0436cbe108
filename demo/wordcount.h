/*
 * wordcount.h: C identifiers, counted in one hash table that many agents fill at once.
 *
 * The table is a single run of bytes, the arena. Whatever is in it is found by a 32-bit offset from
 * its start, never by a pointer, so that C threads, C in WebAssembly and JavaScript (wordcount.js)
 * all work on the same bytes:
 *
 *     0            struct wc_arena
 *     stripes_at   lw_mutex[stripes]      number i guards every bucket b with b % stripes == i,
 *                                         and the words chained there
 *     buckets_at   uint32_t[buckets]      offset of the chain's first word; 0: none
 *     heap_at      struct wc_word, ...    each followed by its letters, padded to 4 bytes
 *     size
 *
 * All numbers are little-endian. A word's bucket is its hash (32-bit FNV-1a) modulo the buckets.
 * Both moduli are powers of two.
 *
 * An agent holds at most two locks, always in this order: a stripe, then the heap.
 */
#ifndef WORDCOUNT_H
#define WORDCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include <lockword/mutex.h>

#define WC_MAGIC 0x31304357u /* "WC01" */
#define WC_NO_FILE UINT32_MAX
/* Instead of a word's offset: it is not in the table; its chain leads nowhere, or in circles. */
#define WC_UNKNOWN 0u
#define WC_DAMAGED UINT32_MAX

/* Few enough that agents meet at one, many enough that they mostly do not. */
#define WC_STRIPES 64u

struct wc_arena {
    /* Written once, by wc_format. */
    uint32_t magic;
    uint32_t arena_bytes, word_bytes,
        tally_bytes; /* sizes of the structs here: other code that knows the layout compares them */
    uint32_t size;
    uint32_t stripes, stripes_at;
    uint32_t buckets, buckets_at;
    uint32_t heap_at;
    uint32_t max_chain; /* longer chains are taken for damaged ones */
    uint32_t locking;   /* 0: stripes and heap are not locked, to show what that costs */
    uint32_t files;

    /* Guarded by the lock that follows. */
    uint32_t next_file;
    lw_mutex files_lock;
    uint32_t heap_next;
    lw_mutex heap_lock;
};

struct wc_word {
    uint32_t next; /* offset of the next word of the chain; 0: none */
    uint32_t hash;
    uint32_t count;
    uint32_t length; /* of the letters, which follow */
};

/* What one agent has done: its own, shared with nobody while it works. */
struct wc_tally {
    uint32_t words;
    uint32_t contended; /* locks that somebody else held when this agent came for them */
    uint32_t waits; /* of these, the ones still held at a second look: the agent went to sleep */
    uint32_t waited_us;  /* from coming to holding, of all contended locks together */
    uint32_t longest_us; /* and of the longest one */
    uint32_t full;       /* words not counted, because the heap is used up */
    uint32_t damaged;    /* words not counted, because their chain leads nowhere or in circles: only
                            ever without locks */
};

/* How large a table with these buckets (a power of two, at least WC_STRIPES) and this much room for
 * words is. */
uint64_t wc_size(uint32_t heap_bytes, uint32_t buckets);

/* Makes zeroed memory of wc_size bytes, which must be below 4 GiB, an empty table for this many
 * files. */
void wc_format(struct wc_arena *arena, uint32_t heap_bytes, uint32_t buckets, uint32_t files,
               uint32_t locking);

/* The number of the next file to count, each given to one agent only; WC_NO_FILE when all are
 * taken. */
uint32_t wc_take_file(struct wc_arena *arena, struct wc_tally *tally);

/* A word of a text, with its hash. */
struct wc_key {
    const uint8_t *letters;
    uint32_t length, hash;
};

/*
 * The parts of the two functions below, for an agent that must not block and so takes the locks in
 * its own way. wc_find finds the next word from *at on, moves *at behind it, and returns whether
 * there is one. Then, with the word's stripe locked: wc_count_known counts it and returns true, or
 * returns false if it is not in the table yet. Then, with heap_lock locked, too: wc_insert, which
 * gives it this count, and returns its offset; 0: the heap is full.
 */
bool wc_find(const uint8_t *text, uint32_t length, uint32_t *at, struct wc_key *key);
lw_mutex *wc_stripe(struct wc_arena *arena, const struct wc_key *key);
bool wc_count_known(struct wc_arena *arena, struct wc_tally *tally, const struct wc_key *key);
uint32_t wc_insert(struct wc_arena *arena, struct wc_tally *tally, const struct wc_key *key,
                   uint32_t count);
/* The word's offset, WC_UNKNOWN or WC_DAMAGED; with its stripe locked. */
uint32_t wc_look_up(struct wc_arena *arena, const struct wc_key *key);
/* With files_lock locked. */
uint32_t wc_next_file(struct wc_arena *arena);

/* Counts every [A-Za-z_][A-Za-z0-9_]* in the text, which is a whole file. */
void wc_count(struct wc_arena *arena, struct wc_tally *tally, const uint8_t *text, uint32_t length);

#endif
