/*
 * cond.h: waits until a condition holds for data that a mutex guards.
 *
 *     lw_mutex_lock(&lock);
 *     while (queue_is_empty())              // in a loop: a wake-up may be late or spurious
 *         lw_cond_wait(&not_empty, &lock);
 *     take_from_queue();
 *     lw_mutex_unlock(&lock);
 *
 *     lw_mutex_lock(&lock);
 *     put_into_queue();
 *     lw_mutex_unlock(&lock);
 *     lw_cond_notify_one(&not_empty);       // better after the unlock, though legal before
 *
 * A wait gives up the mutex and falls asleep in such a way that it misses no notify in between.
 * When it returns, whatever it returns, the caller holds the mutex again. Waiters are woken in the
 * order in which they came (threads of real-time priority first: do not let threads of different
 * priority wait on one condition and notify one).
 *
 * What is illegal. To wait on a condition with one mutex while others wait on it with another.
 * lockword does not notice, and no word is damaged, but wake-ups are lost: a thread that holds the
 * other mutex can make the condition true, and notify, after the waiter has looked and before it
 * has begun to wait. The waiter then sleeps until the next notify, or for ever. Once nobody waits,
 * the next waiter may bring another mutex.
 *
 * A wait publishes what the mutex publishes: the next holder sees what was written before the wait,
 * and the waiter sees what earlier holders wrote. A notify publishes nothing: make the condition
 * true under the mutex.
 *
 * A waiter misses a notify only if 2^31 of them come before it falls asleep. The condition may be
 * freed when all waiters have returned and no call of notify is running. A notify under the mutex
 * has ended when a waiter returns; one after the unlock may not have.
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

/*
 * The halves of the functions below that wait. Call those functions instead. The caller holds the
 * mutex.
 */
enum lw_ending lw_cond_wait_slow(lw_cond *cond, lw_mutex *mutex, lw_deadline deadline,
                                 lw_cancel *cancel);
enum lw_ending lw_cond_wait_recursive_slow(lw_cond *cond, lw_rmutex *rmutex, lw_deadline deadline,
                                           lw_cancel *cancel);

/*
 * Gives up the mutex, waits for a notify until the deadline, or until `cancel` fires (NULL: never),
 * and takes the mutex again, however long that takes. Returns 0: notified, perhaps together with
 * other waiters, or in the moment in which the time was up; ETIMEDOUT; ECANCELED; EPERM: the caller
 * does not hold the mutex, and nothing was done.
 */
LW_API int lw_cond_wait_cancel(lw_cond *cond, lw_mutex *mutex, lw_deadline deadline,
                               lw_cancel *cancel)
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

/* The same without a cancel. Returns 0, ETIMEDOUT or EPERM. */
LW_API int lw_cond_wait_until(lw_cond *cond, lw_mutex *mutex, lw_deadline deadline)
{
    return lw_cond_wait_cancel(cond, mutex, deadline, LW_NULL);
}

/* The same without a limit. Returns 0 or EPERM. */
LW_API int lw_cond_wait(lw_cond *cond, lw_mutex *mutex)
{
    return lw_cond_wait_until(cond, mutex, LW_FOREVER);
}

/*
 * The same three with a recursive mutex. The wait gives it up entirely, however often the caller
 * holds it, and the caller holds it as often again when the wait returns. They also return EPERM if
 * a task of the caller's event loop holds it.
 */
LW_API int lw_cond_wait_recursive_cancel(lw_cond *cond, lw_rmutex *rmutex, lw_deadline deadline,
                                         lw_cancel *cancel)
{
    if (lw_load(&rmutex->word[LW_RMUTEX_HOLDER], lw_relaxed) != lw_self())
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
 * Wakes up to n waiters (LW_ALL: all). If a JavaScript waitAsync has given up since the last
 * notify, it may have left a wait in the queue, and this wakes all waiters. Returns how many
 * waiters were asleep and woken, at most n. A waiter that is about to fall asleep will not do so;
 * it is not counted.
 */
LW_API uint32_t lw_cond_notify(lw_cond *cond, uint32_t n)
{
    LW_NOTE_USE(cond->word);
    return __builtin_expect(lw_load(&cond->word[LW_COND_WAITERS], lw_relaxed) == 0, 1)
               ? 0
               : lw_cond_notify_step(cond->word, n);
}

/* Wakes one waiter, if there is one. Returns what lw_cond_notify does. */
LW_API uint32_t lw_cond_notify_one(lw_cond *cond)
{
    return lw_cond_notify(cond, 1);
}

/* Wakes all waiters. Returns what lw_cond_notify does. */
LW_API uint32_t lw_cond_notify_all(lw_cond *cond)
{
    return lw_cond_notify(cond, LW_ALL);
}

#ifdef __cplusplus
}
#endif

#endif
