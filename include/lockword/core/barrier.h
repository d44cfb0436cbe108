/*
 * core/barrier.h: the barrier's three words.
 *
 *     word 0, state    bits 0-11   MISSING     how many have yet to arrive in this cycle
 *                      bits 12-23  GENERATION  how many cycles have ended, modulo 2^12
 *                      bits 24-28  HISTORY     which of the last five cycles did not trip, but were reset while somebody waited or
 *                                              when they had broken; the latest in bit 24
 *                      bit 29      BROKEN      somebody gave up: nobody gets through until it is reset
 *                      bits 30-31  see core/waiters.h
 *     word 1, gate     see core/waiters.h
 *     word 2, parties  how many each cycle waits for; 0 until the barrier is made
 *
 * Arriving compares and swaps the generation together with the count, so that an arrival counts for the cycle that it was meant
 * for.
 */
#ifndef LOCKWORD_CORE_BARRIER_H
#define LOCKWORD_CORE_BARRIER_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_BARRIER_STATE = 0,
    LW_BARRIER_GATE = 1,
    LW_BARRIER_PARTIES = 2,
    LW_BARRIER_WORDS = 3,
};

#define LW_BARRIER_MAX 0xfffu
#define LW_BARRIER_MISSING 0xfffu
#define LW_BARRIER_ONE_GENERATION 0x1000u
#define LW_BARRIER_GENERATION 0x00fff000u
#define LW_BARRIER_BROKE_LAST 0x01000000u
#define LW_BARRIER_HISTORY 0x1f000000u
#define LW_BARRIER_BROKEN 0x20000000u

/* What came of an arrival, or of a wait. */
enum lw_barrier_outcome {
    LW_BARRIER_TRIPPED = 0, /* everybody has arrived */
    LW_BARRIER_LEADS = 1,   /* the same, and the caller was the last to arrive */
    LW_BARRIER_WAITS = 2,   /* others are missing */
    LW_BARRIER_BROKE = 3,   /* somebody gave up, or it was reset */
    LW_BARRIER_UNMADE = 4,  /* it has no parties */
};

#ifdef __cplusplus
extern "C" {
#endif

/* The state right now. */
uint32_t lw_barrier_state(const lw_word *barrier);

/* Makes, or re-makes, an unused barrier. parties: 1 to LW_BARRIER_MAX. */
void lw_barrier_make_step(lw_word *barrier, uint32_t parties);

/* Arrives in the cycle that `state` was read in. The last one to arrive ends it and wakes everybody. */
enum lw_barrier_outcome lw_barrier_arrive_step(lw_word *barrier, uint32_t state);

/* Takes one party off the cycles after this one. To be followed by an arrival in this one. */
void lw_barrier_drop_step(lw_word *barrier);

/* A step: waits until the cycle of `state` has ended, and answers with the state that ended it; one that gives up breaks the
 * barrier. */
lw_answer lw_barrier_wait_step(lw_word *barrier, uint32_t state, uint32_t why, lw_phase phase);

/* Whether the cycle of `state` broke, as the state tells that ended a wait in it. */
bool lw_barrier_broke(uint32_t state, uint32_t ended);

/* Begins a new cycle, unless this one is as good as new. Whoever waits in it is told that it broke. */
void lw_barrier_reset_step(lw_word *barrier);

#ifdef __cplusplus
}
#endif

#endif
