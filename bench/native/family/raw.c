/* The floors: the atomic operations that a primitive cannot do without, and nothing around them. */
#include <stddef.h>

#include "family.h"

#define NAME "raw atomics"

static inline void take_and_free(uint32_t *word)
{
    uint32_t expected = 0;
    if (__builtin_expect(!__atomic_compare_exchange_n(word, &expected, 1, false, __ATOMIC_ACQUIRE,
                                                      __ATOMIC_RELAXED),
                         0))
        __builtin_trap();
    if (__builtin_expect(__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) != 1, 0))
        __builtin_trap();
}
FAMILY_TURNS(take_and_free, uint32_t)

/* The first of four words that is free. Two threads find one at once. */
static inline void take_one_and_free(uint32_t (*words)[4])
{
    uint32_t which = 0;
    for (uint32_t expected = 0; !__atomic_compare_exchange_n(&(*words)[which], &expected, 1, false,
                                                             __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
         expected = 0)
        which = (which + 1) & 3;
    __atomic_exchange_n(&(*words)[which], 0, __ATOMIC_RELEASE);
}
typedef uint32_t four_words[4];
FAMILY_TURNS(take_one_and_free, four_words)

static inline void up_and_down(uint32_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_ACQUIRE);
    __atomic_fetch_sub(word, 1, __ATOMIC_RELEASE);
}
FAMILY_TURNS(up_and_down, uint32_t)

static inline void on_and_off(uint32_t *word)
{
    __atomic_exchange_n(word, 1, __ATOMIC_ACQ_REL);
    __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL);
}
FAMILY_TURNS(on_and_off, uint32_t)

static inline void look(uint32_t *word)
{
    if (__builtin_expect(__atomic_load_n(word, __ATOMIC_ACQUIRE) != 0, 0))
        __builtin_trap();
}
FAMILY_TURNS(look, uint32_t)

BENCH_FAMILY bench_family_raw[];
const struct bench_operation bench_family_raw[] = {
    {BENCH_HOLD, NAME, true, NULL, NULL, take_and_free_turns, NULL},
    {BENCH_RECURSION, NAME, true, NULL, NULL, take_and_free_turns, NULL},
    {BENCH_PERMIT, NAME, true, NULL, NULL, up_and_down_turns, NULL},
    {BENCH_NUMBER, NAME, true, NULL, NULL, take_one_and_free_turns, NULL},
    {BENCH_NUMBERS, NAME, true, NULL, NULL, take_one_and_free_turns, take_one_and_free_turns},
    {BENCH_READ, NAME, true, NULL, NULL, up_and_down_turns, NULL},
    {BENCH_READERS, NAME, true, NULL, NULL, up_and_down_turns, up_and_down_turns},
    {BENCH_WRITE, NAME, true, NULL, NULL, take_and_free_turns, NULL},
    {BENCH_DONE, NAME, true, NULL, NULL, look_turns, NULL},
    {BENCH_NOTIFY, NAME, true, NULL, NULL, look_turns, NULL},
    {BENCH_SET, NAME, true, NULL, NULL, on_and_off_turns, NULL},
    {BENCH_IS_SET, NAME, true, NULL, NULL, look_turns, NULL},
    {BENCH_WAITGROUP, NAME, true, NULL, NULL, up_and_down_turns, NULL},
    {BENCH_COUNTER, NAME, true, NULL, NULL, up_and_down_turns, NULL},
    {BENCH_SUBJECTS, NULL, false, NULL, NULL, NULL, NULL},
};
