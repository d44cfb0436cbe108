/*
 * event.c: the event's steps. The meaning of the words is in core/event.h.
 *
 * Printed by `make core` from src/core/event.c and include/lockword/core/event.h: do not edit.
 */

import { waitersChange, waitersWait } from './waiters.js';
import {
  LW_DONE,
  LW_EVENT_AUTO,
  LW_EVENT_GENERATION,
  LW_EVENT_SET,
  LW_EVENT_STATE,
  LW_WAIT_IDLE,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * Returns the state of this moment, to be passed to eventWaitStep.
 *
 * @param {Words} event
 * @returns {number}
 */
export function eventState(event) {
  return Atomics.load(event, LW_EVENT_STATE);
}

/**
 * Sets the event. This releases all waiters of a manual event, or one waiter of an automatic one.
 *
 * @param {Words} event
 */
export function eventSetStep(event) {
  const LW_EVENT_STATE = 0;
  const LW_EVENT_SET = 0x1;
  const LW_EVENT_ONE_GENERATION = 0x4;

  let seen = event[LW_EVENT_STATE];
  let state;
  do {
    // The generation moves even if the event is set already. This set releases all agents that
    // wait now, even if the event is reset at once.
    state = seen;
    // A generation that wraps is carried into the marks, which the change clears.
    seen = waitersChange(event, state, ((state | LW_EVENT_SET) + LW_EVENT_ONE_GENERATION) | 0);
  } while (seen !== state);
}

/**
 * Resets the event, and returns whether it was set.
 *
 * @param {Words} event
 * @returns {boolean}
 */
export function eventResetStep(event) {
  const LW_EVENT_STATE = 0;
  const LW_EVENT_SET = 0x1;

  let seen = event[LW_EVENT_STATE];
  if (!(seen & LW_EVENT_SET)) seen = Atomics.load(event, LW_EVENT_STATE);
  while (seen & LW_EVENT_SET) {
    const state = seen;
    seen = Atomics.compareExchange(event, LW_EVENT_STATE, state, state & ~LW_EVENT_SET);
    if (seen === state) return true;
  }
  return false;
}

/**
 * A step: waits until the event is set, or has been set since the state `since` was read. Resets an
 * automatic event.
 *
 * @param {Words} event
 * @param {number} since
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function eventWaitStep(event, since, why, phase) {
  let seen = Atomics.load(event, LW_EVENT_STATE);
  if (seen & LW_EVENT_AUTO) {
    while (seen & LW_EVENT_SET) {
      const state = seen;
      seen = Atomics.compareExchange(event, LW_EVENT_STATE, state, state & ~LW_EVENT_SET);
      if (seen === state) return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
    }
  } else if ((seen | since) & LW_EVENT_SET || (seen ^ since) & LW_EVENT_GENERATION) {
    return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
  }
  return waitersWait(event, seen, 0, LW_WAIT_IDLE, why, phase);
}
