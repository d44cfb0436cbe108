/*
 * sem.c: the semaphore's steps. The meaning of the words is in core/sem.h.
 *
 * A release wakes as many threads as it gives permits, and all event loops. A wake obliges
 * (core/waiters.h, rules 1 to 4). A thread that may have consumed a notify takes the last permit
 * with the mark set again, or takes a permit and notifies one thread more.
 *
 * A thread that needs more permits than it was woken for could consume a notify that would have
 * served another thread. So requests for several permits follow three rules more:
 *
 *   5. A request for several permits that has to wait claims them. So does an event loop whose wait
 *      ended in vain: to run takes it longer than a thread, so that a reservation, which is for all
 *      that waited, would not give it a permit. There is one claim at a time.
 *      The claimant sleeps at the state. If it is woken in vain, it passes the notify on before it
 *      sleeps again. As only one thread does that, two of them cannot wake each other without end.
 *      It also moves the ticket: if another thread takes the claim for its own, that one finds that
 *      it is not, and waits in line.
 *   6. While a claim stands, newcomers neither take permits nor sleep at the state. Threads sleep
 *      in line, at the claim; event loops stay at the gate. Only waiters that were at the state
 *      before the claim may still take. They are fewer with each permit that they take, so the
 *      claimant is overtaken at most once by each of them. One that starves reserves the permits
 *      from claimants, too: a claimant that a notify has woken leaves them to it, and waits
 *      briefly. Otherwise each next claim could be served before that waiter.
 *   7. The end of a claim wakes event loops, and the first thread in line. That thread owes the
 *      line a notify: it claims, and the mark of the line stays, or it notifies the next one when
 *      it has its permits, sleeps at the state, or gives up. The claim stays closed to newcomers
 *      meanwhile, so that they do not overtake the line. Where a CPU has several threads, one that
 *      was woken may have to wait for time slices of others before it wakes the next one. So a
 *      thread in line also re-checks, once for each wait there.
 *
 * The claimant may be a busy event loop, or it may have died. So a thread that finds enough permits
 * for the claim and for itself waits briefly, and so does an event loop that finds them by a
 * re-check. If the same claim stands beside so many permits when the brief wait is over, the waiter
 * takes it over. The claimant, if it is alive, finds another ticket, and begins again. While event
 * loops wait, a release wakes one in line, too, to look.
 */
#include <lockword/core/sem.h>
#include <lockword/core/waiters.h>

/*
 * The phase's own bits, by what the waiter waits for. The others are those of core/waiters.h.
 *
 *     bits          permits                    permits that it claimed      the end of a claim
 *     0-1           OWES, ENTITLED             OWES, ENTITLED               0
 *     2  CLAIMS     0                          1                            0
 *     3  BEHIND     0                          0                            1
 *     4-6           bit 4: WAITS               TICKET                       TICKET, if BESIDE
 *     8 on          waits in vain, re-checks   bits 9 on: how often its     bit 8: BESIDE
 *                                              ticket moved
 *
 * Bit 7, OWES_LINE, is set only while a step runs: from when a thread was woken in line until it
 * claims, or has passed the wake on.
 */
#define CLAIMS 0x0004u      /* has claimed */
#define BEHIND 0x0008u      /* waits behind a claim: a thread in line, an event loop at the gate */
#define TICKET 0x0070u      /* that of the claim's word, shifted */
#define WAITS 0x0010u       /* waits at the state, without a claim */
#define OWES_LINE 0x0080u   /* may have consumed a notify of the line */
#define BESIDE 0x0100u      /* waits briefly, beside the claim whose TICKET this is */
#define ONE_RENEWAL 0x0200u /* a claimant has moved its ticket once more */
#define TICKET_SHIFT 24u

/* The bits of a ticket that move. With fewer of them the explorer has fewer states. */
#ifndef TICKETS
#define TICKETS LW_SEM_TICKET
#endif

/* The highest count of these. Fewer are explored: with spurious wake-ups there would be no end. */
#ifndef MOST_RENEWALS
#define MOST_RENEWALS 0xfe00u
#endif

uint32_t lw_sem_permits(const lw_word *sem)
{
    return lw_load(&sem[LW_SEM_STATE], lw_relaxed) & LW_SEM_MAX;
}

bool lw_sem_try_step(lw_word *sem, uint32_t n)
{
    uint32_t seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    while ((seen & LW_SEM_MAX) >= n) {
        const uint32_t state = seen;
        seen = lw_cas(&sem[LW_SEM_STATE], state, state - n, lw_acquire);
        if (seen == state)
            return true;
    }
    return false;
}

