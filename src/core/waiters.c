/*
 * waiters.c: how every primitive but the mutex waits and wakes. Why this is enough: core/waiters.h.
 */
#include <lockword/core/waiters.h>

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
    if (found == seen) {
        /* From here on the memory may be gone. */
        if (seen & LW_BLOCKED_WAITERS)
            lw_notify(&words[LW_WAITERS_STATE], LW_ALL);
        if (seen & LW_ASYNC_WAITERS)
            lw_notify_async(&words[LW_WAITERS_GATE], LW_ALL);
    }
    return found;
}
