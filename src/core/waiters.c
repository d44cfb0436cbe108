/* waiters.c: how primitives wait and wake. Why this is enough: core/waiters.h. */
#include <lockword/core/waiters.h>

/*
 * How many waits may end in vain before a thread starves. Natively it usually does so sooner, after
 * a slice (src/wait/awake.h), and no measurement tells 1 from 32. In an engine slices are long. An
 * event loop starves after one: docs/experiments.md, 'When an event loop reserves'.
 */
#ifndef MAX_FAILED_WAITS
#define MAX_FAILED_WAITS 8u
#endif

/*
 * How often a starving waiter re-checks before it sleeps until it is woken. Its driver makes each
 * of these waits longer than the one before. Re-checks give unlucky waiters their share beside busy
 * threads. No waiter needs one in order to be woken (verify/README.md).
 */
#ifndef MAX_RECHECKS
#define MAX_RECHECKS 7u
#endif

/*
 * From this count on, the waiter starves. One more than may end in vain: the wait that has just
 * ended is counted before its step knows whether it was in vain.
 */
#define STARVES ((MAX_FAILED_WAITS + 1) * LW_ONE_FAILED_WAIT)
/* The highest count: the waiter re-checks no more. So the count never wraps. */
#define RESTS (STARVES + MAX_RECHECKS * LW_ONE_FAILED_WAIT)

void lw_waiters_notify(lw_word *words, uint32_t state, uint32_t threads)
{
    if (state & LW_BLOCKED_WAITERS)
        lw_notify(&words[LW_WAITERS_STATE], threads);
    if (state & LW_ASYNC_WAITERS)
        lw_notify_async(&words[LW_WAITERS_GATE], LW_ALL);
}

lw_answer lw_waiters_wait(lw_word *words, uint32_t seen, uint32_t mark, uint32_t way, uint32_t why,
                          lw_phase phase)
{
    const bool async = why & LW_ASYNC;
    if (lw_gives_up(why))
        return lw_answer_of(LW_GAVE_UP, 0, 0, 0);
    if (async && !(why & LW_QUEUED))
        return lw_answer_of(LW_QUEUE, LW_WAITERS_GATE, phase, 0);
    const uint32_t marked = seen | mark | (async ? LW_ASYNC_WAITERS : LW_BLOCKED_WAITERS);
    /* Release: an agent that sees the mark also sees the wait that was queued before it. */
    if (marked != seen && lw_cas(&words[LW_WAITERS_STATE], seen, marked, lw_release) != seen)
        return lw_answer_of(LW_RETRY, 0, phase, 0);
    return lw_answer_of(way, async ? LW_WAITERS_GATE : LW_WAITERS_STATE, phase, async ? 0 : marked);
}

uint32_t lw_waiters_change(lw_word *words, uint32_t seen, uint32_t next)
{
    /* Acquire: pairs with the mark. Release: a waiter that this wakes sees what was done before. */
    const uint32_t found = lw_cas(&words[LW_WAITERS_STATE], seen, next & ~LW_WAITERS, lw_acq_rel);
    /* From here on the memory may be gone. */
    if (found == seen && seen & LW_WAITERS)
        lw_waiters_notify(words, seen, LW_ALL);
    return found;
}

bool lw_waiters_starves(lw_phase phase)
{
    return phase >= STARVES;
}

bool lw_waiters_unreserves(lw_phase phase, uint32_t why)
{
    return lw_waiters_starves(phase) || (why & LW_WHY) == LW_NOT_EQUAL;
}

lw_phase lw_waiters_resume(lw_phase phase, uint32_t why)
{
    const uint32_t reason = why & LW_WHY;
    if (reason == LW_START || (reason == LW_AGAIN && phase < LW_ONE_FAILED_WAIT))
        return phase;
    const uint32_t owed =
        why & LW_ASYNC || reason == LW_NOT_EQUAL || reason == LW_TIMED_OUT ? 0 : LW_OWES;
    phase = owed | LW_ENTITLED | (phase & ~LW_OWES);
    /*
     * A waiter that does not starve yet: LW_OK and LW_NOT_EQUAL, which are less than LW_SLICE, end
     * one wait more. LW_SLICE, and LW_AGAIN, for an event loop that was woken in vain and has
     * queued again, make it starve at once. One that starves already counts nothing but LW_SLICE.
     */
    if (!lw_gives_up(why) && !lw_waiters_starves(phase))
        return reason < LW_SLICE ? phase + LW_ONE_FAILED_WAIT
                                 : STARVES | (phase & (LW_ONE_FAILED_WAIT - 1));
    return reason == LW_SLICE && phase < RESTS ? phase + LW_ONE_FAILED_WAIT : phase;
}

uint32_t lw_waiters_way(lw_phase phase, bool is_free)
{
    return is_free ? LW_WAIT_BRIEF : phase < RESTS ? LW_WAIT : LW_WAIT_IDLE;
}
