/*
 * core/waitgroup.h: the wait group's two words.
 *
 *     word 0, state   bits 0-21   COUNT  how many pieces of work are not done yet
 *                     bits 22-29  ROUND  how often the count has left 0, modulo 2^8
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 *
 * A wait ends when the waiter sees a count of 0, or a round that has moved since it came: then the
 * count was 0 meanwhile, although new work has begun. Both are in one word, so that the round moves
 * in the very operation that makes the count leave 0. A waiter that sleeps through exactly 256
 * rounds, and finds another one running, also waits for the end of that round.
 */
#ifndef LOCKWORD_CORE_WAITGROUP_H
#define LOCKWORD_CORE_WAITGROUP_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_WAITGROUP_STATE = 0,
    LW_WAITGROUP_GATE = 1,
    LW_WAITGROUP_WORDS = 2,
};

#define LW_WAITGROUP_MAX 0x003fffffu /* also the mask of COUNT */
#define LW_WAITGROUP_ONE_ROUND 0x00400000u
#define LW_WAITGROUP_ROUND 0x3fc00000u

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the state of this moment, to be passed to lw_waitgroup_wait_step. */
uint32_t lw_waitgroup_state(const lw_word *group);

/* Returns how many pieces of work are not done at this moment. */
uint32_t lw_waitgroup_count(const lw_word *group);

/* Adds n. Returns false, with nothing changed, if the count would exceed LW_WAITGROUP_MAX. */
bool lw_waitgroup_add_step(lw_word *group, uint32_t n);

/*
 * Takes n off, and wakes all waiters at 0. Returns false, with nothing changed, if the count is
 * less than n.
 */
bool lw_waitgroup_done_step(lw_word *group, uint32_t n);

/* A step: waits until the count is 0, or has been 0 since the state `since` was read. */
lw_answer lw_waitgroup_wait_step(lw_word *group, uint32_t since, uint32_t why, lw_phase phase);

#ifdef __cplusplus
}
#endif

#endif
