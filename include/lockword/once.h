/*
 * once.h: runs something exactly once, in the thread that needs it first.
 *
 *     static lw_once once = LW_ONCE_INIT;      // or any zeroed memory
 *
 *     if (lw_once_begin(&once) == LW_ONCE_RUN)
 *         lw_once_finish(&once, load_tables());  // false: the next thread tries
 *     use_tables();
 *
 * Other threads wait until the runner has finished. If it failed, one of them runs next. All
 * threads that begin lets pass see what the runner wrote; the next runner sees what a failed one
 * wrote. Any number of threads may wait. Once the work is done, begin is one load.
 *
 * A runner that dies without finishing leaves the others waiting, until a thread that knows of its
 * death calls lw_once_abandon. The once may be freed when no call runs.
 */
#ifndef LOCKWORD_ONCE_H
#define LOCKWORD_ONCE_H

#include <lockword/annotate.h>
#include <lockword/api.h>
#include <lockword/cancel.h>
#include <lockword/core/once.h>
#include <lockword/errors.h>
#include <lockword/self.h>
#include <lockword/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lw_once {
    lw_word word[LW_ONCE_WORDS];
} lw_once;

/* clang-format off */
#define LW_ONCE_INIT {{0}}
/* clang-format on */

/* What lw_once_begin returns to the caller that has to run it. */
#define LW_ONCE_RUN (-1)

/*
 * The half of the functions below that waits. Call those functions instead. *run says whether it is
 * the caller's turn to run it.
 */
enum lw_ending lw_once_begin_slow(lw_once *once, lw_deadline deadline, lw_cancel *cancel,
                                  bool *run);

/*
 * Waits until it has been run, or until it is the caller's turn, or the deadline has passed, or
 * `cancel` has fired (NULL: never). Returns 0: it has been run; LW_ONCE_RUN: the caller has to run
 * it, and then to call lw_once_finish; EDEADLK: the caller is running it; ETIMEDOUT; ECANCELED.
 */
LW_API int lw_once_begin_cancel(lw_once *once, lw_deadline deadline, lw_cancel *cancel)
{
    LW_NOTE_USE(once->word);
    if (__builtin_expect(lw_once_ran(once->word), 1)) {
        LW_NOTE_ACQUIRE(once->word);
        return 0;
    }
    bool run = false;
    const int error = lw_error_of(lw_once_begin_slow(once, deadline, cancel, &run));
    LW_NOTE_WAITED(once->word, error, cancel);
    return run ? LW_ONCE_RUN : error;
}

/* The same without a cancel. Returns 0, LW_ONCE_RUN, EDEADLK or ETIMEDOUT. */
LW_API int lw_once_begin_until(lw_once *once, lw_deadline deadline)
{
    return lw_once_begin_cancel(once, deadline, LW_NULL);
}

/* The same without a limit. Returns 0, LW_ONCE_RUN or EDEADLK. */
LW_API int lw_once_begin(lw_once *once)
{
    return lw_once_begin_until(once, LW_FOREVER);
}

/*
 * Ends the caller's run. If it did not succeed, the next caller of begin runs it. Never waits.
 * Returns 0; EPERM: the caller was not running it.
 */
LW_API int lw_once_finish(lw_once *once, bool success)
{
    LW_NOTE_RELEASE(once->word);
    return lw_once_end_step(once->word, lw_self(), success) ? 0 : EPERM;
}

/* Returns whether it has been run. If so, the caller sees what the runner wrote. */
LW_API bool lw_once_is_done(const lw_once *once)
{
    LW_NOTE_USE(once->word);
    const bool done = lw_once_ran(once->word);
    if (done)
        LW_NOTE_ACQUIRE(once->word);
    return done;
}

/* Returns the id of the agent that runs it right now, or 0. */
LW_API uint32_t lw_once_running(const lw_once *once)
{
    return lw_once_runner(once->word);
}

/*
 * Says that the agent `runner` died while it ran it, so that the next caller of begin runs it.
 * Returns 0; EPERM: that agent does not run it.
 */
LW_API int lw_once_abandon(lw_once *once, uint32_t runner)
{
    LW_NOTE_RELEASE(once->word);
    return lw_once_end_step(once->word, runner, false) ? 0 : EPERM;
}

#ifdef __cplusplus
}
#endif

#endif
