/*
 * core/event.h: the event's two words.
 *
 *     word 0, state   bit 0       SET
 *                     bit 1       AUTO        a wait that succeeds resets the event; chosen once,
 *                                             when the event is made
 *                     bits 2-29   GENERATION  how often the event has been set, modulo 2^28
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 *
 * The wait for a manual event ends if the event is set, or has been set since the waiter came. So a
 * set that is reset at once releases all agents that waited then. A waiter would miss that only if
 * 2^28 sets fell between its wake and its look.
 */
#ifndef LOCKWORD_CORE_EVENT_H
#define LOCKWORD_CORE_EVENT_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_EVENT_STATE = 0,
    LW_EVENT_GATE = 1,
    LW_EVENT_WORDS = 2,
};

#define LW_EVENT_SET 0x1u
#define LW_EVENT_AUTO 0x2u
#define LW_EVENT_ONE_GENERATION 0x4u
#define LW_EVENT_GENERATION 0x3ffffffcu

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the state of this moment, to be passed to lw_event_wait_step. */
uint32_t lw_event_state(const lw_word *event);

/*
 * Sets the event. This releases all waiters of a manual event, or one waiter of an automatic one.
 */
void lw_event_set_step(lw_word *event);

/* Resets the event, and returns whether it was set. */
bool lw_event_reset_step(lw_word *event);

/*
 * A step: waits until the event is set, or has been set since the state `since` was read. Resets an
 * automatic event.
 */
lw_answer lw_event_wait_step(lw_word *event, uint32_t since, uint32_t why, lw_phase phase);

#ifdef __cplusplus
}
#endif

#endif
