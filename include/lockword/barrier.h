/*
 * barrier.h: makes a number of threads meet, again and again.
 *
 *     static lw_barrier barrier = LW_BARRIER_INIT(4);
 *
 *     for (;;) {
 *         compute_my_quarter();
 *         // one of the four, each time: the last to arrive
 *         if (lw_barrier_wait(&barrier) == LW_BARRIER_LEADER)
 *             publish();
 *     }
 *
 * 1 to LW_BARRIER_MAX (4095) parties. After a wait each party sees what all of them wrote before
 * they arrived. The barrier can be used again as soon as a wait has returned. It knows how its last
 * five cycles ended: a waiter that wakes up after more of them were reset may get EPIPE although
 * its own had all parties. Cycles are counted modulo 4096: after so many, it would wait for the
 * next.
 *
 * A party that gives up breaks the barrier: every waiter, and every party that comes later, gets
 * EPIPE until the barrier is reset. Otherwise they would wait for ever for a party that has left.
 * The barrier may be freed when all parties have returned from their last wait.
 */
#ifndef LOCKWORD_BARRIER_H
#define LOCKWORD_BARRIER_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/barrier.h>
#include <lockword/errors.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_barrier {
    lw_word word[LW_BARRIER_WORDS];
} lw_barrier;

/* clang-format off */
#define LW_BARRIER_INIT(parties) {{(parties), 0, (parties)}}
/* clang-format on */

/* What one party of each cycle gets instead of 0. */
#define LW_BARRIER_LEADER (-1)

/*
 * The half of the functions below that waits. Call those functions instead. Returns an
 * lw_barrier_outcome; *ending says how the wait ended, if there was one.
 */
uint32_t lw_barrier_wait_slow(lw_barrier *barrier, lw_deadline deadline, lw_cancel *cancel,
                              enum lw_ending *ending);

/* Returns the code for the outcome of an arrival, or of a wait. */
static inline int lw_barrier_error_of(uint32_t outcome)
{
    return outcome == LW_BARRIER_LEADS    ? LW_BARRIER_LEADER
           : outcome == LW_BARRIER_BROKE  ? EPIPE
           : outcome == LW_BARRIER_UNMADE ? EINVAL
                                          : 0;
}

/*
 * Initialises a barrier in unused memory, or one that no agent uses. Returns 0; EINVAL: not 1 to
 * LW_BARRIER_MAX parties.
 */
LW_API int lw_barrier_init(lw_barrier *barrier, uint32_t parties)
{
    if (parties == 0 || parties > LW_BARRIER_MAX)
        return EINVAL;
    lw_barrier_make_step(barrier->word, parties);
    return 0;
}

/*
 * Arrives, and waits for the others until the deadline, or until `cancel` fires (NULL: never).
 * Returns 0; LW_BARRIER_LEADER: the same, and the caller was the last to arrive; EPIPE: a party
 * gave up, or the barrier was reset; ETIMEDOUT or ECANCELED: the caller gave up; EINVAL: the
 * barrier has no parties.
 */
LW_API int lw_barrier_wait_cancel(lw_barrier *barrier, lw_deadline deadline, lw_cancel *cancel)
{
    enum lw_ending ending = LW_ENDED_DONE;
    LW_NOTE_RELEASE(barrier->word);
    const uint32_t outcome = lw_barrier_wait_slow(barrier, deadline, cancel, &ending);
    const int error = ending == LW_ENDED_DONE ? lw_barrier_error_of(outcome) : lw_error_of(ending);
    LW_NOTE_ACQUIRE(barrier->word);
    LW_NOTE_ENDED(error, cancel);
    return error;
}

/*
 * Arrives, and removes one party from all cycles after this one, even if this one is broken. Never
 * waits. Illegal at the same time as a reset, which would count the party in neither cycle. Returns
 * 0, LW_BARRIER_LEADER, EPIPE or EINVAL.
 */
LW_API int lw_barrier_drop(lw_barrier *barrier)
{
    LW_NOTE_RELEASE(barrier->word);
    lw_barrier_drop_step(barrier->word);
    const int error = lw_barrier_error_of(lw_answer_what(lw_barrier_arrive_step(barrier->word)));
    LW_NOTE_ACQUIRE(barrier->word);
    return error;
}

/* Begins a new cycle, with all parties missing. Parties that wait now get EPIPE. */
LW_API void lw_barrier_reset(lw_barrier *barrier)
{
    LW_NOTE_RELEASE(barrier->word);
    lw_barrier_reset_step(barrier->word);
}

/* Returns whether a party gave up, and the barrier has not been reset since. */
LW_API bool lw_barrier_is_broken(const lw_barrier *barrier)
{
    return (lw_barrier_state(barrier->word) & LW_BARRIER_BROKEN) != 0;
}

/*
 * Arrives, and waits for the others until the deadline. Returns 0, LW_BARRIER_LEADER, EPIPE,
 * ETIMEDOUT or EINVAL.
 */
LW_API int lw_barrier_wait_until(lw_barrier *barrier, lw_deadline deadline)
{
    return lw_barrier_wait_cancel(barrier, deadline, LW_NULL);
}

/*
 * Arrives, and waits for the others without limit. Returns 0, LW_BARRIER_LEADER, EPIPE or EINVAL.
 */
LW_API int lw_barrier_wait(lw_barrier *barrier)
{
    return lw_barrier_wait_until(barrier, LW_FOREVER);
}

#ifdef __cplusplus
}
#endif

#endif
