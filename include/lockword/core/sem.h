/*
 * core/sem.h: the semaphore's two words.
 *
 *     word 0, state   bits 0-29   PERMITS  how many permits are available
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 *
 * A release wakes all waiters, since only they know how many permits each of them needs. If it woke
 * them one by one, it could wake a waiter that needs more permits than there are, and leave another
 * asleep for which they would suffice.
 */
#ifndef LOCKWORD_CORE_SEM_H
#define LOCKWORD_CORE_SEM_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_SEM_STATE = 0,
    LW_SEM_GATE = 1,
    LW_SEM_WORDS = 2,
};

#define LW_SEM_MAX 0x3fffffffu

/* lw_sem_release_step returns this if there would be more than LW_SEM_MAX permits. */
#define LW_SEM_OVERFLOW UINT32_MAX

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Takes n permits, unless there are fewer or the word changes meanwhile. The fast path of an
 * acquire.
 */
LW_INLINE bool lw_sem_take(lw_word *sem, uint32_t n)
{
    const uint32_t state = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    return (state & LW_SEM_MAX) >= n &&
           lw_cas(&sem[LW_SEM_STATE], state, state - n, lw_acquire) == state;
}

/*
 * Gives n permits, unless an agent waits, there would be too many, or the word changes meanwhile.
 * The fast path of a release.
 */
LW_INLINE bool lw_sem_give(lw_word *sem, uint32_t n)
{
    const uint32_t state = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    return state <= LW_SEM_MAX && n <= LW_SEM_MAX - state &&
           lw_cas(&sem[LW_SEM_STATE], state, state + n, lw_release) == state;
}

/* Returns how many permits are available at this moment. */
uint32_t lw_sem_permits(const lw_word *sem);

/* Takes n permits if they are available, and returns whether it did. */
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

#ifdef __cplusplus
}
#endif

#endif
