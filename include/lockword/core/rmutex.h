/*
 * core/rmutex.h: the recursive mutex's four words: a mutex (core/mutex.h), how often its holder has
 * taken it again, and who that is.
 *
 *     words 0-1  the mutex
 *     word 2, depth   bits 0-30  AGAIN   how often it was taken besides the first time; meaningless
 *                                        while the mutex is free
 *     word 3, holder  bits 0-28  HOLDER  the agent that holds the mutex and may take it again; 0:
 *                                        none
 *                     bit 31     TASK    it is held by a task of the agent's event loop, and not by
 *                                        its whole thread: only the task's guard can take it again
 *
 * Only the agent that holds the mutex writes words 2 and 3: after the operation that takes the
 * mutex, and before the one that frees it. So an agent finds its own id in word 3 if, and only if,
 * it holds the mutex. It need not load the state, which would cost a third of another swap just
 * after the mutex was taken.
 */
#ifndef LOCKWORD_CORE_RMUTEX_H
#define LOCKWORD_CORE_RMUTEX_H

#include <lockword/core/mutex.h>

enum {
    LW_RMUTEX_DEPTH = LW_MUTEX_WORDS,
    LW_RMUTEX_HOLDER,
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

/*
 * The fast paths of lock and unlock, if no agent waits. They return false, with nothing changed, if
 * a step has to be called. A `holder` is the caller's id, plus LW_RMUTEX_TASK for a task. A task
 * cannot lock by the first one, which takes the mutex once more if the thread has it.
 *
 * The depth and the holder need no order: an agent reads what it wrote itself, or what another one
 * wrote, which is not its id.
 */
LW_INLINE bool lw_rmutex_take(lw_word *rmutex, uint32_t self)
{
    if (lw_load(&rmutex[LW_RMUTEX_HOLDER], lw_unordered) == self) {
        const uint32_t depth = lw_load(&rmutex[LW_RMUTEX_DEPTH], lw_unordered);
        if (depth == LW_RMUTEX_AGAIN)
            return false;
        lw_store(&rmutex[LW_RMUTEX_DEPTH], depth + 1, lw_unordered);
        return true;
    }
    if (lw_cas(&rmutex[LW_MUTEX_STATE], 0, self, lw_acquire) != 0)
        return false;
    /* A holder that died may have left another depth. */
    lw_store(&rmutex[LW_RMUTEX_DEPTH], 0, lw_unordered);
    lw_store(&rmutex[LW_RMUTEX_HOLDER], self, lw_unordered);
    return true;
}

LW_INLINE bool lw_rmutex_free(lw_word *rmutex, uint32_t holder)
{
    if (lw_load(&rmutex[LW_RMUTEX_HOLDER], lw_unordered) != holder)
        return false;
    const uint32_t depth = lw_load(&rmutex[LW_RMUTEX_DEPTH], lw_unordered);
    if (depth != 0) {
        lw_store(&rmutex[LW_RMUTEX_DEPTH], depth - 1, lw_unordered);
        return true;
    }
    /* Before the mutex is free: after that, the next holder may come. */
    const uint32_t self = holder & LW_MUTEX_OWNER;
    lw_store(&rmutex[LW_RMUTEX_HOLDER], 0, lw_unordered);
    if (lw_cas(&rmutex[LW_MUTEX_STATE], self, 0, lw_release) == self)
        return true;
    lw_store(&rmutex[LW_RMUTEX_HOLDER], holder, lw_unordered);
    return false;
}

/* Returns how often its holder has it; 0: no agent holds it. */
uint32_t lw_rmutex_depth(const lw_word *rmutex);

/* Takes the mutex once more if the caller holds it. */
enum lw_reentry lw_rmutex_reenter_step(lw_word *rmutex, uint32_t holder);

/*
 * Call this just after locking the mutex, with how often the caller has it besides the first time.
 * Also call it, with 0 and 0, before a holder frees at once what it has more than once.
 */
void lw_rmutex_entered_step(lw_word *rmutex, uint32_t holder, uint32_t depth);

/*
 * Frees the mutex, and wakes. Call this if lw_rmutex_free has returned false. Returns false, with
 * nothing changed, if the caller does not hold it in this way.
 */
bool lw_rmutex_free_step(lw_word *rmutex, uint32_t holder);

#ifdef __cplusplus
}
#endif

#endif
