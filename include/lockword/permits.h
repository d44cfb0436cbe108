/*
 * permits.h: up to 252 permits that have numbers and owners: a pool of GPUs, ports or connections.
 *
 *     static lw_permits gpus = LW_PERMITS_INIT(4);
 *
 *     uint32_t gpu;
 *     lw_permits_acquire(&gpus, &gpu);                    // 0 to 3
 *     use_gpu(gpu);
 *     lw_permits_release(&gpus, gpu);                     // by the same thread
 *
 * An acquire takes one permit, the lowest number that it finds free, and says which. No other
 * thread has it until it is released. A thread may have several; while it waits for one more, it
 * may wait for those that it has. Where nobody asks for the number, or a call takes several at
 * once, or another thread gives them back, take a semaphore.
 *
 * The permits are made with their number, 1 to LW_PERMITS_MAX (252), and take 1024 bytes whatever
 * it is. Zeroed memory has none: EINVAL.
 *
 * No request starves. A running thread may overtake waiters, but not for long: a waiter that was
 * woken in vain nine times, or has slept for half a millisecond (in WebAssembly, a second), or an
 * event loop that was woken in vain once, reserves the next permit that becomes free, except from
 * lw_permits_tryacquire. An acquire sees what was written before the permit was
 * released last. The memory may be freed when no call runs: a release writes to it after its permit
 * can be acquired.
 *
 * A thread that ends keeps its permits. Between processes, and where they are to be free again when
 * their owner dies, take the same permits in a region: lw_region_permits (region.h).
 */
#ifndef LOCKWORD_PERMITS_H
#define LOCKWORD_PERMITS_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/permits.h>
#include <lockword/errors.h>
#include <lockword/self.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_permits {
    lw_word word[LW_PERMITS_WORDS];
} lw_permits;

/* clang-format off */
#define LW_PERMITS_INIT(n) {{0, 0, (n)}}
/* clang-format on */

/* The half of the functions below that waits. Call those functions instead. */
enum lw_ending lw_permits_acquire_slow(lw_permits *permits, uint32_t *which, lw_deadline deadline,
                                       lw_cancel *cancel);

/*
 * Initialises n permits, all free, in memory that no agent uses yet. Returns 0; EINVAL: n is not 1
 * to LW_PERMITS_MAX.
 */
LW_API int lw_permits_init(lw_permits *permits, uint32_t n)
{
    if (n == 0 || n > LW_PERMITS_MAX)
        return EINVAL;
    for (uint32_t i = 0; i < LW_PERMITS_WORDS; i++)
        lw_store(&permits->word[i], i == LW_PERMITS_COUNT ? n : 0, lw_relaxed);
    return 0;
}

/*
 * Takes a permit if one is free, also if a waiter has reserved it, and stores its number in *which
 * (NULL: nobody asks). Never waits. Returns 0; EBUSY: none was free.
 */
LW_API int lw_permits_tryacquire(lw_permits *permits, uint32_t *which)
{
    LW_NOTE_USE(permits->word);
    const uint32_t got = lw_permits_try_step(permits->word, lw_self());
    if (got == LW_PERMITS_NONE)
        return EBUSY;
    LW_NOTE_ACQUIRE(permits->word);
    if (which)
        *which = got;
    return 0;
}

/*
 * Takes a permit, waiting until the deadline, or until `cancel` fires (NULL: never), and stores its
 * number in *which (NULL: nobody asks). Returns 0; EINVAL: there are no permits; ETIMEDOUT;
 * ECANCELED. Only 0 changes *which.
 */
LW_API int lw_permits_acquire_cancel(lw_permits *permits, uint32_t *which, lw_deadline deadline,
                                     lw_cancel *cancel)
{
    LW_NOTE_USE(permits->word);
    if (lw_permits_count(permits->word) == 0)
        return EINVAL;
    const int error = lw_error_of(lw_permits_acquire_slow(permits, which, deadline, cancel));
    LW_NOTE_WAITED(permits->word, error, cancel);
    return error;
}

/* Takes a permit, waiting until the deadline. Returns 0, EINVAL or ETIMEDOUT. */
LW_API int lw_permits_acquire_until(lw_permits *permits, uint32_t *which, lw_deadline deadline)
{
    return lw_permits_acquire_cancel(permits, which, deadline, LW_NULL);
}

/* Takes a permit, waiting without limit. Returns 0 or EINVAL. */
LW_API int lw_permits_acquire(lw_permits *permits, uint32_t *which)
{
    return lw_permits_acquire_until(permits, which, LW_FOREVER);
}

/*
 * Gives the permit of this number back, and wakes waiters. Never waits. Returns 0; EPERM: it is not
 * this thread's, and nothing was changed.
 */
LW_API int lw_permits_release(lw_permits *permits, uint32_t which)
{
    LW_NOTE_RELEASE(permits->word);
    return lw_permits_release_step(permits->word, which, lw_self()) ? 0 : EPERM;
}

/*
 * Returns how many permits are free right now. By the time the caller looks at the result it may be
 * old.
 */
LW_API uint32_t lw_permits_available(const lw_permits *permits)
{
    LW_NOTE_USE(permits->word);
    return lw_permits_of(permits->word, 0);
}

#ifdef __cplusplus
}
#endif

#endif
