/*
 * core/latch.h: the latch's two words.
 *
 *     word 0, state   bits 0-29   COUNT  how much has yet to be counted down
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 *
 * The count never grows. So a waiter that sees a count of 0 needs to know nothing else, and a latch
 * needs no generation: once it is open, it stays open.
 */
#ifndef LOCKWORD_CORE_LATCH_H
#define LOCKWORD_CORE_LATCH_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_LATCH_STATE = 0,
    LW_LATCH_GATE = 1,
    LW_LATCH_WORDS = 2,
};

#define LW_LATCH_MAX 0x3fffffffu /* also the mask of COUNT */

#ifdef __cplusplus
extern "C" {
#endif

/* Returns how much has yet to be counted down, right now. */
uint32_t lw_latch_count(const lw_word *latch);

/*
 * Takes n off, and wakes all waiters at 0. Returns the count before: if that is less than n,
 * nothing was changed; if it is n, the caller has opened the latch, and must not touch it again.
 */
uint32_t lw_latch_count_down_step(lw_word *latch, uint32_t n);

/* A step: waits until the count is 0. */
lw_answer lw_latch_wait_step(lw_word *latch, uint32_t unused, uint32_t why, lw_phase phase);

#ifdef __cplusplus
}
#endif

#endif
