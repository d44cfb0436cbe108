/*
 * cond.c: the condition's steps. The meaning of the words is in core/cond.h.
 *
 * Why no notify is lost.
 *
 *   1. A waiter counts itself and reads the sequence while it holds the mutex. The agent that makes
 *      the condition true holds the mutex after that, and notifies after that: it finds the waiter
 *      counted, and moves the sequence away from the value that the waiter has read.
 *   2. A notify first moves the sequence, or finds that another notify just has. Then it wakes. So
 *      a waiter that is not asleep yet will not fall asleep. A waiter that is asleep is in the
 *      queue, in front of all waiters that come after the move.
 *   3. A waiter that finds the sequence moved has been notified, whatever ended its wait. Even if
 *      it was cancelled or is late, it returns that it was notified, so that its caller looks at
 *      the condition.
 *   4. The wait of an async waiter cannot be withdrawn. A waiter that gives up leaves its wait in
 *      the queue, in front of others. It could pass on the notify that this wait consumes only when
 *      its event loop gets to it. So it first sets LEFT_BEHIND, and reads the sequence then. A
 *      notifier first moves the sequence, and reads LEFT_BEHIND then: one of the two sees what the
 *      other did. A notifier that sees LEFT_BEHIND wakes all waiters, and no wait is left behind
 *      any more.
 *
 * The mutex provides all memory orders, and no operation here has one of its own. What a waiter
 * does before it gives up the mutex comes before what a notifier does after it has taken the mutex.
 * What the notifier wrote, the waiter sees when it has the mutex again. Rule 4 needs sequential
 * consistency. In JavaScript and WebAssembly every operation has it; natively an async waiter can
 * withdraw its wait, and leaves none behind.
 */
#include <lockword/core/cond.h>

/* Adds n waiters, modulo 2^32: UINT32_MAX takes one off. */
static void add(lw_word *cond, uint32_t n)
{
    uint32_t seen = lw_load(&cond[LW_COND_WAITERS], lw_relaxed);
    uint32_t waiters;
    do {
        waiters = seen;
        seen = lw_cas(&cond[LW_COND_WAITERS], waiters, waiters + n, lw_relaxed);
    } while (seen != waiters);
}

uint32_t lw_cond_enter_step(lw_word *cond)
{
    add(cond, 1);
    return lw_load(&cond[LW_COND_SEQUENCE], lw_relaxed);
}

lw_answer lw_cond_wait_step(lw_word *cond, uint32_t sequence, uint32_t why, lw_phase phase)
{
    (void)phase;
    if (lw_gives_up(why) && why & LW_QUEUED) {
        uint32_t seen = lw_load(&cond[LW_COND_WAITERS], lw_relaxed);
        while (!(seen & LW_COND_LEFT_BEHIND)) {
            const uint32_t waiters = seen;
            seen =
                lw_cas(&cond[LW_COND_WAITERS], waiters, waiters | LW_COND_LEFT_BEHIND, lw_relaxed);
            if (seen == waiters)
                break;
        }
    }
    const bool notified = lw_load(&cond[LW_COND_SEQUENCE], lw_relaxed) != sequence;
    if (!notified && !lw_gives_up(why))
        return lw_answer_of(LW_WAIT_IDLE, LW_COND_SEQUENCE, 0, sequence);
    add(cond, UINT32_MAX);
    return lw_answer_of(notified ? LW_DONE : LW_GAVE_UP, 0, 0, 0);
}

/* Clears LEFT_BEHIND and returns whether it was set. */
static bool clear_left_behind(lw_word *cond)
{
    uint32_t seen = lw_load(&cond[LW_COND_WAITERS], lw_relaxed);
    while (seen & LW_COND_LEFT_BEHIND) {
        const uint32_t waiters = seen;
        seen = lw_cas(&cond[LW_COND_WAITERS], waiters, waiters & ~LW_COND_LEFT_BEHIND, lw_relaxed);
        if (seen == waiters)
            return true;
    }
    return false;
}

uint32_t lw_cond_notify_step(lw_word *cond, uint32_t n)
{
    if (n == 0 || (lw_load(&cond[LW_COND_WAITERS], lw_relaxed) & ~LW_COND_LEFT_BEHIND) == 0)
        return 0;
    const uint32_t sequence = lw_load(&cond[LW_COND_SEQUENCE], lw_relaxed);
    const uint32_t to_all = n == LW_ALL ? LW_COND_TO_ALL : 0;
    /* If this fails, another notify has just moved it, which waiters see as well. */
    lw_cas(&cond[LW_COND_SEQUENCE], sequence, ((sequence + 1) & ~LW_COND_TO_ALL) | to_all,
           lw_relaxed);
    const uint32_t found =
        lw_notify_both(&cond[LW_COND_SEQUENCE], clear_left_behind(cond) ? LW_ALL : n);
    return found < n ? found : n;
}
