/*
 * word.h, as the simulator has it: every operation on shared memory takes the time that the model
 * says (../../machine.h). It replaces include/lockword/core/word.h by the include path. One thread
 * runs at a time, so orders are ignored here.
 */
#ifndef LOCKWORD_CORE_WORD_H
#define LOCKWORD_CORE_WORD_H

#include <stdbool.h>
#include <stdint.h>

#include <lockword/compiler.h>

typedef uint32_t lw_word;

enum {
    lw_unordered,
    lw_relaxed,
    lw_acquire,
    lw_release,
    lw_acq_rel,
};

#define LW_INLINE static inline __attribute__((unused))

#define LW_ALL UINT32_MAX

uint32_t sim_load(const uint32_t *word);
void sim_store(uint32_t *word, uint32_t value);
uint32_t sim_cas(uint32_t *word, uint32_t expected, uint32_t desired);
uint32_t sim_futex_wake(const uint32_t *word, uint32_t n);

LW_INLINE uint32_t lw_load(const lw_word *word, int order)
{
    (void)order;
    return sim_load(word);
}

LW_INLINE void lw_store(lw_word *word, uint32_t value, int order)
{
    (void)order;
    sim_store(word, value);
}

LW_INLINE uint32_t lw_cas(lw_word *word, uint32_t expected, uint32_t desired, int order)
{
    (void)order;
    return sim_cas(word, expected, desired);
}

LW_INLINE void lw_will_change(const lw_word *word)
{
    (void)word;
}

LW_INLINE uint32_t lw_notify(lw_word *word, uint32_t n)
{
    return n == 0 ? 0 : sim_futex_wake(word, n);
}

/* There are no event loops here. */
LW_INLINE uint32_t lw_notify_async(lw_word *word, uint32_t n)
{
    (void)word, (void)n;
    return 0;
}

#define lw_notify_both lw_notify

#endif
