/*
 * core/permits.h: permits that have owners. Four words, and one for each permit.
 *
 *     word 0, state    bits 0-27  SEQUENCE  moves when a permit becomes free, modulo 2^28
 *                      bit 28     DRAINS    an agent waits until all permits are free
 *                      bit 29     RESERVED  the next acquire() to succeed must have waited
 *                                           (try_acquire is exempt)
 *                      bits 30-31 see core/waiters.h
 *     word 1, gate     see core/waiters.h
 *     word 2, count    how many permits there are: 1 to LW_PERMITS_MAX. Does not change
 *     word 3           the writer of a table (lw_region_rwtable); else 0
 *     word 4 + k       bits 0-28  OWNER     the id of the agent that has permit k; 0: it is free
 *
 * A semaphore counts, so nobody knows whose permits a dead agent had. Here the operation that takes
 * a permit writes the taker's id, and a burial finds it (lw_permits_bury_step).
 *
 * An agent may have several permits. The permits have numbers, from 0 on: an agent that takes
 * one learns which it is.
 *
 * Which waiters are woken: a release wakes one thread and all event loops, and a waiter that
 * starves reserves (core/waiters.h, rules 1 and 4). But the permit is free before the state says
 * so, and a permit is taken without a change of the state. So the mark for threads stays when one
 * is woken, and while it is there, a thread owes nothing for taking a permit. Why that strands no
 * waiter: core/permits.c.
 *
 * A waiter sleeps only while the state is the one that it marked. It would overlook a free permit
 * only if exactly 2^28 permits became free between its look at them and its sleep. Then it looks
 * again when it re-checks, or after the next release.
 *
 * After a release the state is still written: the memory may be freed only when no call runs.
 */
#ifndef LOCKWORD_CORE_PERMITS_H
#define LOCKWORD_CORE_PERMITS_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_PERMITS_STATE = 0,
    LW_PERMITS_GATE = 1,
    LW_PERMITS_COUNT = 2,
    LW_PERMITS_WRITER = 3,
    LW_PERMITS_FIRST = 4,
};

#define LW_PERMITS_MAX 252u
#define LW_PERMITS_WORDS (LW_PERMITS_FIRST + LW_PERMITS_MAX)

#define LW_PERMITS_SEQUENCE 0x0fffffffu
#define LW_PERMITS_DRAINS 0x10000000u
#define LW_PERMITS_RESERVED 0x20000000u
#define LW_PERMITS_OWNER 0x1fffffffu

/* No permit: what functions return that say which one it is. */
#define LW_PERMITS_NONE 0xffffffffu

#ifdef __cplusplus
extern "C" {
#endif

/* Returns how many permits there are; LW_PERMITS_MAX if the word says more. */
uint32_t lw_permits_count(const lw_word *permits);

/* Returns how many of the permits are this agent's; of 0: how many are free. May be outdated. */
uint32_t lw_permits_of(const lw_word *permits, uint32_t owner);

/* Returns the first permit of this agent, or LW_PERMITS_NONE; of 0: the first that is free. */
uint32_t lw_permits_find(const lw_word *permits, uint32_t owner);

/*
 * A step: takes a permit for this agent, and waits as often as needed. `expected` of LW_DONE says
 * which.
 */
lw_answer lw_permits_acquire_step(lw_word *permits, uint32_t self, uint32_t why, lw_phase phase);

/*
 * Takes a permit for this agent if one is free, reserved or not. Returns which; LW_PERMITS_NONE:
 * each of them was taken when the function looked at it.
 */
uint32_t lw_permits_try_step(lw_word *permits, uint32_t self);

/*
 * Frees this permit, notifies, and returns true. Returns false, with nothing changed, if it is not
 * this agent's.
 */
bool lw_permits_release_step(lw_word *permits, uint32_t which, uint32_t self);

/*
 * A step: waits until all permits are free. Only where a mutex lets one agent at a time wait here,
 * be it in this step or in lw_permits_acquire_step, and where that agent has no permit.
 */
lw_answer lw_permits_drain_step(lw_word *permits, uint32_t unused, uint32_t why, lw_phase phase);

/*
 * Call this once an agent is known to have died, anywhere in any operation. Its permits are free
 * afterwards, and all waiters are woken: the agent may have consumed a notify, or owed one. It may
 * be called again. Returns how many permits it freed. Illegal while the agent may make another
 * step, and where another agent has the same id.
 */
uint32_t lw_permits_bury_step(lw_word *permits, uint32_t dead);

#ifdef __cplusplus
}
#endif

#endif
