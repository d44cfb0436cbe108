/*
 * once.h: something that is done exactly once, by whoever needs it first.
 *
 *     static lw_once once = LW_ONCE_INIT;                 // or any zeroed memory
 *
 *     if (lw_once_begin(&once) == LW_ONCE_RUN)
 *         lw_once_finish(&once, load_tables());           // true: done for good; false: the next one tries
 *     use_tables();
 *
 * Others wait until the runner has finished. If it failed, one of them runs next. What the runner wrote is seen by everybody whom
 * begin lets pass, and what a runner wrote that failed by the one that runs next. Any number may wait. Once it is done, begin is
 * one load.
 *
 * A runner that dies without finishing leaves the others waiting, until whoever knows of its death says so with lw_once_abandon.
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

/* What lw_once_begin answers to the one who has to run it. */
#define LW_ONCE_RUN (-1)

/* The half of the functions below that waits; call those. *run: it is the caller's turn. */
enum lw_ending lw_once_begin_slow(lw_once *once, lw_deadline deadline, lw_cancel *cancel, bool *run);

/*
 * Waits until it has been run, or until it is the caller's turn, or the deadline has passed, or `cancel` (NULL: never) has fired.
 * 0: it has been run; LW_ONCE_RUN: the caller has to, and then to call lw_once_finish; EDEADLK: the caller is running it;
 * ETIMEDOUT; ECANCELED.
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

/* The same, without a way to cancel it. 0; LW_ONCE_RUN; EDEADLK; ETIMEDOUT. */
LW_API int lw_once_begin_until(lw_once *once, lw_deadline deadline)
{
    return lw_once_begin_cancel(once, deadline, LW_NULL);
}

/* The same, for as long as it takes. 0; LW_ONCE_RUN; EDEADLK. */
LW_API int lw_once_begin(lw_once *once)
{
    return lw_once_begin_until(once, LW_FOREVER);
}

/* The caller has run it; if it did not succeed, the next one will try. Never waits. 0; EPERM: the caller was not to run it. */
LW_API int lw_once_finish(lw_once *once, bool success)
{
    LW_NOTE_RELEASE(once->word);
    return lw_once_end_step(once->word, lw_self(), success) ? 0 : EPERM;
}

/* Whether it has been run. If so, what the runner wrote is seen. */
LW_API bool lw_once_is_done(const lw_once *once)
{
    LW_NOTE_USE(once->word);
    const bool done = lw_once_ran(once->word);
    if (done)
        LW_NOTE_ACQUIRE(once->word);
    return done;
}

/* Who runs it right now, an agent id; 0: nobody. */
LW_API uint32_t lw_once_running(const lw_once *once)
{
    return lw_once_runner(once->word);
}

/* The agent `runner` has died while it ran it: the next one will try. 0; EPERM: that agent does not run it. */
LW_API int lw_once_abandon(lw_once *once, uint32_t runner)
{
    LW_NOTE_RELEASE(once->word);
    return lw_once_end_step(once->word, runner, false) ? 0 : EPERM;
}

#ifdef __cplusplus
}
#endif

#endif
