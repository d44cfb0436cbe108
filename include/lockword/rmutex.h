/*
 * rmutex.h: a mutex that its holder may take again.
 *
 *     static lw_rmutex lock = LW_RMUTEX_INIT;             // or any zeroed memory
 *
 *     lw_rmutex_lock(&lock);
 *     visit(node);                                        // which locks it again, and unlocks it
 *     lw_rmutex_unlock(&lock);
 *
 * Other threads can take it when it has been unlocked as often as it was locked. A thread can hold
 * it 2^31 times (EOVERFLOW beyond); any number of threads may wait. In all else it is the mutex of
 * mutex.h, and makes the same promises: everything written under it is visible to the next holder
 * after the last unlock.
 */
#ifndef LOCKWORD_RMUTEX_H
#define LOCKWORD_RMUTEX_H

#include <lockword/annotate.h>
#include <lockword/api.h>
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

/* The half of the functions below that may wait. Call those functions instead. */
enum lw_ending lw_rmutex_lock_slow(lw_rmutex *rmutex, lw_deadline deadline, lw_cancel *cancel);

/*
 * Takes it if it is free and no agent waits, or again if the caller holds it. Returns 0; EOVERFLOW;
 * EBUSY: nothing was changed.
 */
static inline int lw_rmutex_enter(lw_rmutex *rmutex, uint32_t self)
{
    if (__builtin_expect(lw_rmutex_take(rmutex->word, self), 1))
        return 0;
    return lw_rmutex_reenter_step(rmutex->word, self) == LW_REENTRY_OVERFLOW ? EOVERFLOW : EBUSY;
}

/* Gives it back once. Returns 0; EPERM: `holder`, as in core/rmutex.h, does not hold it. */
static inline int lw_rmutex_give(lw_rmutex *rmutex, uint32_t holder)
{
    return __builtin_expect(lw_rmutex_free(rmutex->word, holder), 1) ||
                   lw_rmutex_free_step(rmutex->word, holder)
               ? 0
               : EPERM;
}

/*
 * Returns whether `holder`, as in core/rmutex.h, holds it exactly once, so that one unlock frees
 * it.
 */
static inline bool lw_rmutex_is_held_once(const lw_rmutex *rmutex, uint32_t holder)
{
    return lw_load(&rmutex->word[LW_RMUTEX_HOLDER], lw_relaxed) == holder &&
           lw_rmutex_depth(rmutex->word) == 1;
}

/*
 * Takes it, or takes it again, if it need not wait for that. Returns 0; EBUSY: another agent holds
 * it, or a task of this thread's event loop; EOVERFLOW.
 */
LW_API int lw_rmutex_trylock(lw_rmutex *rmutex)
{
    const uint32_t self = lw_self();
    const int how =
        LW_ANNOTATE && lw_mutex_owner(rmutex->word) == self ? LW_NOTE_NOTHING : LW_NOTE_TRY;
    LW_NOTE_LOCKING(rmutex->word, how);
    int error = lw_rmutex_enter(rmutex, self);
    if (__builtin_expect(error == EBUSY, 0) && lw_mutex_try_step(rmutex->word, self)) {
        lw_rmutex_entered_step(rmutex->word, self, 0);
        error = 0;
    }
    LW_NOTE_LOCKED(rmutex->word, how, error == 0);
    return error;
}

/*
 * Takes it, or takes it again, waiting until the deadline, or until `cancel` fires (NULL: never).
 * Returns 0; ETIMEDOUT; ECANCELED; EOVERFLOW; EDEADLK: a task of this thread's event loop holds it
 * (JavaScript's lockAsync).
 */
LW_API int lw_rmutex_lock_cancel(lw_rmutex *rmutex, lw_deadline deadline, lw_cancel *cancel)
{
    const uint32_t self = lw_self();
    const int how = LW_ANNOTATE && lw_mutex_owner(rmutex->word) == self
                        ? LW_NOTE_NOTHING
                        : LW_NOTE_WAIT(deadline, cancel);
    LW_NOTE_LOCKING(rmutex->word, how);
    int error = lw_rmutex_enter(rmutex, self);
    if (__builtin_expect(error == EBUSY, 0))
        error = lw_error_of(lw_rmutex_lock_slow(rmutex, deadline, cancel));
    LW_NOTE_LOCKED(rmutex->word, how, error == 0);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/*
 * Takes it, or takes it again, waiting until the deadline. Returns 0, ETIMEDOUT, EOVERFLOW or
 * EDEADLK.
 */
LW_API int lw_rmutex_lock_until(lw_rmutex *rmutex, lw_deadline deadline)
{
    return lw_rmutex_lock_cancel(rmutex, deadline, LW_NULL);
}

/* Takes it, or takes it again, waiting without limit. Returns 0, EOVERFLOW or EDEADLK. */
LW_API int lw_rmutex_lock(lw_rmutex *rmutex)
{
    return lw_rmutex_lock_until(rmutex, LW_FOREVER);
}

/*
 * Unlocks it once. Never waits. Returns 0; EPERM: the caller does not hold it, and nothing was
 * changed.
 */
LW_API int lw_rmutex_unlock(lw_rmutex *rmutex)
{
    const uint32_t self = lw_self();
    const int how =
        LW_ANNOTATE && !lw_rmutex_is_held_once(rmutex, self) ? LW_NOTE_NOTHING : LW_NOTE_WRITE;
    LW_NOTE_UNLOCKING(rmutex->word, how);
    const int error = lw_rmutex_give(rmutex, self);
    LW_NOTE_UNLOCKED(rmutex->word, how);
    return error;
}

/*
 * Returns whether an agent holds it right now. By the time the caller looks at the result it may be
 * old.
 */
LW_API bool lw_rmutex_is_locked(const lw_rmutex *rmutex)
{
    LW_NOTE_USE(rmutex->word);
    return lw_mutex_owner(rmutex->word) != 0;
}

/* Returns whether the caller holds it. */
LW_API bool lw_rmutex_is_mine(const lw_rmutex *rmutex)
{
    LW_NOTE_USE(rmutex->word);
    return lw_mutex_owner(rmutex->word) == lw_self();
}

/* Returns how often its holder has it right now; 0: no agent holds it. */
LW_API uint32_t lw_rmutex_hold_count(const lw_rmutex *rmutex)
{
    LW_NOTE_USE(rmutex->word);
    return lw_rmutex_depth(rmutex->word);
}

#ifdef __cplusplus
}
#endif

#endif
