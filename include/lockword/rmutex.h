/*
 * rmutex.h: a mutex that its holder may take again.
 *
 *     static lw_rmutex lock = LW_RMUTEX_INIT;             // or any zeroed memory
 *
 *     lw_rmutex_lock(&lock);
 *     visit(node);                                        // which locks it again, and unlocks it
 *     lw_rmutex_unlock(&lock);
 *
 * Others get it when it has been unlocked as often as it was locked. It can be taken 2^31 times (EOVERFLOW beyond). In all else it
 * is the mutex of mutex.h, and makes its promises.
 */
#ifndef LOCKWORD_RMUTEX_H
#define LOCKWORD_RMUTEX_H

#include <lockword/cancel.h>
#include <lockword/core/rmutex.h>
#include <lockword/errors.h>
#include <lockword/self.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_rmutex {
    lw_word word[LW_RMUTEX_WORDS];
} lw_rmutex;

/* clang-format off */
#define LW_RMUTEX_INIT {{0}}
/* clang-format on */

/* The half of the functions below that may wait; call those. */
enum lw_ending lw_rmutex_lock_slow(lw_rmutex *rmutex, lw_deadline deadline, lw_cancel *cancel);

/* Takes it, or takes it again, if that can be done without waiting. 0; EBUSY: another holds it; EOVERFLOW. */
static inline int lw_rmutex_trylock(lw_rmutex *rmutex)
{
    const uint32_t self = lw_self();
    if (lw_mutex_take(rmutex->word, self) || lw_mutex_try_step(rmutex->word, self)) {
        lw_rmutex_entered_step(rmutex->word, 0);
        return 0;
    }
    const enum lw_reentry reentry = lw_rmutex_reenter_step(rmutex->word, self, 0);
    return reentry == LW_REENTRY_YES ? 0 : reentry == LW_REENTRY_NO ? EBUSY : EOVERFLOW;
}

/*
 * Takes it, or takes it again, waiting until the deadline, or until `cancel` (NULL: never) fires.
 * 0; ETIMEDOUT; ECANCELED; EOVERFLOW; EDEADLK: a task of this thread's event loop holds it (JavaScript's lockAsync).
 */
static inline int lw_rmutex_lock_cancel(lw_rmutex *rmutex, lw_deadline deadline, lw_cancel *cancel)
{
    const int error = lw_rmutex_trylock(rmutex);
    return error == EBUSY ? lw_error_of(lw_rmutex_lock_slow(rmutex, deadline, cancel)) : error;
}

/* Takes it, or takes it again, waiting until the deadline. 0; ETIMEDOUT; EOVERFLOW; EDEADLK. */
static inline int lw_rmutex_lock_until(lw_rmutex *rmutex, lw_deadline deadline)
{
    return lw_rmutex_lock_cancel(rmutex, deadline, NULL);
}

/* Takes it, or takes it again, waiting as long as it takes. 0; EOVERFLOW; EDEADLK. */
static inline int lw_rmutex_lock(lw_rmutex *rmutex)
{
    return lw_rmutex_lock_until(rmutex, LW_FOREVER);
}

/* Gives it back once. Never waits. 0; EPERM: the caller does not hold it, and nothing was changed. */
static inline int lw_rmutex_unlock(lw_rmutex *rmutex)
{
    return lw_rmutex_unlock_step(rmutex->word, lw_self(), 0) ? 0 : EPERM;
}

#ifdef __cplusplus
}
#endif

#endif