static bool reserves(lw_phase phase)
{
    return !(phase & CLAIMS) && lw_waiters_starves(phase);
}

/*
 * Leaves so many permits in the state, and ends the waiter's own claim there, and the reservation
 * if `reserved` is its bit. If agents may now take what was barred from them, it notifies those
 * that the marks stand for. Returns what the state held: if it is not `state`, nothing has changed.
 */
static uint32_t change(lw_word *sem, uint32_t state, uint32_t left, uint32_t reserved,
                       lw_phase phase)
{
    const uint32_t owed = phase & LW_OWES ? LW_BLOCKED_WAITERS : 0;
    const uint32_t bars = reserved | (phase & CLAIMS ? LW_SEM_CLAIMED : 0);
    const uint32_t next = (state & ~(LW_SEM_MAX | bars)) | left | (left == 0 ? owed : 0);
    const uint32_t seen = lw_cas(&sem[LW_SEM_STATE], state, next, lw_acquire);
    if (seen == state && left != 0)
        lw_waiters_notify(sem, (state & bars ? state : 0) | owed, 1);
    return seen;
}

/*
 * Wakes the next thread in line, unless a claim stands, whose end does that. If no thread is asleep
 * there, the line ends. Then this function wakes those that have fallen asleep in between. A thread
 * that is about to fall asleep will find that the word has changed.
 */
static void pass_line(lw_word *sem)
{
    const uint32_t claim = lw_load(&sem[LW_SEM_CLAIM], lw_relaxed);
    if (!(claim & LW_SEM_LINE) || claim & LW_SEM_NEED || lw_notify(&sem[LW_SEM_CLAIM], 1) > 0)
        return;
    if (lw_cas(&sem[LW_SEM_CLAIM], claim, claim & ~LW_SEM_LINE, lw_relaxed) == claim)
        lw_notify(&sem[LW_SEM_CLAIM], LW_ALL);
}

/* Returns whether the claim that stands, or stood last, is the one with the phase's ticket. */
static bool is_claim_of(uint32_t claim, lw_phase phase)
{
    return (claim & LW_SEM_TICKET) == (phase & TICKET) << TICKET_SHIFT;
}

/*
 * Claims n permits, in place of the claim that the word held. Returns the phase's bits of the new
 * claim; 0 if the word holds another value by now.
 */
static lw_phase claim_after(lw_word *sem, uint32_t claim, uint32_t n)
{
    const uint32_t ticket = (claim + LW_SEM_ONE_TICKET) & TICKETS;
    const uint32_t mine = n | ticket | (claim & LW_SEM_LINE);
    return lw_cas(&sem[LW_SEM_CLAIM], claim, mine, lw_relaxed) == claim
               ? CLAIMS | ticket >> TICKET_SHIFT
               : 0;
}

/*
 * Moves the ticket of the waiter's claim, and returns the phase with the new one. The phase stays
 * if the word changes meanwhile, or if another waiter has taken the claim over, which the next step
 * finds out.
 */
static lw_phase renew(lw_word *sem, lw_phase phase)
{
    const uint32_t claim = lw_load(&sem[LW_SEM_CLAIM], lw_relaxed);
    const lw_phase mine =
        is_claim_of(claim, phase) ? claim_after(sem, claim, claim & LW_SEM_NEED) : 0;
    return mine ? ((phase & ~TICKET) | mine) + ONE_RENEWAL : phase;
}

/*
 * Wakes event loops that wait for the end of a claim, which has come. They hear of a release, but
 * that is before the claimant has its permits. Loops that were not told of the end would find one
 * claim after another, while those in line are told.
 *
 * The mark of event loops may be gone, by a release, when a loop waits that the claim must not
 * strand. The state's mark of the claim went before the claim ended. An event loop whose claim this
 * one had replaced, and that did not know it yet, may have set that mark again: it bars all, that
 * loop included, and only the next claim ends it. The loop may also have looked while this claim
 * stood, and wait for its end. So either the loop has to see that the claim has ended, or this the
 * mark. That this load stays behind the operation that ended the claim is what x86, ARM and
 * ECMAScript do with these orders; C promises it only of stronger ones.
 */
static void wake_loops(lw_word *sem)
{
    if (lw_load(&sem[LW_SEM_STATE], lw_acquire) & (LW_SEM_CLAIMED | LW_ASYNC_WAITERS))
        lw_notify_async(&sem[LW_SEM_GATE], LW_ALL);
}

