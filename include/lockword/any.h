/*
 * any.h: waits for several things, and returns the one that comes first.
 *
 *     const lw_source sources[] = {lw_source_event(&stop), lw_source_sem(&jobs, 1)};
 *     uint32_t which;
 *
 *     if (lw_wait_any(sources, 2, lw_after_ms(100), NULL, &which) == 0 && which == 1)
 *         do_a_job();                                     // has acquired the permit
 *
 * Only the source that is returned happens: a permit is acquired, or an automatic event reset, for
 * that source alone. If several are ready when the thread looks, the first in the array is
 * returned. A source that waits for several permits claims them (sem.h) until the wait ends. So
 * take one source of each semaphore: beside another one, its claim may keep the wait itself from a
 * free permit. Waiters cost nothing after they leave.
 *
 * A thread sleeps on all the sources at once. In WebAssembly, and for a region's locks before Linux
 * 5.16, it cannot: then it looks at them after 1 ms (in WebAssembly 4), and after twice as long
 * each time, up to a second.
 */
#ifndef LOCKWORD_ANY_H
#define LOCKWORD_ANY_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/counter.h>
#include <lockword/event.h>
#include <lockword/latch.h>
#include <lockword/permits.h>
#include <lockword/sem.h>
#include <lockword/waitgroup.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most sources of one wait. */
#define LW_ANY_MAX 63

/* Something to wait for. Make it by a function below, just before the wait. */
typedef struct lw_source {
    lw_step *step;
    lw_word *words;
    uint32_t wanted;
    uint32_t *number; /* where to say which permit it is, or NULL */
} lw_source;

/* Waits for an event to be set, from now on. */
LW_API lw_source lw_source_event(lw_event *event)
{
    const uint32_t state = lw_event_state(event->word);
    /* All that wait for an automatic event stand in one line, whenever they came. */
    const uint32_t since = state & LW_EVENT_AUTO ? 0 : state & (LW_EVENT_SET | LW_EVENT_GENERATION);
    lw_source source = {lw_event_wait_step, event->word, since, LW_NULL};
    return source;
}

/* Waits for n permits of a semaphore; 0 to LW_SEM_MAX. */
LW_API lw_source lw_source_sem(lw_sem *sem, uint32_t n)
{
    lw_source source = {lw_sem_acquire_step, sem->word, n, LW_NULL};
    return source;
}

/*
 * Waits for one of these permits, for the calling thread. When it comes first, its number is stored
 * in *which (NULL: nobody asks). Where there are no permits, none comes.
 */
LW_API lw_source lw_source_permits(lw_permits *permits, uint32_t *which)
{
    lw_source source = {lw_permits_acquire_step, permits->word, lw_self(), which};
    return source;
}

/* Waits for a counter to be at least, or at most, n. */
LW_API lw_source lw_source_at_least(lw_counter *counter, uint32_t n)
{
    lw_source source = {lw_counter_at_least_step, counter->word, n, LW_NULL};
    return source;
}

LW_API lw_source lw_source_at_most(lw_counter *counter, uint32_t n)
{
    lw_source source = {lw_counter_at_most_step, counter->word, n, LW_NULL};
    return source;
}

/* Waits for the count of a wait group to be 0, from now on. */
LW_API lw_source lw_source_waitgroup(lw_waitgroup *group)
{
    lw_source source = {lw_waitgroup_wait_step, group->word, lw_waitgroup_state(group->word),
                        LW_NULL};
    return source;
}

/* Waits for the count of a latch to be 0. */
LW_API lw_source lw_source_latch(lw_latch *latch)
{
    lw_source source = {lw_latch_wait_step, latch->word, 0, LW_NULL};
    return source;
}

/* Returns whether there are sources, and none asks for more permits than there can be. */
static inline bool lw_sources_can_come(const lw_source *sources, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (sources[i].step == lw_sem_acquire_step && sources[i].wanted > LW_SEM_MAX)
            return false;
    }
    return n != 0;
}

/* The half of the function below that waits. Call that function instead. */
enum lw_ending lw_wait_any_slow(const lw_source *sources, uint32_t n, lw_deadline deadline,
                                lw_cancel *cancel, uint32_t *which);

/*
 * Waits for one of n sources, 1 to LW_ANY_MAX, until the deadline, or until `cancel` fires (NULL:
 * never), and stores its index in *which. Returns 0; EINVAL: no sources, too many, or one for more
 * than LW_SEM_MAX permits; ETIMEDOUT; ECANCELED. Only 0 changes *which.
 */
LW_API int lw_wait_any(const lw_source *sources, uint32_t n, lw_deadline deadline,
                       lw_cancel *cancel, uint32_t *which)
{
    if (n > LW_ANY_MAX || !lw_sources_can_come(sources, n))
        return EINVAL;
    const int error = lw_error_of(lw_wait_any_slow(sources, n, deadline, cancel, which));
    LW_NOTE_WAITED(sources[*which].words, error, cancel);
    return error;
}

#ifdef __cplusplus
}
#endif

#endif
