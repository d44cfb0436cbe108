/*
 * core/sem.h: the semaphore's three words.
 *
 *     word 0, state   bits 0-27   PERMITS   how many permits are available
 *                     bit 28      CLAIMED   a waiter claims the permits that it needs: newcomers
 *                                           take none until it has them or gives up
 *                     bit 29      RESERVED  a waiter starves: newcomers take none until a waiter
 *                                           has taken some, nor does a claimant that was just woken
 *                     bits 30-31            see core/waiters.h
 *     word 1, gate                          see core/waiters.h
 *     word 2, claim   bits 0-27   NEED      how many permits the claimant needs; 0: no claim
 *                     bits 28-30  TICKET    moves with each claim, modulo 8, so that a waiter knows
 *                                           its own
 *                     bit 31      LINE      threads may be asleep in line, on this word
 *
 * A waiter takes over the claim of a claimant that does not come. If that one wakes after a
 * multiple of 8 claims, it takes the last of them for its own, until one of the two is woken in
 * vain and moves the ticket. Meanwhile it may take permits before the true claimant, whose claim
 * ends by that, so that newcomers may go before it, too. The marks in the state stay right, so that
 * no waiter is stranded.
 */
#ifndef LOCKWORD_CORE_SEM_H
#define LOCKWORD_CORE_SEM_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_SEM_STATE = 0,
    LW_SEM_GATE = 1,
    LW_SEM_CLAIM = 2,
    LW_SEM_WORDS = 3,
};

#define LW_SEM_MAX 0x0fffffffu /* also the mask of PERMITS */
#define LW_SEM_CLAIMED 0x10000000u
#define LW_SEM_RESERVED 0x20000000u

#define LW_SEM_NEED 0x0fffffffu
#define LW_SEM_ONE_TICKET 0x10000000u
#define LW_SEM_TICKET 0x70000000u
#define LW_SEM_LINE 0x80000000u

/* lw_sem_release_step returns this if there would be more than LW_SEM_MAX permits. */
#define LW_SEM_OVERFLOW UINT32_MAX

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Takes n permits, unless there are fewer, they are kept for waiters, or the word changes
 * meanwhile. The fast path of an acquire.
 */
LW_INLINE bool lw_sem_take(lw_word *sem, uint32_t n)
{
    const uint32_t state = lw_load(&sem[LW_SEM_STATE], lw_unordered);
    return !(state & (LW_SEM_CLAIMED | LW_SEM_RESERVED)) && (state & LW_SEM_MAX) >= n &&
           lw_cas(&sem[LW_SEM_STATE], state, state - n, lw_acquire) == state;
}

/*
 * Gives n permits, unless an agent waits, there would be too many, or the word changes meanwhile.
 * The fast path of a release.
 */
LW_INLINE bool lw_sem_give(lw_word *sem, uint32_t n)
{
    const uint32_t state = lw_load(&sem[LW_SEM_STATE], lw_unordered);
    /* At most LW_SEM_MAX: no bit above the permits is set. */
    return state <= LW_SEM_MAX && n <= LW_SEM_MAX - state &&
           lw_cas(&sem[LW_SEM_STATE], state, state + n, lw_release) == state;
}

/* Returns how many permits are available at this moment. */
uint32_t lw_sem_permits(const lw_word *sem);

/*
 * Takes n permits if they are available, also if they are kept for waiters, and returns whether it
 * did.
 */
bool lw_sem_try_step(lw_word *sem, uint32_t n);

/*
 * A step: takes n permits, all at once, and waits as often as needed. The result is how many
 * permits are left.
 */
lw_answer lw_sem_acquire_step(lw_word *sem, uint32_t n, uint32_t why, lw_phase phase);

/*
 * Gives n permits, and wakes. Returns how many permits there were before, or LW_SEM_OVERFLOW, with
 * nothing changed.
 */
uint32_t lw_sem_release_step(lw_word *sem, uint32_t n);

/*
 * Ends the claim, which a dead waiter may have made: no word tells whose it is. Then the caller
 * wakes all waiters at all words, since the dead may also have consumed a notify, or owed one.
 */
void lw_sem_bury_step(lw_word *sem);

#ifdef __cplusplus
}
#endif

#endif
