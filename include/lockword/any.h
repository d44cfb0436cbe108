/*
 * any.h: waits for whichever comes first.
 *
 *     const lw_source sources[] = {lw_source_event(&stop), lw_source_sem(&jobs, 1)};
 *     uint32_t which;
 *
 *     if (lw_wait_any(sources, 2, lw_after_ms(100), NULL, &which) == 0 && which == 1)
 *         do_a_job();                                     // has acquired the permit
 *
 * What is waited for happens for one source only: a permit is acquired, or an automatic event reset, if that source is the one that
 * is answered. If several can be had at once, the first in the array is. Waiters cost nothing when they leave. From Linux 5.16 on a
 * thread sleeps on all the sources at once; elsewhere it looks at them every millisecond (Linux) or four (WebAssembly).
 */
#ifndef LOCKWORD_ANY_H
#define LOCKWORD_ANY_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/counter.h>
#include <lockword/event.h>
#include <lockword/sem.h>
#include <lockword/waitgroup.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many sources can be waited for at once. */
#define LW_ANY_MAX 63

/* Something to wait for; made by the functions below, just before the wait. */
typedef struct lw_source {
    lw_step *step;
    lw_word *words;
    uint32_t wanted;
} lw_source;

/* An event being set, from now on. */
LW_API lw_source lw_source_event(lw_event *event)
{
    lw_source source = {lw_event_wait_step, event->word, lw_event_state(event->word)};
    return source;
}

/* n permits of a semaphore; 0 to LW_SEM_MAX. */
LW_API lw_source lw_source_sem(lw_sem *sem, uint32_t n)
{
    lw_source source = {lw_sem_acquire_step, sem->word, n};
    return source;
}

/* A counter being at least, or at most, n. */
LW_API lw_source lw_source_at_least(lw_counter *counter, uint32_t n)
{
    lw_source source = {lw_counter_at_least_step, counter->word, n};
    return source;
}

LW_API lw_source lw_source_at_most(lw_counter *counter, uint32_t n)
{
    lw_source source = {lw_counter_at_most_step, counter->word, n};
    return source;
}

/* A wait group being done, from now on. */
LW_API lw_source lw_source_waitgroup(lw_waitgroup *group)
{
    lw_source source = {lw_waitgroup_wait_step, group->word, lw_waitgroup_state(group->word)};
    return source;
}

/* The half of the function below that waits; call that. */
enum lw_ending lw_wait_any_slow(const lw_source *sources, uint32_t n, lw_deadline deadline, lw_cancel *cancel, uint32_t *which);

/*
 * Waits for one of n sources, 1 to LW_ANY_MAX, until the deadline, or until `cancel` (NULL: never) fires; *which is its index.
 * 0; EINVAL: none, or too many sources; ETIMEDOUT; ECANCELED.
 */
LW_API int lw_wait_any(const lw_source *sources, uint32_t n, lw_deadline deadline, lw_cancel *cancel, uint32_t *which)
{
    if (n == 0 || n > LW_ANY_MAX)
        return EINVAL;
    const int error = lw_error_of(lw_wait_any_slow(sources, n, deadline, cancel, which));
    LW_NOTE_WAITED(sources[*which].words, error, cancel);
    return error;
}

#ifdef __cplusplus
}
#endif

#endif
