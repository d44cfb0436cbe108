/*
 * word.h for Relacy: the same functions over rl::atomic, so that src/core runs unchanged under the
 * C++ memory model, where a load may return any value that the orders asked for allow. Every place
 * that asks for an order is a site, and can be made to ask for less.
 */
#ifndef LOCKWORD_CORE_WORD_H
#define LOCKWORD_CORE_WORD_H

#include <stdint.h>

#include <relacy/relacy.hpp>

struct lw_word {
    rl::atomic<uint32_t> value;
};

enum {
    lw_unordered = rl::mo_relaxed,
    lw_relaxed = rl::mo_relaxed,
    lw_acquire = rl::mo_acquire,
    lw_release = rl::mo_release,
    lw_acq_rel = rl::mo_acq_rel,
};

#define LW_INLINE static inline

/* The order that a site asks for in this run: the one it is written with, or a weaker one. */
int order_at(const char *function, int line, int order);

uint32_t word_load(const lw_word *word, int order, rl::debug_info_param);
void word_store(lw_word *word, uint32_t desired, int order, rl::debug_info_param);
uint32_t word_cas(lw_word *word, uint32_t expected, uint32_t desired, int order,
                  rl::debug_info_param);

#define lw_load(word, order) word_load((word), order_at(__func__, __LINE__, order), $)
#define lw_store(word, desired, order)                                                             \
    word_store((word), (desired), order_at(__func__, __LINE__, order), $)
#define lw_cas(word, expected, desired, order)                                                     \
    word_cas((word), (expected), (desired), order_at(__func__, __LINE__, order), $)

extern "C" uint32_t lw_notify(lw_word *word, uint32_t n);

/* All agents queue in one place, as in an engine. */
#define lw_notify_async lw_notify
#define lw_notify_both lw_notify

#define LW_ALL UINT32_MAX

#endif
