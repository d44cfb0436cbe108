/*
 * permits.c: the steps of permits that have owners. The meaning of the words is in core/permits.h.
 *
 * Why no waiter is stranded:
 *
 *   1. A waiter reads the state, looks at all permits, marks the state that it read with its bit,
 *      and waits only while the state is the one that it marked. A release frees its permit first
 *      and then moves the state's sequence. So either the waiter sees the free permit, or the
 *      release sees the mark, or the wait does not begin.
 *   2. A release that sees the mark for threads notifies one thread. The mark stays, since only a
 *      notify that finds no thread shows that none is asleep. So as many threads are woken as
 *      permits become free, and a woken thread that finds none has lost it to a running one.
 *   3. When the mark goes, some may have fallen asleep since that notify. So the release notifies
 *      one more, which finds that the mark is gone: it sets the mark and waits again, or it takes a
 *      permit and notifies another one.
 *   4. A thread that may have consumed a notify, and gives up, notifies another one.
 *   5. The mark for event loops goes, and all of them are notified.
 */
#include <lockword/core/permits.h>
#include <lockword/core/waiters.h>

/* The phase's own bit: the caller has begun to wait, so that its phase is not 0. */
#define WAITS 0x0004u

/* The sequence's bits. Fewer are explored, so that there are fewer states. */
#ifndef GENERATIONS
#define GENERATIONS LW_PERMITS_SEQUENCE
#endif

uint32_t lw_permits_count(const lw_word *permits)
{
    const uint32_t count = lw_load(&permits[LW_PERMITS_COUNT], lw_unordered);
    return count > LW_PERMITS_MAX ? LW_PERMITS_MAX : count;
}

uint32_t lw_permits_of(const lw_word *permits, uint32_t owner)
{
    const uint32_t count = lw_permits_count(permits);
    uint32_t n = 0;
    for (uint32_t which = 0; which != count; which = which + 1) {
        /* Acquire: an agent that finds all of them free sees what their owners did before. */
        if (lw_load(&permits[LW_PERMITS_FIRST + which], lw_acquire) == owner)
            n = n + 1;
    }
    return n;
}

uint32_t lw_permits_find(const lw_word *permits, uint32_t owner)
{
    const uint32_t count = lw_permits_count(permits);
    for (uint32_t which = 0; which != count; which = which + 1) {
        if (lw_load(&permits[LW_PERMITS_FIRST + which], lw_relaxed) == owner)
            return which;
    }
    return LW_PERMITS_NONE;
}

uint32_t lw_permits_try_step(lw_word *permits, uint32_t self)
{
    const uint32_t count = lw_permits_count(permits);
    for (uint32_t which = 0; which != count; which = which + 1) {
        if (lw_load(&permits[LW_PERMITS_FIRST + which], lw_relaxed) == 0 &&
            lw_cas(&permits[LW_PERMITS_FIRST + which], 0, self, lw_acquire) == 0)
            return which;
    }
    return LW_PERMITS_NONE;
}

/* The end of a release: moves the sequence, and wakes a thread and all event loops. */
static void announce(lw_word *permits)
{
    uint32_t state;
    uint32_t next;
    bool wakes;
    do {
        /*
         * Acquire, in each round: whoever moves the state after another release also sees the
         * permit that this one freed.
         */
        state = lw_load(&permits[LW_PERMITS_STATE], lw_acquire);
        /* An agent that waits for all permits is woken by the last of these releases only. */
        wakes =
            !(state & LW_PERMITS_DRAINS) || lw_permits_of(permits, 0) == lw_permits_count(permits);
        next = (state & ~LW_PERMITS_SEQUENCE) | ((state + 1) & GENERATIONS);
        if (wakes)
            next &= ~(LW_PERMITS_DRAINS | LW_ASYNC_WAITERS);
        /* Acquire: pairs with the mark. */
    } while (lw_cas(&permits[LW_PERMITS_STATE], state, next, lw_acq_rel) != state);
    if (!wakes)
        return;
    if (state & LW_ASYNC_WAITERS)
        lw_notify_async(&permits[LW_PERMITS_GATE], LW_ALL);
    /* No thread was asleep. Some may be by the time that the mark goes: then one is woken. */
    if (state & LW_BLOCKED_WAITERS && lw_notify(&permits[LW_PERMITS_STATE], 1) == 0 &&
        lw_cas(&permits[LW_PERMITS_STATE], next, next & ~LW_BLOCKED_WAITERS, lw_relaxed) == next)
        lw_notify(&permits[LW_PERMITS_STATE], 1);
}

bool lw_permits_release_step(lw_word *permits, uint32_t which, uint32_t self)
{
    if (which >= lw_permits_count(permits) ||
        lw_load(&permits[LW_PERMITS_FIRST + which], lw_unordered) != self)
        return false;
    lw_store(&permits[LW_PERMITS_FIRST + which], 0, lw_release);
    announce(permits);
    return true;
}

