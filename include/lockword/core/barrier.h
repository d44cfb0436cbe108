/*
 * core/barrier.h: the barrier's three words.
 *
 *     word 0, state    bits 0-11   MISSING     how many parties have yet to arrive in this cycle
 *                      bits 12-23  GENERATION  how many cycles have ended, modulo 2^12
 *                      bits 24-28  HISTORY     which of the last five cycles did not trip, but
 *                                              were reset while an agent waited or after they
 *                                              had broken; the latest cycle is bit 24
 *                      bit 29      BROKEN      a waiter gave up: no agent passes until a reset
 *                      bits 30-31  see core/waiters.h
 *     word 1, gate     see core/waiters.h
 *     word 2, parties  how many parties each cycle waits for; 0 until the barrier is made
 *
 * An arrival compares and swaps the generation together with the count, so that it counts for the
 * cycle that the answer names.
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

/* The outcome of an arrival, or of a wait. */
enum lw_barrier_outcome {
    LW_BARRIER_TRIPPED = 0, /* all parties have arrived */
    LW_BARRIER_LEADS = 1,   /* the same, and the caller was the last to arrive */
    LW_BARRIER_WAITS = 2,   /* other parties are missing */
    LW_BARRIER_BROKE = 3,   /* a waiter gave up, or the barrier was reset */
    LW_BARRIER_UNMADE = 4,  /* the barrier has no parties: it was never made */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the state of this moment. */
uint32_t lw_barrier_state(const lw_word *barrier);

/* Makes, or makes anew, a barrier that no agent uses. parties: 1 to LW_BARRIER_MAX. */
void lw_barrier_make_step(lw_word *barrier, uint32_t parties);

/*
 * Arrives. Never waits: the answer is no step's, and its `what` is an lw_barrier_outcome, whose
 * numbers are not those of an lw_what. If it is LW_BARRIER_WAITS, `expected` is the cycle to wait
 * for. The last party to arrive ends the cycle and wakes all waiters.
 */
lw_answer lw_barrier_arrive_step(lw_word *barrier);

/* Takes one party off all cycles after this one. An arrival in this cycle must follow. */
void lw_barrier_drop_step(lw_word *barrier);

/*
 * A step: waits until the cycle in which the caller has arrived has ended. Its result is the
 * outcome. A waiter that gives up breaks the barrier.
 */
lw_answer lw_barrier_wait_step(lw_word *barrier, uint32_t cycle, uint32_t why, lw_phase phase);

/*
 * Returns the outcome of the cycle, for a waiter that sees this state. LW_BARRIER_WAITS: it has not
 * ended.
 */
uint32_t lw_barrier_outcome_of(uint32_t cycle, uint32_t state);

/*
 * Begins a new cycle, unless no party has arrived in this one. Agents that wait in this cycle see
 * it as broken.
 */
void lw_barrier_reset_step(lw_word *barrier);

#ifdef __cplusplus
}
#endif

#endif
