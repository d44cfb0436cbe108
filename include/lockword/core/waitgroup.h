/*
 * core/waitgroup.h: the wait group's three words.
 *
 *     word 0, state       bits 0-29   COUNT  of what is not done yet
 *                         bits 30-31  see core/waiters.h
 *     word 1, gate        see core/waiters.h
 *     word 2, generation  how often the count has left 0
 *
 * A waiter is done when it sees a count of 0, or that the generation has moved since it came: then the count must have been 0
 * meanwhile, though others have begun anew. The generation moves before the count leaves 0, never after it has come to 0, so that
 * whoever brings it to 0 touches nothing more: the memory may go as soon as a waiter is released.
 */
#ifndef LOCKWORD_CORE_WAITGROUP_H
#define LOCKWORD_CORE_WAITGROUP_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_WAITGROUP_STATE = 0,
    LW_WAITGROUP_GATE = 1,
    LW_WAITGROUP_GENERATION = 2,
    LW_WAITGROUP_WORDS = 3,
};

#define LW_WAITGROUP_MAX 0x3fffffffu

#ifdef __cplusplus
extern "C" {
#endif

/* How much is not done yet, right now. */
uint32_t lw_waitgroup_count(const lw_word *group);

/* Adds n; answers false, with nothing changed, if the count would exceed LW_WAITGROUP_MAX. */
bool lw_waitgroup_add_step(lw_word *group, uint32_t n);

/* Takes n off, and wakes everybody at 0; answers false, with nothing changed, if the count is less than n. */
bool lw_waitgroup_done_step(lw_word *group, uint32_t n);

/* What lw_waitgroup_wait_step has to be told. */
uint32_t lw_waitgroup_generation(const lw_word *group);

/* A step: waits until the count is 0, or has been since `generation` was read. */
lw_answer lw_waitgroup_wait_step(lw_word *group, uint32_t generation, uint32_t why, uint32_t phase);

#ifdef __cplusplus
}
#endif

#endif