/*
 * Takes back a reservation. Agents that it barred from the permits that are free may be asleep: as
 * many of them are woken as there are permits.
 */
static void withdraw(lw_word *permits)
{
    uint32_t seen = lw_load(&permits[LW_PERMITS_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        if (!(state & LW_PERMITS_RESERVED))
            return;
        seen = lw_cas(&permits[LW_PERMITS_STATE], state, state & ~LW_PERMITS_RESERVED, lw_relaxed);
    } while (seen != state);
    const uint32_t n = lw_permits_of(permits, 0);
    if (n != 0)
        lw_waiters_notify(permits, state, n);
}

static lw_answer give_up(lw_word *permits, lw_phase phase)
{
    if (lw_waiters_starves(phase))
        withdraw(permits);
    if (phase & LW_OWES)
        lw_notify(&permits[LW_PERMITS_STATE], 1);
    return lw_answer_of(LW_GAVE_UP, 0, 0, 0);
}

lw_answer lw_permits_acquire_step(lw_word *permits, uint32_t self, uint32_t why, lw_phase phase)
{
    const bool async = why & LW_ASYNC;
    /* A caller that has not waited has phase 0: that its time is up entitles it to nothing. */
    phase = phase ? lw_waiters_resume(phase, why) : 0;
    if ((why & LW_WHY) == LW_CANCELLED)
        return give_up(permits, phase);

    for (;;) {
        /* Acquire: the permits that were freed before this state are seen to be free. */
        const uint32_t state = lw_load(&permits[LW_PERMITS_STATE], lw_acquire);
        const bool is_barred = state & LW_PERMITS_RESERVED && !(phase & LW_ENTITLED);
        if (!is_barred) {
            const uint32_t which = lw_permits_try_step(permits, self);
            if (which != LW_PERMITS_NONE) {
                if (lw_waiters_unreserves(phase, why))
                    withdraw(permits);
                /* Rule 3. */
                if (phase & LW_OWES && !(state & LW_BLOCKED_WAITERS))
                    lw_notify(&permits[LW_PERMITS_STATE], 1);
                return lw_answer_of(LW_DONE, 0, 0, which);
            }
        }
        if ((why & LW_WHY) == LW_TIMED_OUT)
            return give_up(permits, phase);
        if (async && !(why & LW_QUEUED))
            return lw_answer_of(LW_QUEUE, LW_PERMITS_GATE, phase, 0);

        const bool is_free = is_barred && lw_permits_of(permits, 0) != 0;
        /* If an agent that waited for all permits gave up, its mark goes here. */
        const uint32_t marked = (state & ~LW_PERMITS_DRAINS) |
                                (async ? LW_ASYNC_WAITERS : LW_BLOCKED_WAITERS) |
                                (lw_waiters_starves(phase) ? LW_PERMITS_RESERVED : 0);
        /* Release: a release that sees the mark also sees the wait that was queued before it. */
        if (marked != state &&
            lw_cas(&permits[LW_PERMITS_STATE], state, marked, lw_release) != state)
            continue;
        return lw_answer_of(lw_waiters_way(phase, is_free),
                            async ? LW_PERMITS_GATE : LW_PERMITS_STATE, phase | WAITS,
                            async ? 0 : marked);
    }
}

lw_answer lw_permits_drain_step(lw_word *permits, uint32_t unused, uint32_t why, lw_phase phase)
{
    (void)unused;
    const uint32_t state = lw_load(&permits[LW_PERMITS_STATE], lw_acquire);
    if (lw_permits_of(permits, 0) == lw_permits_count(permits))
        return lw_answer_of(LW_DONE, 0, 0, 0);
    return lw_waiters_wait(permits, state, LW_PERMITS_DRAINS, LW_WAIT_IDLE, why, phase);
}

uint32_t lw_permits_bury_step(lw_word *permits, uint32_t dead)
{
    const uint32_t count = lw_permits_count(permits);
    uint32_t freed = 0;
    for (uint32_t which = 0; which != count; which = which + 1) {
        if (lw_load(&permits[LW_PERMITS_FIRST + which], lw_relaxed) == dead) {
            lw_store(&permits[LW_PERMITS_FIRST + which], 0, lw_release);
            freed = freed + 1;
        }
    }
    uint32_t seen = lw_load(&permits[LW_PERMITS_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        seen = lw_cas(&permits[LW_PERMITS_STATE], state, (state + 1) & GENERATIONS, lw_acq_rel);
    } while (seen != state);
    lw_waiters_notify(permits, LW_WAITERS, LW_ALL);
    return freed;
}
