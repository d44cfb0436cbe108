/*
 * blocking.c: the driver of everything that blocks.
 *
 * To wait for one of several operations, a thread runs the step of each, sleeps on all the words
 * that they name, and begins again. An lw_cancel is one more operation, which waits for an event.
 *
 * The waiting policy (wait/awake.h) decides how long to spin before a sleep, and how long a sleep
 * lasts; for a region's words, region/care.h limits that.
 */
#include "blocking.h"

#include "region/care.h"
#include "wait/awake.h"

#if LW_LINUX
const struct lw_carer *lw_carer;
#endif

/*
 * Returns how long a sleep may last before the step is run again, ns. `way` is how to wait: what
 * the step has returned, for the reason `why`. A waiter that has just re-checked has reserved the
 * lock by that, so that the waiters are served in order. Its turn comes without another re-check,
 * unless busy threads keep those before it from running.
 */
static int64_t patience(uint32_t way, uint32_t why, int64_t slice_ns)
{
    const bool rests = why == LW_SLICE && !lw_is_beside_busy_threads();
    return way == LW_WAIT_BRIEF           ? LW_BRIEF_NS
           : way == LW_WAIT_IDLE || rests ? LW_IDLE_NS
                                          : slice_ns;
}

/* Runs the step, and again at once if the word has just changed. */
static lw_answer run(const struct lw_operation *operation, uint32_t why, uint16_t *phase)
{
    lw_answer answer;
    do {
        answer = operation->step(operation->words, operation->wanted, why, *phase);
        *phase = (uint16_t)lw_answer_phase(answer);
    } while (lw_answer_what(answer) == LW_RETRY);
    return answer;
}

/*
 * Runs each operation's step once, for this reason. Returns true if all have to wait: `waited`
 * holds the words, `way` how to wait (LW_WAIT_BRIEF if one waits briefly, LW_WAIT_IDLE if all are
 * idle). Returns false if an operation has ended, or if the time is up, with the outcome in `end`.
 */
static bool run_all(const struct lw_operation *operations, uint32_t n, uint32_t why,
                    uint16_t *phases, struct lw_waited *waited, uint32_t *way, struct lw_end *end)
{
    *way = LW_WAIT_IDLE;
    for (uint32_t i = 0; i < n; i++) {
        const lw_answer answer = run(&operations[i], why, &phases[i]);
        const uint32_t what = lw_answer_what(answer);
        if (what < LW_WAIT) {
            *end = (struct lw_end){lw_ending_of(what), i, lw_answer_expected(answer)};
            /* An operation that gives up at the deadline leaves the others their last attempt. */
            if (what != LW_GAVE_UP)
                return false;
            continue;
        }
        waited[i] = (struct lw_waited){&operations[i].words[lw_answer_word(answer)],
                                       lw_answer_expected(answer)};
        if (*way != LW_WAIT_BRIEF && what != LW_WAIT_IDLE)
            *way = what;
    }
    return why != LW_TIMED_OUT;
}

/* Returns whether the lw_cancel that this operation waits for has fired. */
static bool is_fired(const struct lw_operation *operation)
{
    return lw_event_state(operation->words) & LW_EVENT_SET;
}

/*
 * Sleeps on n words, but `longest` ns at most, and returns the reason for which to run the steps
 * then. A sleep that timed out before the deadline was for a re-check. `look_ns` is lw_wait_many's.
 */
static uint32_t sleep_on(struct lw_waited *waited, uint32_t n, int64_t longest,
                         lw_deadline deadline, int64_t *look_ns, lw_deadline *since,
                         bool *looked_for_dead)
{
    uint32_t words; /* n, and one more if a death in a region is to end the sleep */
    const struct lw_care care = lw_care_begin(waited, n, &words, since);
    lw_deadline recheck = longest == LW_FOREVER ? LW_FOREVER : lw_now() + longest;
    recheck = recheck < care.look ? recheck : care.look;
    const lw_deadline until = recheck < deadline ? recheck : deadline;
    const lw_woken woken = words == 1 ? lw_wait(waited[0].word, waited[0].expected, until)
                                      : lw_wait_many(waited, words, until, look_ns);
    *looked_for_dead = lw_care_end(&care, waited, n);
    return woken == LW_TIMED_OUT && until != deadline ? LW_SLICE : (uint32_t)woken;
}

/*
 * Of n operations the last `cancels` wait for lw_cancels. At the deadline only the others have a
 * last attempt. If a cancel counted then, too, an operation that has just given up would be run
 * again to be cancelled: a barrier's step would find the barrier broken, and not know that its own
 * caller broke it. `held`, if it is not NULL, is the lock that the first operation waits for.
 */
