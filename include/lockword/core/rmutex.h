/*
 * core/rmutex.h: the recursive mutex's three words: a mutex (core/mutex.h), and how often its
 * holder has taken it again.
 *
 *     words 0-1  the mutex
 *     word 2, depth   bits 0-30  AGAIN  how often it was taken besides the first time; only the
 *                                       holder writes it
 *                     bit 31     TASK   held by a task of an event loop, and not by its whole
 *                                       thread: only the task's guard can take it again
 */
#ifndef LOCKWORD_CORE_RMUTEX_H
#define LOCKWORD_CORE_RMUTEX_H

#include <lockword/core/mutex.h>

enum {
    LW_RMUTEX_DEPTH = LW_MUTEX_WORDS,
    LW_RMUTEX_WORDS,
};

#define LW_RMUTEX_AGAIN 0x7fffffffu
#define LW_RMUTEX_TASK 0x80000000u

/* The outcome of an attempt to take the mutex again. */
enum lw_reentry {
    LW_REENTRY_NO = 0,       /* the caller does not hold it in this way: it has to lock it */
    LW_REENTRY_YES = 1,      /* taken once more */
    LW_REENTRY_OVERFLOW = 2, /* it cannot be taken once more */
};

#ifdef __cplusplus
extern "C" {
#endif

/* Returns how often its holder has it; 0: no agent holds it. */
uint32_t lw_rmutex_depth(const lw_word *rmutex);

/*
 * Takes the mutex once more if self holds it in the same way: `task` is 0 for the thread,
 * LW_RMUTEX_TASK for a task.
 */
enum lw_reentry lw_rmutex_reenter_step(lw_word *rmutex, uint32_t self, uint32_t task);

/*
 * Call this just after locking the mutex, with `depth` telling in which way it is held, and how
 * often besides the first time: LW_RMUTEX_TASK plus LW_RMUTEX_AGAIN. Also call it, with 0, before a
 * holder that has the mutex more than once frees it at once.
 */
void lw_rmutex_entered_step(lw_word *rmutex, uint32_t depth);

/*
 * Gives the mutex back once. Returns false, with nothing changed, if self does not hold it in this
 * way.
 */
bool lw_rmutex_unlock_step(lw_word *rmutex, uint32_t self, uint32_t task);

#ifdef __cplusplus
}
#endif

#endif
