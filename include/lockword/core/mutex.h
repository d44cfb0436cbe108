/*
 * core/mutex.h: the mutex's two words, what their bits mean, and the operations that never wait.
 *
 *     word 0, state    bits 0-28  OWNER     the holder's agent id; 0 while the mutex is free
 *                      bit 29     RESERVED  the next lock() to succeed must have waited (try_lock
 *                                           is exempt)
 *                      bit 30     ASYNC     async waiters may be queued at the gate
 *                      bit 31     BLOCKED   blocking waiters may be asleep on state
 *     word 1, gate     always 0: never written, only an address at which async waiters queue
 *
 *     state                    meaning                     who changes it, and how
 *     0                        free                        any agent: takes it
 *     id                       held                        its owner: 0
 *     id + BLOCKED/ASYNC       held; agents may wait       its owner: 0, then notifies a thread and
 *                                                          all event loops
 *     id + RESERVED (+ flags)  held; a waiter is starving  its owner: RESERVED, then notifies as
 *                                                          above
 *     RESERVED (+ flags)       free, reserved for waiters  an agent that has returned from a wait:
 *                                                          takes it, clears RESERVED
 *
 * Legal: BLOCKED or ASYNC without a waiter (it costs one notify). Illegal: free without RESERVED,
 * yet not 0; a waiter asleep for good on a free mutex, with no notify on its way to any agent.
 *
 * Why two words: a notify of the state wakes one thread, which runs at once. An event loop runs
 * only when its own work lets it. If both queued at one address, a notify could go to a busy event
 * loop, and the threads behind it would sleep although the mutex is free. For the same reason an
 * unlock notifies every event loop at the gate. Each loop has one wait there, so that none waits
 * for another.
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
/* The ids of agents in an engine have this bit; those of an operating system's threads have not. */
#define LW_MUTEX_IN_AN_ENGINE 0x10000000u

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the mutex if it is free and no agent waits. The fast path of every lock. */
LW_INLINE bool lw_mutex_take(lw_word *mutex, uint32_t self)
{
    return lw_cas(&mutex[LW_MUTEX_STATE], 0, self, lw_acquire) == 0;
}

/* Frees the mutex if self holds it and no agent waits. The fast path of unlock. */
LW_INLINE bool lw_mutex_free(lw_word *mutex, uint32_t self)
{
    return lw_cas(&mutex[LW_MUTEX_STATE], self, 0, lw_release) == self;
}

/* Takes the mutex if it is free, reserved or not, and returns whether it did. */
bool lw_mutex_try_step(lw_word *mutex, uint32_t self);

/*
 * Returns the holder's id; 0: the mutex is free. By the time the caller reads it, it may be
 * outdated, unless it is self.
 */
uint32_t lw_mutex_owner(const lw_word *mutex);

/* A step: takes the mutex, and waits as often as needed. */
lw_answer lw_mutex_lock_step(lw_word *mutex, uint32_t self, uint32_t why, lw_phase phase);

/*
 * Frees the mutex, notifies, and returns true. Returns false, with nothing changed, if self does
 * not hold the mutex.
 */
bool lw_mutex_unlock_step(lw_word *mutex, uint32_t self);

/*
 * Call this once an agent is known to have died, anywhere in any operation. If the agent held the
 * mutex, this frees it. If the agent consumed a notify that it owed to other waiters, this replaces
 * the notify. Illegal while the agent may make another step, and where another agent has the same
 * id. The data that the mutex guards may be half written.
 */
void lw_mutex_bury_step(lw_word *mutex, uint32_t dead);

#ifdef __cplusplus
}
#endif

#endif
