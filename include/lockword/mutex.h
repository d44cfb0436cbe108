/*
 * mutex.h: mutual exclusion in eight bytes.
 *
 *     static lw_mutex lock = LW_MUTEX_INIT;               // or any zeroed memory
 *
 *     lw_mutex_lock(&lock);
 *     balance += amount;
 *     lw_mutex_unlock(&lock);
 *
 * An lw_mutex may live anywhere that its users share: in static memory, on the heap, in a struct,
 * or in a WebAssembly memory that JavaScript shares (js/src/mutex.js takes the very same lock). It
 * needs 4-byte alignment, and no constructor or destructor.
 *
 * What it promises. At most one thread holds it. Everything written under the lock is visible to
 * the next holder. No waiter is shut out. A running thread may overtake a sleeping one, because
 * waking a thread for every unlock costs more than it helps, but not for long: a waiter that was
 * woken in vain nine times, or has slept for half a millisecond (in WebAssembly, a second), or an
 * event loop that was woken in vain once, reserves the mutex. Then only agents (threads and event
 * loops) that have waited, and trylock, can take it, until such a waiter has had its turn.
 *
 * What is illegal. To lock it again while holding it (EDEADLK; use a recursive mutex). To unlock
 * what another thread holds (EPERM). To move or copy it while it is in use, or to use it at two
 * addresses, in memory that is mapped twice, or in two processes (region.h has locks for these): a
 * waiter would sleep on. To end a thread that holds it: all others wait for ever. Unlike with a
 * POSIX mutex, the next holder may free its memory at once: unlock does not touch it any more once
 * the mutex is free.
 *
 * After fork() the child's thread has an id of its own: a lock that the parent held stays held in
 * the child.
 *
 * Functions return 0 or an errno code. None sets errno, allocates, prints or aborts. None is a
 * cancellation point: a thread that is cancelled (pthread_cancel) ends elsewhere. None of any
 * primitive is for signal handlers, except to wake threads on Linux: lw_sem_release, lw_event_set
 * and lw_cancel_fire are a few atomic operations and a system call, if no event loop uses what they
 * change. (One that has given up leaves its mark there.)
 */
#ifndef LOCKWORD_MUTEX_H
#define LOCKWORD_MUTEX_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/mutex.h>
#include <lockword/errors.h>
#include <lockword/self.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_mutex {
    lw_word word[LW_MUTEX_WORDS];
} lw_mutex;

/* clang-format off */
#define LW_MUTEX_INIT {{0}}
/* clang-format on */

/* The halves of the functions below that may wait or notify. Call those functions instead. */
enum lw_ending lw_mutex_lock_slow(lw_mutex *mutex, lw_deadline deadline, lw_cancel *cancel);
bool lw_mutex_unlock_slow(lw_mutex *mutex);

/*
 * Takes the mutex, waiting until the deadline (LW_FOREVER: without limit), or until `cancel` fires
 * (NULL: never). Returns 0; EDEADLK: the caller holds it already; ETIMEDOUT: the deadline passed,
 * after one more attempt; ECANCELED: `cancel` fired.
 */
LW_API int lw_mutex_lock_cancel(lw_mutex *mutex, lw_deadline deadline, lw_cancel *cancel)
{
    LW_NOTE_LOCKING(mutex->word, LW_NOTE_WAIT(deadline, cancel));
    const int error = __builtin_expect(lw_mutex_take(mutex->word, lw_self()), 1)
                          ? 0
                          : lw_error_of(lw_mutex_lock_slow(mutex, deadline, cancel));
    LW_NOTE_LOCKED(mutex->word, LW_NOTE_WAIT(deadline, cancel), error == 0);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/* Takes the mutex, waiting until the deadline. Returns 0, EDEADLK or ETIMEDOUT. */
LW_API int lw_mutex_lock_until(lw_mutex *mutex, lw_deadline deadline)
{
    return lw_mutex_lock_cancel(mutex, deadline, LW_NULL);
}

/* Takes the mutex, waiting without limit. Returns 0 or EDEADLK. */
LW_API int lw_mutex_lock(lw_mutex *mutex)
{
    return lw_mutex_lock_until(mutex, LW_FOREVER);
}

/*
 * Takes the mutex if it is free, even if it is reserved for a waiter. Never waits. Returns 0;
 * EBUSY: a thread holds it, perhaps the caller.
 */
LW_API int lw_mutex_trylock(lw_mutex *mutex)
{
    const uint32_t self = lw_self();
    LW_NOTE_LOCKING(mutex->word, LW_NOTE_TRY);
    const bool taken = __builtin_expect(lw_mutex_take(mutex->word, self), 1) ||
                       lw_mutex_try_step(mutex->word, self);
    LW_NOTE_LOCKED(mutex->word, LW_NOTE_TRY, taken);
    return taken ? 0 : EBUSY;
}

/*
 * Frees the mutex and wakes a waiter, if one has to be woken. Never waits. Returns 0; EPERM: the
 * caller does not hold it, and nothing was changed.
 */
LW_API int lw_mutex_unlock(lw_mutex *mutex)
{
    /* A race detector would report this as the program's fault. */
    if (LW_ANNOTATE && lw_mutex_owner(mutex->word) != lw_self())
        return EPERM;
    LW_NOTE_UNLOCKING(mutex->word, LW_NOTE_WRITE);
    const bool freed = __builtin_expect(lw_mutex_free(mutex->word, lw_self_as_owner()), 1) ||
                       lw_mutex_unlock_slow(mutex);
    LW_NOTE_UNLOCKED(mutex->word, LW_NOTE_WRITE);
    return freed ? 0 : EPERM;
}

/*
 * Returns whether an agent holds it right now. By the time the caller looks at the result it may be
 * old.
 */
LW_API bool lw_mutex_is_locked(const lw_mutex *mutex)
{
    LW_NOTE_USE(mutex->word);
    return lw_mutex_owner(mutex->word) != 0;
}

/* Returns whether the caller holds it. */
LW_API bool lw_mutex_is_mine(const lw_mutex *mutex)
{
    LW_NOTE_USE(mutex->word);
    return lw_mutex_owner(mutex->word) == lw_self();
}

#ifdef __cplusplus
}
#endif

#endif
