/*
 * cond.h: waits until something becomes true that a mutex guards.
 *
 *     lw_mutex_lock(&lock);
 *     while (queue_is_empty())                            // always in a loop: others may be faster, and wakes may be spurious
 *         lw_cond_wait(&not_empty, &lock);
 *     take_from_queue();
 *     lw_mutex_unlock(&lock);
 *
 *     lw_mutex_lock(&lock);
 *     put_into_queue();
 *     lw_mutex_unlock(&lock);
 *     lw_cond_notify_one(&not_empty);                     // better after the unlock, though legal before
 *
 * Waiting gives up the mutex and falls asleep so that no notify in between is missed. The mutex is held again when the wait
 * returns, whatever it returns. Waiters are woken in the order in which they came (threads of real-time priority first: do not let
 * some of different priority wait on one condition and notify one).
 *
 * Illegal: to wait on a condition with one mutex while others wait on it with another. It is not noticed, and damages no word, but
 * wake-ups are lost: somebody who holds the other mutex can make true what a waiter waits for, and notify, after the waiter has
 * looked and before it has begun to wait. It then sleeps until the next notify, or for ever. Once nobody waits, the next to wait
 * may bring another mutex.
 *
 * A wait publishes what the mutex does: what was written before it, to the next holder; and it sees what earlier holders wrote. A
 * notify publishes nothing: make true what they wait for under the mutex.
 *
 * A waiter would miss 2^32 notifies that all come before it falls asleep. The condition may be freed when all who waited have
 * returned and no call of notify is going on: one that is made under the mutex has ended when a waiter returns, one that is made
 * after the unlock may not have.
 */
#ifndef LOCKWORD_COND_H
#define LOCKWORD_COND_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/core/cond.h>
#include <lockword/mutex.h>
#include <lockword/rmutex.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_cond {
    lw_word word[LW_COND_WORDS];
} lw_cond;

/* clang-format off */
#define LW_COND_INIT {{0}}
/* clang-format on */

/* The halves of the functions below that wait; call those. The caller holds the mutex. */
enum lw_ending lw_cond_wait_slow(lw_cond *cond, lw_mutex *mutex, lw_deadline deadline, lw_cancel *cancel);
enum lw_ending lw_cond_wait_recursive_slow(lw_cond *cond, lw_rmutex *rmutex, lw_deadline deadline, lw_cancel *cancel);

/*
 * Gives up the mutex, waits for a notify until the deadline, or until `cancel` (NULL: never) fires, and takes the mutex again,
 * however long that takes. 0: notified, perhaps together with somebody else, or in the moment in which the time was up; ETIMEDOUT;
 * ECANCELED; EPERM: the caller does not hold the mutex, and nothing was done.
 */
LW_API int lw_cond_wait_cancel(lw_cond *cond, lw_mutex *mutex, lw_deadline deadline, lw_cancel *cancel)
{
    if (lw_mutex_owner(mutex->word) != lw_self())
        return EPERM;
    LW_NOTE_USE(cond->word);
    LW_NOTE_UNLOCKING(mutex->word, LW_NOTE_WRITE);
    LW_NOTE_UNLOCKED(mutex->word, LW_NOTE_WRITE);
    const int error = lw_error_of(lw_cond_wait_slow(cond, mutex, deadline, cancel));
    LW_NOTE_LOCKING(mutex->word, LW_NOTE_WRITE);
    LW_NOTE_LOCKED(mutex->word, LW_NOTE_WRITE, true);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/* The same, without a way to cancel it. 0; ETIMEDOUT; EPERM. */
LW_API int lw_cond_wait_until(lw_cond *cond, lw_mutex *mutex, lw_deadline deadline)
{
    return lw_cond_wait_cancel(cond, mutex, deadline, LW_NULL);
}

/* The same, for as long as it takes. 0; EPERM. */
LW_API int lw_cond_wait(lw_cond *cond, lw_mutex *mutex)
{
    return lw_cond_wait_until(cond, mutex, LW_FOREVER);
}

/*
 * The three of them with a recursive mutex: it is given up whole, however often the caller has it, and held as often again when the
 * wait returns. EPERM, too: a task of the caller's event loop holds it.
 */
LW_API int lw_cond_wait_recursive_cancel(lw_cond *cond, lw_rmutex *rmutex, lw_deadline deadline, lw_cancel *cancel)
{
    if (lw_mutex_owner(rmutex->word) != lw_self() || lw_load(&rmutex->word[LW_RMUTEX_DEPTH], lw_relaxed) & LW_RMUTEX_TASK)
        return EPERM;
    LW_NOTE_USE(cond->word);
    LW_NOTE_UNLOCKING(rmutex->word, LW_NOTE_WRITE);
    LW_NOTE_UNLOCKED(rmutex->word, LW_NOTE_WRITE);
    const int error = lw_error_of(lw_cond_wait_recursive_slow(cond, rmutex, deadline, cancel));
    LW_NOTE_LOCKING(rmutex->word, LW_NOTE_WRITE);
    LW_NOTE_LOCKED(rmutex->word, LW_NOTE_WRITE, true);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

LW_API int lw_cond_wait_recursive_until(lw_cond *cond, lw_rmutex *rmutex, lw_deadline deadline)
{
    return lw_cond_wait_recursive_cancel(cond, rmutex, deadline, LW_NULL);
}

LW_API int lw_cond_wait_recursive(lw_cond *cond, lw_rmutex *rmutex)
{
    return lw_cond_wait_recursive_until(cond, rmutex, LW_FOREVER);
}

/*
 * Wakes up to n waiters, LW_ALL: all. Beside JavaScript it wakes all, too, if a waitAsync has given up since the last notify, for
 * that may have left a wait in the queue. Returns how many it found asleep, at most n: a waiter that is about to fall asleep does
 * not, and is not counted.
 */
LW_API uint32_t lw_cond_notify(lw_cond *cond, uint32_t n)
{
    LW_NOTE_USE(cond->word);
    return __builtin_expect(lw_load(&cond->word[LW_COND_WAITERS], lw_relaxed) == 0, 1) ? 0 : lw_cond_notify_step(cond->word, n);
}

/* Wakes one waiter, if there is one. */
LW_API uint32_t lw_cond_notify_one(lw_cond *cond)
{
    return lw_cond_notify(cond, 1);
}

/* Wakes all waiters. */
LW_API uint32_t lw_cond_notify_all(lw_cond *cond)
{
    return lw_cond_notify(cond, LW_ALL);
}

#ifdef __cplusplus
}
#endif

#endif
