/*
 * word.h, as the explorer has it: every operation on shared memory asks the step machine
 * (../../runs.h) what its result is, or ends there, because that is where another agent may come
 * between. It replaces include/lockword/core/word.h by the include path.
 *
 * The explorer is sequentially consistent: orders are ignored here. They are Relacy's and
 * ThreadSanitizer's business.
 */
#ifndef LOCKWORD_CORE_WORD_H
#define LOCKWORD_CORE_WORD_H

#include <stdbool.h>
#include <stdint.h>

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

uint32_t runs_load(const lw_word *word);
void runs_store(lw_word *word, uint32_t value);
uint32_t runs_cas(lw_word *word, uint32_t expected, uint32_t desired);
uint32_t runs_notify(lw_word *word, uint32_t n);

LW_INLINE uint32_t lw_load(const lw_word *word, int order)
{
    (void)order;
    return runs_load(word);
}

LW_INLINE void lw_store(lw_word *word, uint32_t value, int order)
{
    (void)order;
    runs_store(word, value);
}

LW_INLINE uint32_t lw_cas(lw_word *word, uint32_t expected, uint32_t desired, int order)
{
    (void)order;
    return runs_cas(word, expected, desired);
}

LW_INLINE void lw_will_change(const lw_word *word)
{
    (void)word;
}

LW_INLINE uint32_t lw_notify(lw_word *word, uint32_t n)
{
    return runs_notify(word, n);
}

/* All agents queue in one place, as in an engine. */
#define lw_notify_async lw_notify
#define lw_notify_both lw_notify

#endif
