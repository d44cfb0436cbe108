/*
 * latch.h: a count that only goes down, and opens at 0. The meaning is that of C++20's std::latch.
 *
 *     lw_latch ready = LW_LATCH_INIT(8);
 *
 *     lw_latch_count_down(&ready, 1);                     // each of eight threads
 *     lw_latch_wait(&ready);                              // the latch may be freed at once
 *
 * The count is set when the latch is made: 1 to LW_LATCH_MAX (2^30 - 1). A latch is used once: an
 * open latch stays open, as zeroed memory is. Where more is added later, or the count is used
 * again, take a wait group; where the same threads meet round after round, a barrier. A wait sees
 * what was written before each count down. Any number of threads may wait.
 */
#ifndef LOCKWORD_LATCH_H
#define LOCKWORD_LATCH_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/latch.h>
#include <lockword/errors.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_latch {
    lw_word word[LW_LATCH_WORDS];
} lw_latch;

/* clang-format off */
#define LW_LATCH_INIT(count) {{(count), 0}}
/* clang-format on */

/* The half of the functions below that waits. Call those functions instead. */
enum lw_ending lw_latch_wait_slow(lw_latch *latch, lw_deadline deadline, lw_cancel *cancel);

/*
 * Initialises a latch in memory that no agent uses yet. Returns 0; EINVAL: not 1 to LW_LATCH_MAX.
 */
LW_API int lw_latch_init(lw_latch *latch, uint32_t count)
{
    if (count == 0 || count > LW_LATCH_MAX)
        return EINVAL;
    lw_store(&latch->word[LW_LATCH_STATE], count, lw_relaxed);
    lw_store(&latch->word[LW_LATCH_GATE], 0, lw_relaxed);
    return 0;
}

/*
 * Takes n off the count; at 0, wakes all waiters. Never waits. Returns 0; EINVAL: the count was
 * less than n, and nothing was changed.
 */
LW_API int lw_latch_count_down(lw_latch *latch, uint32_t n)
{
    LW_NOTE_RELEASE(latch->word);
    return lw_latch_count_down_step(latch->word, n) < n ? EINVAL : 0;
}

/* Returns the count right now. 0: what was written before each count down is seen. */
LW_API uint32_t lw_latch_pending(const lw_latch *latch)
{
    LW_NOTE_USE(latch->word);
    const uint32_t pending = lw_latch_count(latch->word);
    if (pending == 0)
        LW_NOTE_ACQUIRE(latch->word);
    return pending;
}

/* Returns whether the count is 0. Never waits. */
LW_API bool lw_latch_try_wait(const lw_latch *latch)
{
    return lw_latch_pending(latch) == 0;
}

/*
 * Waits until the count is 0, or the deadline has passed, or `cancel` has fired (NULL: never).
 * Returns 0, ETIMEDOUT or ECANCELED.
 */
LW_API int lw_latch_wait_cancel(lw_latch *latch, lw_deadline deadline, lw_cancel *cancel)
{
    LW_NOTE_USE(latch->word);
    const int error = lw_latch_count(latch->word) == 0
                          ? 0
                          : lw_error_of(lw_latch_wait_slow(latch, deadline, cancel));
    LW_NOTE_WAITED(latch->word, error, cancel);
    return error;
}

/* Waits until the count is 0 or the deadline has passed. Returns 0 or ETIMEDOUT. */
LW_API int lw_latch_wait_until(lw_latch *latch, lw_deadline deadline)
{
    return lw_latch_wait_cancel(latch, deadline, LW_NULL);
}

/* Waits until the count is 0. Returns 0. */
LW_API int lw_latch_wait(lw_latch *latch)
{
    return lw_latch_wait_until(latch, LW_FOREVER);
}

/*
 * Takes 1 off the count, and waits until it is 0, or the deadline has passed, or `cancel` has fired
 * (NULL: never). A caller that gives up has counted all the same. Returns 0, ETIMEDOUT, ECANCELED;
 * EINVAL: the count was 0 before.
 */
LW_API int lw_latch_arrive_and_wait_cancel(lw_latch *latch, lw_deadline deadline, lw_cancel *cancel)
{
    LW_NOTE_RELEASE(latch->word);
    const uint32_t before = lw_latch_count_down_step(latch->word, 1);
    if (before == 0)
        return EINVAL;
    /* The last to arrive does not touch the latch again: a waiter may have freed it. */
    if (before > 1)
        return lw_latch_wait_cancel(latch, deadline, cancel);
    LW_NOTE_ACQUIRE(latch->word);
    return 0;
}

/*
 * Takes 1 off the count, and waits until it is 0 or the deadline has passed. Returns 0, ETIMEDOUT
 * or EINVAL.
 */
LW_API int lw_latch_arrive_and_wait_until(lw_latch *latch, lw_deadline deadline)
{
    return lw_latch_arrive_and_wait_cancel(latch, deadline, LW_NULL);
}

/* Takes 1 off the count, and waits until it is 0. Returns 0 or EINVAL. */
LW_API int lw_latch_arrive_and_wait(lw_latch *latch)
{
    return lw_latch_arrive_and_wait_until(latch, LW_FOREVER);
}

#ifdef __cplusplus
}
#endif

#endif
