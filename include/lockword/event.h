/*
 * event.h: something has happened, in eight bytes.
 *
 *     static lw_event ready = LW_EVENT_INIT;  // or any zeroed memory; or LW_EVENT_AUTO_INIT
 *
 *     lw_event_set(&ready);                   // one thread
 *     lw_event_wait(&ready);                  // any others, before or after
 *
 * A manual event stays set until it is reset. It releases all waiters, even if it is reset at once.
 * An automatic event releases one waiter, which resets it; set twice before any thread waits, it
 * still releases only one. A set before a wait is never lost.
 *
 * A released waiter sees what was written before the set. Any number of threads may wait. An event
 * may be freed as soon as no thread will use it: set does not touch it any more once a waiter can
 * return. To miss a pulse, a waiter would have to sleep through 2^28 sets while it wakes up.
 */
#ifndef LOCKWORD_EVENT_H
#define LOCKWORD_EVENT_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/event.h>
#include <lockword/errors.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_event {
    lw_word word[LW_EVENT_WORDS];
} lw_event;

/* clang-format off */
#define LW_EVENT_INIT {{0}}
#define LW_EVENT_AUTO_INIT {{LW_EVENT_AUTO}}
/* clang-format on */

/* The half of the functions below that waits. Call those functions instead. */
enum lw_ending lw_event_wait_slow(lw_event *event, lw_deadline deadline, lw_cancel *cancel);

/* Sets it, and wakes the waiters that this releases. Never waits. */
LW_API void lw_event_set(lw_event *event)
{
    LW_NOTE_RELEASE(event->word);
    lw_event_set_step(event->word);
}

/* Resets it, and returns whether it was set. Never waits. */
LW_API bool lw_event_reset(lw_event *event)
{
    LW_NOTE_RELEASE(event->word);
    const bool was_set = lw_event_reset_step(event->word);
    LW_NOTE_ACQUIRE(event->word);
    return was_set;
}

/* Returns whether it is set right now. */
LW_API bool lw_event_is_set(const lw_event *event)
{
    LW_NOTE_USE(event->word);
    const bool is_set = (lw_event_state(event->word) & LW_EVENT_SET) != 0;
    if (is_set)
        LW_NOTE_ACQUIRE(event->word);
    return is_set;
}

/*
 * Waits until it is set, or the deadline has passed, or `cancel` has fired (NULL: never). Returns
 * 0, ETIMEDOUT or ECANCELED.
 */
LW_API int lw_event_wait_cancel(lw_event *event, lw_deadline deadline, lw_cancel *cancel)
{
    LW_NOTE_USE(event->word);
    /* A manual event that is set needs no more than this load. */
    const uint32_t state = lw_load(&event->word[LW_EVENT_STATE], lw_acquire);
    const int error = __builtin_expect((state & (LW_EVENT_SET | LW_EVENT_AUTO)) == LW_EVENT_SET, 1)
                          ? 0
                          : lw_error_of(lw_event_wait_slow(event, deadline, cancel));
    LW_NOTE_WAITED(event->word, error, cancel);
    return error;
}

/* Waits until it is set or the deadline has passed. Returns 0 or ETIMEDOUT. */
LW_API int lw_event_wait_until(lw_event *event, lw_deadline deadline)
{
    return lw_event_wait_cancel(event, deadline, LW_NULL);
}

/* Waits until it is set. Returns 0. */
LW_API int lw_event_wait(lw_event *event)
{
    return lw_event_wait_until(event, LW_FOREVER);
}

#ifdef __cplusplus
}
#endif

#endif
