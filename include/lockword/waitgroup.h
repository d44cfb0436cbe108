/*
 * waitgroup.h: waits until all of a number of things are done. The meaning is that of Go's
 * sync.WaitGroup.
 *
 *     lw_waitgroup group = LW_WAITGROUP_INIT;  // or any zeroed memory
 *
 *     lw_waitgroup_add(&group, 8);            // before the threads start
 *     lw_waitgroup_done(&group);              // each of eight threads, at its end
 *     lw_waitgroup_wait(&group);              // the group may be freed, or used again, at once
 *
 * Counts up to LW_WAITGROUP_MAX (2^22 - 1). A wait sees what was written before each done. To add
 * while others wait is legal; to add to a count of 0 that others wait for is a race of the program:
 * they may return before or after. Unlike Go's, a group may be used again before the waiters of the
 * last round have returned. Any number of threads may wait. Rounds are counted modulo 256: a waiter
 * that sleeps through exactly that many, and finds another round running, waits for the end of
 * that, too.
 */
#ifndef LOCKWORD_WAITGROUP_H
#define LOCKWORD_WAITGROUP_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/waitgroup.h>
#include <lockword/errors.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_waitgroup {
    lw_word word[LW_WAITGROUP_WORDS];
} lw_waitgroup;

/* clang-format off */
#define LW_WAITGROUP_INIT {{0}}
/* clang-format on */

/* The half of the functions below that waits. Call those functions instead. */
enum lw_ending lw_waitgroup_wait_slow(lw_waitgroup *group, lw_deadline deadline, lw_cancel *cancel);

/* Adds n to the count. Never waits. Returns 0; EOVERFLOW: too many, and nothing was changed. */
LW_API int lw_waitgroup_add(lw_waitgroup *group, uint32_t n)
{
    LW_NOTE_RELEASE(group->word);
    const bool added = lw_waitgroup_add_step(group->word, n);
    LW_NOTE_ACQUIRE(group->word);
    return added ? 0 : EOVERFLOW;
}

/*
 * Takes 1 off the count; at 0, wakes all waiters. Never waits. Returns 0; EINVAL: the count was 0,
 * and nothing was changed.
 */
LW_API int lw_waitgroup_done(lw_waitgroup *group)
{
    LW_NOTE_RELEASE(group->word);
    return lw_waitgroup_done_step(group->word, 1) ? 0 : EINVAL;
}

/*
 * Waits until the count is 0, or the deadline has passed, or `cancel` has fired (NULL: never).
 * Returns 0, ETIMEDOUT or ECANCELED.
 */
LW_API int lw_waitgroup_wait_cancel(lw_waitgroup *group, lw_deadline deadline, lw_cancel *cancel)
{
    LW_NOTE_USE(group->word);
    const int error = lw_waitgroup_count(group->word) == 0
                          ? 0
                          : lw_error_of(lw_waitgroup_wait_slow(group, deadline, cancel));
    LW_NOTE_WAITED(group->word, error, cancel);
    return error;
}

/* Waits until the count is 0 or the deadline has passed. Returns 0 or ETIMEDOUT. */
LW_API int lw_waitgroup_wait_until(lw_waitgroup *group, lw_deadline deadline)
{
    return lw_waitgroup_wait_cancel(group, deadline, LW_NULL);
}

/* Waits until the count is 0. Returns 0. */
LW_API int lw_waitgroup_wait(lw_waitgroup *group)
{
    return lw_waitgroup_wait_until(group, LW_FOREVER);
}

/* Returns how much is not done yet, right now. 0: what was done before each done is seen. */
LW_API uint32_t lw_waitgroup_pending(const lw_waitgroup *group)
{
    LW_NOTE_USE(group->word);
    const uint32_t pending = lw_waitgroup_count(group->word);
    if (pending == 0)
        LW_NOTE_ACQUIRE(group->word);
    return pending;
}

#ifdef __cplusplus
}
#endif

#endif