/* Ends the operation: ends the waiter's claim, and pays what it owes the line. */
static lw_answer end(lw_word *sem, uint32_t what, uint32_t left, lw_phase phase)
{
    if (phase & CLAIMS) {
        uint32_t seen = lw_load(&sem[LW_SEM_CLAIM], lw_relaxed);
        while (is_claim_of(seen, phase)) {
            const uint32_t claim = seen;
            seen = lw_cas(&sem[LW_SEM_CLAIM], claim, claim & ~LW_SEM_NEED, lw_acq_rel);
            if (seen == claim) {
                wake_loops(sem);
                break;
            }
        }
    }
    if (phase & (CLAIMS | OWES_LINE))
        pass_line(sem);
    return lw_answer_of(what, 0, 0, left);
}

static lw_answer give_up(lw_word *sem, lw_phase phase)
{
    /* A caller that only looked has nothing to take back. */
    if (phase == 0)
        return lw_answer_of(LW_GAVE_UP, 0, 0, 0);
    uint32_t seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        seen = change(sem, state, state & LW_SEM_MAX, reserves(phase) ? LW_SEM_RESERVED : 0, phase);
    } while (seen != state);
    return end(sem, LW_GAVE_UP, 0, phase);
}

/*
 * Returns whether a waiter may claim when the claim's word holds this. If no claim stands, event
 * loops may, and threads that do not overtake the line. A claim can be taken over by a waiter that
 * waited briefly beside it and beside enough permits for both. `phase` is that of the wait.
 */
static bool may_claim(uint32_t claim, uint32_t state, uint32_t n, uint32_t why, lw_phase phase)
{
    const uint32_t permits = state & LW_SEM_MAX;
    if (!(claim & LW_SEM_NEED))
        return !(claim & LW_SEM_LINE) || why & LW_ASYNC || phase & BEHIND;
    return (why & LW_WHY) == LW_SLICE && phase & BESIDE && is_claim_of(claim, phase) &&
           permits >= n && permits >= (claim & LW_SEM_NEED);
}

/* Returns the phase of a caller that was resumed for this reason. */
static lw_phase resume(const lw_word *sem, lw_phase phase, uint32_t why)
{
    /* A caller that has not waited has phase 0: that its time is up entitles it to nothing. */
    if (phase == 0)
        return 0;
    const lw_phase resumed = lw_waiters_resume(phase, why);
    if (phase & BEHIND)
        return resumed & LW_OWES ? OWES_LINE : 0;
    if (!(phase & CLAIMS))
        return resumed;
    if (!is_claim_of(lw_load(&sem[LW_SEM_CLAIM], lw_relaxed), phase))
        return resumed & LW_OWES;
    /* A notify does not entitle it: rule 6. */
    const lw_phase kept = (why & LW_WHY) == LW_OK ? LW_OWES : LW_OWES | LW_ENTITLED;
    return (phase & ~LW_ENTITLED) | (resumed & kept);
}

