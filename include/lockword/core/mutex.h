/*
 * core/mutex.h: the mutex's two words, what their bits mean, and the operations that never wait.
 *
 *     word 0, state    bits 0-28  OWNER     the holder's agent id; 0 while the mutex is free
 *                      bit 29     RESERVED  the next lock() to succeed must have waited (try_lock is exempt)
 *                      bit 30     ASYNC     async waiters may be queued at the gate
 *                      bit 31     BLOCKED   blocking waiters may be asleep on state
 *     word 1, gate     always 0: never written, only an address at which async waiters queue
 *
 *     state                     meaning                             who leaves it, and how
 *     0                         free                                anyone: takes it
 *     id                        held                                its owner: 0
 *     id + BLOCKED/ASYNC        held; perhaps somebody waits        its owner: 0, then notifies a thread, all loops
 *     id + RESERVED (+ flags)   held; a waiter is starving          its owner: RESERVED, then notifies as above
 *     RESERVED (+ flags)        free, kept for waiters              whoever has returned from a wait: takes it, clears RESERVED
 *
 * Legal: BLOCKED or ASYNC with nobody waiting (it costs one notify). Illegal: free without RESERVED, yet not 0; a waiter asleep
 * for good on a free mutex with no notify on its way to anyone.
 *
 * Why two words: a notify of the state wakes one thread, which runs at once. An event loop runs when its own work lets it. Were
 * both to queue at one address, a notify could go to a busy event loop, and the threads behind it would sleep beside a free mutex.
 * For the same reason an unlock notifies every event loop at the gate, of which each has one wait there: none waits for another.
 */
#ifndef LOCKWORD_CORE_MUTEX_H
#define LOCKWORD_CORE_MUTEX_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_MUTEX_STATE = 0,
    LW_MUTEX_GATE = 1,
    LW_MUTEX_WORDS = 2,
};

#define LW_MUTEX_OWNER 0x1fffffffu
#define LW_MUTEX_RESERVED 0x20000000u
#define LW_MUTEX_ASYNC 0x40000000u
#define LW_MUTEX_BLOCKED 0x80000000u

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the mutex if it is free and nobody waits. The fast half of every lock. */
LW_INLINE bool lw_mutex_take(lw_word *mutex, uint32_t self)
{
    return lw_cas(&mutex[LW_MUTEX_STATE], 0, self, lw_acquire) == 0;
}

/* Frees the mutex if self holds it and nobody waits. The fast half of unlock. */
LW_INLINE bool lw_mutex_free(lw_word *mutex, uint32_t self)
{
    return lw_cas(&mutex[LW_MUTEX_STATE], self, 0, lw_release) == self;
}

/* Takes the mutex if it is free, reserved or not, and answers whether it did. */
bool lw_mutex_try_step(lw_word *mutex, uint32_t self);

/* Who holds the mutex right now; 0: nobody. By the time the answer arrives it may be old, unless it is self. */
uint32_t lw_mutex_owner(const lw_word *mutex);

/* A step: takes the mutex, waiting as often as needed. */
lw_answer lw_mutex_lock_step(lw_word *mutex, uint32_t self, uint32_t why, lw_phase phase);

/* Frees the mutex, notifies, and answers true; answers false, with nothing changed, if self does not hold it. */
bool lw_mutex_unlock_step(lw_word *mutex, uint32_t self);

/*
 * To be called once an agent is known to have died, anywhere in any operation: frees the mutex if it held it, and replaces a wake
 * that it took along. Illegal while it may make another step, and where another agent has the same id. What the mutex guards may be
 * half done.
 */
void lw_mutex_bury_step(lw_word *mutex, uint32_t dead);

#ifdef __cplusplus
}
#endif

#endif
