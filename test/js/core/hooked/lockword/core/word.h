/* word.h: instead of include/lockword/core/word.h, words that JavaScript plays
 * (translation.test.js). */
#ifndef LOCKWORD_CORE_WORD_H
#define LOCKWORD_CORE_WORD_H

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t lw_word;

enum { lw_unordered, lw_relaxed, lw_acquire, lw_release, lw_acq_rel };

#define LW_INLINE static inline __attribute__((always_inline, unused))
#define PLAYED(NAME) __attribute__((import_module("words"), import_name(#NAME)))

PLAYED(load) uint32_t played_load(const lw_word *word);
PLAYED(store) uint32_t played_store(lw_word *word, uint32_t value);
PLAYED(cas) uint32_t played_cas(lw_word *word, uint32_t expected, uint32_t desired);
PLAYED(notify) uint32_t lw_notify(lw_word *word, uint32_t n);

/* All agents queue in one place, as in an engine. */
#define lw_notify_async lw_notify
#define lw_notify_both lw_notify

#define LW_ALL UINT32_MAX

LW_INLINE uint32_t lw_load(const lw_word *word, int order)
{
    (void)order;
    return played_load(word);
}

LW_INLINE void lw_store(lw_word *word, uint32_t value, int order)
{
    (void)order;
    played_store(word, value);
}

LW_INLINE uint32_t lw_cas(lw_word *word, uint32_t expected, uint32_t desired, int order)
{
    (void)order;
    return played_cas(word, expected, desired);
}

#endif