lw_answer lw_sem_acquire_step(lw_word *sem, uint32_t n, uint32_t why, lw_phase phase)
{
    const bool async = why & LW_ASYNC;
    const lw_phase waited = phase;
    phase = resume(sem, phase, why);
    if ((why & LW_WHY) == LW_CANCELLED)
        return give_up(sem, phase);

    uint32_t seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    for (;;) {
        const uint32_t state = seen;
        const uint32_t permits = state & LW_SEM_MAX;
        const uint32_t bars = phase & CLAIMS ? LW_SEM_RESERVED : LW_SEM_RESERVED | LW_SEM_CLAIMED;
        const bool barred = n != 0 && state & bars && !(phase & LW_ENTITLED);
        if (permits >= n && !barred) {
            /* While a claimant waited briefly, nobody came for what was reserved. */
            const bool unreserves =
                phase & CLAIMS ? (why & LW_WHY) == LW_SLICE : lw_waiters_unreserves(phase, why);
            seen = change(sem, state, permits - n, unreserves ? LW_SEM_RESERVED : 0, phase);
            if (seen == state)
                return end(sem, LW_DONE, permits - n, phase);
            continue;
        }
        if ((why & LW_WHY) == LW_TIMED_OUT)
            return give_up(sem, phase);
        if (async && !(why & LW_QUEUED))
            return lw_answer_of(LW_QUEUE, LW_SEM_GATE, phase, 0);

        uint32_t claim = 0;
        /* It has to claim, or else to wait behind what stands there: rules 5 and 6. */
        const bool behind = !(phase & CLAIMS) && (n > 1 || (async && phase & LW_ENTITLED) ||
                                                  (state & LW_SEM_CLAIMED && !(phase & WAITS)));
        if (behind) {
            claim = lw_load(&sem[LW_SEM_CLAIM], lw_relaxed);
            if (may_claim(claim, state, n, why, waited)) {
                const lw_phase mine = claim_after(sem, claim, n);
                if (mine)
                    phase = (phase & LW_OWES) | mine;
                seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
                continue;
            }
        }

        /* Release: a release that sees the mark also sees the wait that was queued before it. */
        const uint32_t marked = state | (async ? LW_ASYNC_WAITERS : LW_BLOCKED_WAITERS) |
                                (phase & CLAIMS ? LW_SEM_CLAIMED : 0) |
                                (!behind && reserves(phase) && permits < n ? LW_SEM_RESERVED : 0);
        if (marked != state) {
            seen = lw_cas(&sem[LW_SEM_STATE], state, marked, lw_release);
            if (seen != state)
                continue;
        }
        if (phase & LW_OWES && permits > 0) {
            if (phase & CLAIMS && phase < MOST_RENEWALS)
                phase = renew(sem, phase);
            lw_notify(&sem[LW_SEM_STATE], 1);
        }
        if (behind) {
            const bool rechecks = (why & LW_WHY) == LW_SLICE;
            const bool is_beside = permits >= n && permits >= (claim & LW_SEM_NEED);
            const bool is_brief = is_beside && (rechecks || !async);
            const lw_phase beside = BESIDE | (claim & LW_SEM_TICKET) >> TICKET_SHIFT;
            const lw_phase at_claim = BEHIND | (is_brief ? beside : 0);
            const uint32_t way = is_brief            ? LW_WAIT_BRIEF
                                 : rechecks || async ? LW_WAIT_IDLE
                                                     : LW_WAIT;
            if (async)
                return lw_answer_of(way, LW_SEM_GATE, at_claim, 0);
            const uint32_t line = claim | LW_SEM_LINE;
            if (lw_cas(&sem[LW_SEM_CLAIM], claim, line, lw_relaxed) == claim)
                return lw_answer_of(way, LW_SEM_CLAIM, at_claim, line);
            seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
            continue;
        }
        if (phase & OWES_LINE)
            pass_line(sem);
        /* A claimant need not re-check: nobody overtakes it. */
        const bool is_idle = phase & CLAIMS && permits < n;
        const uint32_t way = is_idle ? (uint32_t)LW_WAIT_IDLE : lw_waiters_way(phase, permits >= n);
        const lw_phase at_state = (phase & ~(LW_OWES | OWES_LINE)) | (phase & CLAIMS ? 0 : WAITS);
        return lw_answer_of(way, async ? LW_SEM_GATE : LW_SEM_STATE, at_state, async ? 0 : marked);
    }
}

uint32_t lw_sem_release_step(lw_word *sem, uint32_t n)
{
    uint32_t seen = lw_load(&sem[LW_SEM_STATE], lw_relaxed);
    uint32_t state;
    do {
        state = seen;
        const uint32_t permits = state & LW_SEM_MAX;
        if (n > LW_SEM_MAX - permits)
            return LW_SEM_OVERFLOW;
        if (n == 0)
            return permits;
        /* Acquire: pairs with the mark, so that the notify below comes after the wait. */
        seen = lw_cas(&sem[LW_SEM_STATE], state, (state & ~LW_WAITERS) + n, lw_acq_rel);
    } while (seen != state);
    /* From here on the memory may be gone. */
    if (state & LW_ASYNC_WAITERS) {
        /* First: an event loop that is woken after a thread often waits for that thread's CPU. */
        lw_notify_async(&sem[LW_SEM_GATE], LW_ALL);
        /* The claimant may be a busy event loop. A thread in line looks whether it is. */
        if (state & LW_SEM_CLAIMED)
            lw_notify(&sem[LW_SEM_CLAIM], 1);
    }
    if (state & LW_BLOCKED_WAITERS)
        lw_notify(&sem[LW_SEM_STATE], n);
    return state & LW_SEM_MAX;
}

/*
 * If the claimant lives, it finds another ticket, and claims anew. The line ends, too: no claimant
 * owes it a notify now. Whoever was barred by the claim's mark in the state claims, and so ends it.
 */
void lw_sem_bury_step(lw_word *sem)
{
    uint32_t seen = lw_load(&sem[LW_SEM_CLAIM], lw_relaxed);
    uint32_t claim;
    do {
        claim = seen;
        if (!(claim & (LW_SEM_NEED | LW_SEM_LINE)))
            return;
        seen = lw_cas(&sem[LW_SEM_CLAIM], claim, (claim + LW_SEM_ONE_TICKET) & TICKETS, lw_relaxed);
    } while (seen != claim);
}
