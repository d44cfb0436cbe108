/*
 * core/sem.h: the semaphore's two words.
 *
 *     word 0, state   bits 0-29   PERMITS  how many are to be had
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 *
 * A release wakes everybody, since only the waiters know how many permits each of them needs: woken one by one, the permits of a
 * release could go to one who needs more of them, and leave another asleep beside enough for it.
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

#ifdef __cplusplus
extern "C" {
#endif

/* How many permits are to be had right now. */
uint32_t lw_sem_permits(const lw_word *sem);

/* Takes n permits if they are to be had, and answers whether it did. */
bool lw_sem_try_step(lw_word *sem, uint32_t n);

/* A step: takes n permits, all at once, waiting as often as needed. The result is how many it left. */
lw_answer lw_sem_acquire_step(lw_word *sem, uint32_t n, uint32_t why, uint32_t phase);

/* Gives n permits back, and wakes; answers false, with nothing changed, if there would be more than LW_SEM_MAX. */
bool lw_sem_release_step(lw_word *sem, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
