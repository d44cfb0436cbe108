/* event.c: the event's steps. The meaning of the words is in core/event.h. */
#include <lockword/core/event.h>
#include <lockword/core/waiters.h>

uint32_t lw_event_state(const lw_word *event)
{
    return lw_load(&event[LW_EVENT_STATE], lw_acquire);
}

void lw_event_set_step(lw_word *event)
{
    uint32_t seen = lw_load(&event[LW_EVENT_STATE], lw_unordered);
    uint32_t state;
    do {
        /*
         * The generation moves even if the event is set already. This set releases all agents that
         * wait now, even if the event is reset at once.
         */
        state = seen;
        /* A generation that wraps is carried into the marks, which the change clears. */
        seen = lw_waiters_change(event, state, (state | LW_EVENT_SET) + LW_EVENT_ONE_GENERATION);
    } while (seen != state);
}

bool lw_event_reset_step(lw_word *event)
{
    uint32_t seen = lw_load(&event[LW_EVENT_STATE], lw_unordered);
    if (!(seen & LW_EVENT_SET))
        seen = lw_load(&event[LW_EVENT_STATE], lw_relaxed);
    while (seen & LW_EVENT_SET) {
        const uint32_t state = seen;
        seen = lw_cas(&event[LW_EVENT_STATE], state, state & ~LW_EVENT_SET, lw_acq_rel);
        if (seen == state)
            return true;
    }
    return false;
}

lw_answer lw_event_wait_step(lw_word *event, uint32_t since, uint32_t why, lw_phase phase)
{
    uint32_t seen = lw_load(&event[LW_EVENT_STATE], lw_acquire);
    if (seen & LW_EVENT_AUTO) {
        while (seen & LW_EVENT_SET) {
            const uint32_t state = seen;
            seen = lw_cas(&event[LW_EVENT_STATE], state, state & ~LW_EVENT_SET, lw_acquire);
            if (seen == state)
                return lw_answer_of(LW_DONE, 0, 0, 0);
        }
    } else if ((seen | since) & LW_EVENT_SET || (seen ^ since) & LW_EVENT_GENERATION) {
        return lw_answer_of(LW_DONE, 0, 0, 0);
    }
    return lw_waiters_wait(event, seen, 0, LW_WAIT_IDLE, why, phase);
}
