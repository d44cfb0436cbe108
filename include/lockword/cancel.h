/*
 * cancel.h: ends waits of other threads, for any primitive.
 *
 *     static lw_cancel shutdown = LW_CANCEL_INIT;                  // or any zeroed memory
 *
 *     error = lw_mutex_lock_cancel(&lock, LW_FOREVER, &shutdown);  // ECANCELED once it has fired
 *     lw_cancel_fire(&shutdown);                                   // in another thread, or before
 *
 * Every operation that has a form with a deadline also has one that takes an lw_cancel; the one
 * that comes first ends the wait. An operation that need not wait succeeds even under an lw_cancel
 * that has fired. Any number of waits, on any primitives, may share one. It stays fired for good.
 * It may be freed when no call runs that fires it or waits under it.
 */
#ifndef LOCKWORD_CANCEL_H
#define LOCKWORD_CANCEL_H

#include <stddef.h>

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/core/event.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_cancel {
    lw_word word[LW_EVENT_WORDS];
} lw_cancel;

/* clang-format off */
#define LW_CANCEL_INIT {{0}}
/* clang-format on */

/*
 * Ends all waits under it, and no others. Threads that come later do not wait at all. May be called
 * any number of times.
 *
 * It wakes the threads at once. In WebAssembly, and in a wait for a region's lock before Linux
 * 5.16, it does not: there a waiter looks at its lw_cancel after 4 ms (natively 1), and after twice
 * as long each time, up to a second. Before Linux 5.16 it also wakes threads that wait under other
 * lw_cancels, or for several things, which sleep again.
 */
LW_API void lw_cancel_fire(lw_cancel *cancel)
{
    LW_NOTE_RELEASE(cancel->word);
    lw_event_set_step(cancel->word);
}

/* Returns whether it has fired. A caller that gets true sees all that was written before. */
LW_API bool lw_cancel_fired(const lw_cancel *cancel)
{
    LW_NOTE_USE(cancel->word);
    const bool fired = (lw_event_state(cancel->word) & LW_EVENT_SET) != 0;
    if (fired)
        LW_NOTE_ACQUIRE(cancel->word);
    return fired;
}

#ifdef __cplusplus
}
#endif

#endif
