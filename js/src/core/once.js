/*
 * once.c: the once's steps. The meaning of the words is in core/once.h.
 *
 * Printed by `make core` from src/core/once.c and include/lockword/core/once.h: do not edit.
 */

import { waitersChange, waitersWait } from './waiters.js';
import {
  LW_ASYNC,
  LW_DEADLOCK,
  LW_DONE,
  LW_ONCE_RAN,
  LW_ONCE_RUNNER,
  LW_ONCE_STATE,
  LW_RETRY,
  LW_WAIT_IDLE,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * Returns whether the initializer has run. A caller that gets true sees all that the runner wrote.
 *
 * @param {Words} once
 * @returns {boolean}
 */
export function onceRan(once) {
  const LW_ONCE_STATE = 0;
  const LW_ONCE_RAN = 0x20000000;

  return (Atomics.load(once, LW_ONCE_STATE) & LW_ONCE_RAN) !== 0;
}

/**
 * Returns the id of the agent that runs the initializer now; 0: none.
 *
 * @param {Words} once
 * @returns {number}
 */
export function onceRunner(once) {
  return Atomics.load(once, LW_ONCE_STATE) & LW_ONCE_RUNNER;
}

/**
 * A step: waits until the initializer has run, or until it is the caller's turn to run it. The
 * `expected` of LW_DONE tells which: 0 if it has run; self if it is the caller's turn. In the
 * latter case the caller must call onceEndStep.
 *
 * @param {Words} once
 * @param {number} self
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function onceBeginStep(once, self, why, phase) {
  // Acquire: pairs with the end of the run, as in onceRan.
  const state = Atomics.load(once, LW_ONCE_STATE);
  if (state & LW_ONCE_RAN) return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
  // Acquire: pairs with the end of a run that failed. If another agent wins this race, the next
  // look at the state must acquire, too.
  if ((state & LW_ONCE_RUNNER) === 0)
    return {
      what:
        Atomics.compareExchange(once, LW_ONCE_STATE, state, state | self) === state
          ? LW_DONE
          : LW_RETRY,
      word: 0,
      phase: 0,
      expected: self,
    };
  if ((state & LW_ONCE_RUNNER) === self && !(why & LW_ASYNC))
    return { what: LW_DEADLOCK, word: 0, phase: 0, expected: 0 };
  return waitersWait(once, state, 0, LW_WAIT_IDLE, why, phase);
}

/**
 * Ends the runner's turn. `ran` tells whether the initializer succeeded; if not, the turn is the
 * next caller's. Returns false, with nothing changed, if `runner` is not the runner.
 *
 * @param {Words} once
 * @param {number} runner
 * @param {boolean} ran
 * @returns {boolean}
 */
export function onceEndStep(once, runner, ran) {
  let seen = Atomics.load(once, LW_ONCE_STATE);
  let state;
  do {
    state = seen;
    if ((state & LW_ONCE_RUNNER) !== runner || runner === 0) return false;
    seen = waitersChange(once, state, ran ? LW_ONCE_RAN : 0);
  } while (seen !== state);
  return true;
}
