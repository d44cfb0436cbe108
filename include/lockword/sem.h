/*
 * sem.h: a counting semaphore in twelve bytes.
 *
 *     static lw_sem slots = LW_SEM_INIT(4);
 *
 *     lw_sem_acquire(&slots, 1);
 *     use_one_of_four();
 *     lw_sem_release(&slots, 1);
 *
 * Up to LW_SEM_MAX (2^28 - 1) permits. A call may ask for any number, and gets all of them at once,
 * or none. A release wakes as many threads as it gives permits, and all event loops.
 *
 * No request starves. A running thread may overtake waiters, but not for long: a waiter that was
 * woken in vain nine times, or has slept for half a millisecond (in WebAssembly, a second),
 * reserves the permits. A call for several permits that has to wait claims them at once, and so
 * does an event loop that was woken in vain once. From then on newcomers wait until the claim is
 * served or given up, except in lw_sem_tryacquire. A thread that finds the claimed permits there
 * for half a millisecond takes the claim over: the event loop is busy. So do not ask for more
 * permits while you hold some, unless by lw_sem_tryacquire: a claim may wait for those that you
 * hold. And do not block the thread of an event loop by a semaphore of which that loop waits for
 * several permits.
 *
 * An acquire sees what was written before the releases that gave its permits. Any number of threads
 * may wait, and no count wraps. The semaphore may be freed as soon as no thread will use it any
 * more: a release does not touch it any more once its permits can be acquired.
 */
#ifndef LOCKWORD_SEM_H
#define LOCKWORD_SEM_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/sem.h>
#include <lockword/errors.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_sem {
    lw_word word[LW_SEM_WORDS];
} lw_sem;

/* clang-format off */
#define LW_SEM_INIT(permits) {{(permits)}}
/* clang-format on */

/* The half of the functions below that waits. Call those functions instead. */
enum lw_ending lw_sem_acquire_slow(lw_sem *sem, uint32_t n, lw_deadline deadline,
                                   lw_cancel *cancel);

/*
 * Takes n permits if there are as many, also if waiters have claimed them. Never waits. Returns 0;
 * EBUSY: there are fewer.
 */
LW_API int lw_sem_tryacquire(lw_sem *sem, uint32_t n)
{
    LW_NOTE_USE(sem->word);
    const int error =
        __builtin_expect(lw_sem_take(sem->word, n), 1) || lw_sem_try_step(sem->word, n) ? 0 : EBUSY;
    if (error == 0)
        LW_NOTE_ACQUIRE(sem->word);
    return error;
}

/*
 * Takes n permits, waiting until the deadline, or until `cancel` fires (NULL: never). Returns 0;
 * EINVAL: there can never be so many; ETIMEDOUT; ECANCELED.
 */
LW_API int lw_sem_acquire_cancel(lw_sem *sem, uint32_t n, lw_deadline deadline, lw_cancel *cancel)
{
    if (n > LW_SEM_MAX)
        return EINVAL;
    LW_NOTE_USE(sem->word);
    const int error = __builtin_expect(lw_sem_take(sem->word, n), 1)
                          ? 0
                          : lw_error_of(lw_sem_acquire_slow(sem, n, deadline, cancel));
    LW_NOTE_WAITED(sem->word, error, cancel);
    return error;
}

/* Takes n permits, waiting until the deadline. Returns 0, EINVAL or ETIMEDOUT. */
LW_API int lw_sem_acquire_until(lw_sem *sem, uint32_t n, lw_deadline deadline)
{
    return lw_sem_acquire_cancel(sem, n, deadline, LW_NULL);
}

/* Takes n permits, waiting without limit. Returns 0 or EINVAL. */
LW_API int lw_sem_acquire(lw_sem *sem, uint32_t n)
{
    return lw_sem_acquire_until(sem, n, LW_FOREVER);
}

/*
 * Adds n permits, and wakes waiters. Never waits. Returns 0; EOVERFLOW: there would be too many,
 * and nothing was changed.
 */
LW_API int lw_sem_release(lw_sem *sem, uint32_t n)
{
    LW_NOTE_RELEASE(sem->word);
    return __builtin_expect(lw_sem_give(sem->word, n), 1) ||
                   lw_sem_release_step(sem->word, n) != LW_SEM_OVERFLOW
               ? 0
               : EOVERFLOW;
}

/*
 * Returns how many permits are available right now. By the time the caller looks at the result it
 * may be old.
 */
LW_API uint32_t lw_sem_available(const lw_sem *sem)
{
    LW_NOTE_USE(sem->word);
    return lw_sem_permits(sem->word);
}

#ifdef __cplusplus
}
#endif

#endif
