/*
 * counter.h: a number that threads can wait for, in eight bytes.
 *
 *     static lw_counter pending = LW_COUNTER_INIT(0);     // or any zeroed memory
 *
 *     lw_counter_add(&pending, 1, NULL);
 *     lw_counter_wait_at_most(&pending, 0, LW_FOREVER, NULL);
 *
 * 0 to LW_COUNTER_MAX (2^30 - 1). A change that would leave this range is refused, and changes
 * nothing. A waiter looks at the value when it wakes, so it may miss a value that has come and gone
 * meanwhile; where it must not, use an event or a wait group. A thread that sees a change sees what
 * was written before it. Any number of threads may wait. The counter may be freed as soon as no
 * thread will use it any more: a change does not touch it afterwards.
 */
#ifndef LOCKWORD_COUNTER_H
#define LOCKWORD_COUNTER_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/counter.h>
#include <lockword/errors.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_counter {
    lw_word word[LW_COUNTER_WORDS];
} lw_counter;

/* clang-format off */
#define LW_COUNTER_INIT(value) {{(value)}}
/* clang-format on */

/* The half of the functions below that waits. Call those functions instead. */
enum lw_ending lw_counter_wait_slow(lw_counter *counter, lw_step *step, uint32_t value,
                                    lw_deadline deadline, lw_cancel *cancel);

/* Returns the value right now. */
LW_API uint32_t lw_counter_get(const lw_counter *counter)
{
    LW_NOTE_USE(counter->word);
    const uint32_t value = lw_counter_value(counter->word);
    LW_NOTE_ACQUIRE(counter->word);
    return value;
}

/*
 * Adds n, which may be negative, and stores the value before in *old, unless that is NULL. Never
 * waits. Returns 0; EOVERFLOW: the value would leave its range, and nothing was changed.
 */
LW_API int lw_counter_add(lw_counter *counter, int32_t n, uint32_t *old)
{
    LW_NOTE_RELEASE(counter->word);
    uint32_t before = lw_load(&counter->word[LW_COUNTER_STATE], lw_relaxed);
    const uint32_t sum = before + LW_CAST(uint32_t, n);
    /* What the step does if no agent waits and none changes the value meanwhile. */
    if (before > LW_COUNTER_MAX || sum > LW_COUNTER_MAX ||
        lw_cas(&counter->word[LW_COUNTER_STATE], before, sum, lw_acq_rel) != before)
        before = lw_counter_add_step(counter->word, n);
    LW_NOTE_ACQUIRE(counter->word);
    if (before == LW_COUNTER_OVERFLOW)
        return EOVERFLOW;
    if (old)
        *old = before;
    return 0;
}

/* The part that the functions below share. */
static inline int lw_counter_wait(lw_counter *counter, lw_step *step, uint32_t n,
                                  lw_deadline deadline, lw_cancel *cancel)
{
    LW_NOTE_USE(counter->word);
    const int error = lw_error_of(lw_counter_wait_slow(counter, step, n, deadline, cancel));
    LW_NOTE_WAITED(counter->word, error, cancel);
    return error;
}

/*
 * Waits until the value is at least n, or the deadline has passed, or `cancel` has fired (NULL:
 * never). Returns 0, ETIMEDOUT or ECANCELED.
 */
LW_API int lw_counter_wait_at_least(lw_counter *counter, uint32_t n, lw_deadline deadline,
                                    lw_cancel *cancel)
{
    return lw_counter_wait(counter, lw_counter_at_least_step, n, deadline, cancel);
}

/* The same, until the value is at most n. */
LW_API int lw_counter_wait_at_most(lw_counter *counter, uint32_t n, lw_deadline deadline,
                                   lw_cancel *cancel)
{
    return lw_counter_wait(counter, lw_counter_at_most_step, n, deadline, cancel);
}

/* The same, until the value is not n: the way to wait for anything else. */
LW_API int lw_counter_wait_change(lw_counter *counter, uint32_t n, lw_deadline deadline,
                                  lw_cancel *cancel)
{
    return lw_counter_wait(counter, lw_counter_change_step, n, deadline, cancel);
}

#ifdef __cplusplus
}
#endif

#endif
