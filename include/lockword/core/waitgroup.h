/*
 * core/waitgroup.h: the wait group's two words.
 *
 *     word 0, state   bits 0-21   COUNT  of what is not done yet
 *                     bits 22-29  ROUND  how often the count has left 0, modulo 2^8
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 *
 * A waiter is done when it sees a count of 0, or that the round has moved since it came: then the count was 0 meanwhile, though
 * others have begun anew. Both are one word, so that the round moves in the very operation that makes the count leave 0. A waiter
 * that sleeps through exactly 256 rounds, and finds another one running, waits for the end of that, too.
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

#define LW_WAITGROUP_MAX 0x003fffffu
#define LW_WAITGROUP_ONE_ROUND 0x00400000u
#define LW_WAITGROUP_ROUND 0x3fc00000u

#ifdef __cplusplus
extern "C" {
#endif

/* The state right now: what lw_waitgroup_wait_step has to be told. */
uint32_t lw_waitgroup_state(const lw_word *group);

/* How much is not done yet, right now. */
uint32_t lw_waitgroup_count(const lw_word *group);

/* Adds n; answers false, with nothing changed, if the count would exceed LW_WAITGROUP_MAX. */
bool lw_waitgroup_add_step(lw_word *group, uint32_t n);

/* Takes n off, and wakes everybody at 0; answers false, with nothing changed, if the count is less than n. */
bool lw_waitgroup_done_step(lw_word *group, uint32_t n);

/* A step: waits until the count is 0, or has been since the state `since` was read. */
lw_answer lw_waitgroup_wait_step(lw_word *group, uint32_t since, uint32_t why, lw_phase phase);

#ifdef __cplusplus
}
#endif

#endif
