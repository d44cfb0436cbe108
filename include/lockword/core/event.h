/*
 * core/event.h: the event's two words.
 *
 *     word 0, state   bit 0       SET
 *                     bit 1       AUTO        a wait that succeeds resets it; chosen once, when the event is made
 *                     bits 2-29   GENERATION  how often it has been set, modulo 2^28
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 *
 * A waiter of a manual event is done when it is set, or has been since the waiter came: a set that is reset at once releases
 * everybody who waited then. It would take 2^28 sets between a waiter's wake and its look for it to miss them.
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

/* The state right now: what lw_event_wait_step has to be told. */
uint32_t lw_event_state(const lw_word *event);

/* Sets it: all waiters of a manual event are released, one waiter of an automatic one. */
void lw_event_set_step(lw_word *event);

/* Resets it, and answers whether it was set. */
bool lw_event_reset_step(lw_word *event);

/* A step: waits until it is set, or has been since the state `since` was read. Resets an automatic event. */
lw_answer lw_event_wait_step(lw_word *event, uint32_t since, uint32_t why, lw_phase phase);

#ifdef __cplusplus
}
#endif

#endif