static struct lw_end block(const struct lw_held *held, const struct lw_operation *operations,
                           uint32_t n, uint32_t cancels, lw_deadline deadline, uint16_t *phases)
{
    struct lw_waited waited[LW_BLOCK_MAX + 1];
    /* For gcc, which does not know that no step gives up before the deadline. */
    waited[0] = (struct lw_waited){NULL, 0};
    struct lw_end end = {LW_ENDED_TIMED_OUT, 0, 0};
    uint32_t way;
    int64_t slice_ns = LW_SLICE_NS;
    int64_t look_ns = LW_LOOK_NS;
    lw_deadline since = 0; /* lw_care_begin's */
    uint32_t why = LW_START;
    int wakes = 0; /* by a notify; all but the last one were in vain */
    while (run_all(operations, why == LW_TIMED_OUT ? n - cancels : n, why, phases, waited, &way,
                   &end)) {
        const int64_t longest = patience(way, why, slice_ns);
        bool looked_for_dead;
        why = sleep_on(waited, n, longest, deadline, &look_ns, &since, &looked_for_dead);
        /*
         * A waiter that was woken spins until the lock is free, and runs its step only then.
         * Meanwhile it keeps the notify that it may have consumed. In three cases it does not spin.
         * What a dead holder had is free, or about to be freed by a thread that needs this CPU. A
         * waiter that slept at another word than the state stood in line there (core/sem.c): the
         * next one in line waits until its step has run. And one that was cancelled gives up.
         */
        const bool stood_in_line = waited[0].word != operations[0].words;
        if (held && !looked_for_dead && !stood_in_line && (why == LW_OK || why == LW_NOT_EQUAL) &&
            !(cancels && is_fired(&operations[n - 1])))
            lw_spin_until_free(held, operations[0].words, operations[0].wanted,
                               why == LW_OK ? ++wakes : 0, deadline);
        if (why == LW_SLICE && slice_ns <= LW_IDLE_NS / 2)
            slice_ns *= 2;
    }
    return end;
}

/*
 * Runs the step of an operation that has been cancelled: it clears its marks and claims, and passes
 * on a notify that it may have consumed. If it succeeds at this moment, it has succeeded: no permit
 * may be lost because a cancel came at the same time.
 */
static struct lw_end cancelled(const struct lw_operation *operation, uint16_t phase)
{
    const lw_answer answer = run(operation, LW_CANCELLED, &phase);
    const bool done = lw_answer_what(answer) == LW_DONE;
    return (struct lw_end){done ? LW_ENDED_DONE : LW_ENDED_CANCELLED, 0,
                           lw_answer_expected(answer)};
}

/*
 * One of n operations has ended. The others that remember something withdraw it: they may owe a
 * notify, or have claimed what they wait for. An operation that gave up at the deadline has done so
 * already.
 */
static void withdraw(const struct lw_operation *operations, uint32_t n, const struct lw_end *end,
                     const uint16_t *phases)
{
    for (uint32_t i = 0; n > 1 && end->ending == LW_ENDED_DONE && i < n; i++) {
        if (i != end->index && phases[i])
            cancelled(&operations[i], phases[i]);
    }
}

bool lw_spin(struct lw_operation operation, lw_deadline deadline, struct lw_end *end)
{
    struct lw_tries tries = {0};
    uint16_t phase = 0;
    struct lw_waited waited;
    uint32_t way;
    while (lw_may_try_again(&tries, deadline)) {
        *end = (struct lw_end){LW_ENDED_TIMED_OUT, 0, 0};
        run_all(&operation, 1, LW_TIMED_OUT, &phase, &waited, &way, end);
        if (end->ending != LW_ENDED_TIMED_OUT)
            return true;
    }
    return false;
}

/* `held` as above; with it, there is one operation. */
static struct lw_end block_any(const struct lw_held *held, struct lw_operation *operations,
                               uint32_t n, lw_deadline deadline, lw_cancel *cancel)
{
    uint16_t phases[LW_BLOCK_MAX] = {0};
    if (!cancel) {
        const struct lw_end end = block(held, operations, n, 0, deadline, phases);
        withdraw(operations, n, &end, phases);
        return end;
    }
    operations[n] = (struct lw_operation){lw_event_wait_step, cancel->word, 0};
    struct lw_end end = block(held, operations, n + 1, 1, deadline, phases);
    if (end.index < n || end.ending != LW_ENDED_DONE) {
        withdraw(operations, n, &end, phases);
        return end;
    }
    if (n == 1)
        return cancelled(&operations[0], phases[0]);
    withdraw(operations, n, &end, phases);
    end.ending = LW_ENDED_CANCELLED;
    return end;
}

struct lw_end lw_block_any(struct lw_operation *operations, uint32_t n, lw_deadline deadline,
                           lw_cancel *cancel)
{
    return block_any(NULL, operations, n, deadline, cancel);
}

struct lw_end lw_block(struct lw_operation operation, lw_deadline deadline, lw_cancel *cancel)
{
    struct lw_operation operations[2] = {operation};
    return block_any(NULL, operations, 1, deadline, cancel);
}

struct lw_end lw_spin_then_block(struct lw_operation operation, lw_deadline deadline,
                                 lw_cancel *cancel)
{
    struct lw_end end;
    return lw_spin(operation, deadline, &end) ? end : lw_block(operation, deadline, cancel);
}

#if !LW_ENGINE
struct lw_end lw_hold_slow(const struct lw_held *held, struct lw_operation operation,
                           lw_deadline deadline, lw_cancel *cancel)
{
    struct lw_end end = {LW_ENDED_DONE, 0, 0};
    if (lw_spin_for(held, operation.words, operation.wanted, deadline, &end.result))
        return end;
    struct lw_operation operations[2] = {operation};
    return block_any(held, operations, 1, deadline, cancel);
}

/* A thread that was woken would lose what it has not claimed yet to newcomers if it spun first. */
struct lw_end lw_claim(const struct lw_held *held, struct lw_operation operation,
                       lw_deadline deadline, lw_cancel *cancel)
{
    struct lw_end end = {LW_ENDED_DONE, 0, 0};
    if (lw_take_soon(held, operation.words, operation.wanted, deadline, &end.result))
        return end;
    return lw_block(operation, deadline, cancel);
}
#endif
