/*
 * once.c: the once's steps. The meaning of the words is in core/once.h.
 *
 * Printed by `make core` from src/core/once.c and include/lockword/core/once.h: do not edit.
 */

import { waitersChange, waitersWait } from './waiters.js';
import { LW_ASYNC, LW_DEADLOCK, LW_DONE, LW_ONCE_RAN, LW_ONCE_RUNNER, LW_RETRY, LW_WAIT_IDLE } from './constants.js';

const { compareExchange, load } = Atomics;

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

const LW_ONCE_STATE = 0;

/**
 * Whether it has been run. Whoever sees true sees all that the runner wrote.
 *
 * @param {Words} once
 * @returns {boolean}
 */
export function onceRan(once) {
  return (load(once, LW_ONCE_STATE) & LW_ONCE_RAN) !== 0;
}

/**
 * Who runs it right now; 0: nobody.
 *
 * @param {Words} once
 * @returns {number}
 */
export function onceRunner(once) {
  return load(once, LW_ONCE_STATE) & LW_ONCE_RUNNER;
}

/**
 * A step: waits until it has been run, or until it is the caller's turn to run it. The `expected` of LW_DONE tells which: 0, or
 * self; in the latter case the caller must call onceEndStep.
 *
 * @param {Words} once
 * @param {number} self
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function onceBeginStep(once, self, why, phase) {
  // Acquire: pairs with the end of the run, as in onceRan.
  const state = load(once, LW_ONCE_STATE);
  if (state & LW_ONCE_RAN) return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
  // Acquire: pairs with the end of a run that failed. If another was quicker, the look at what it did must acquire, too.
  if ((state & LW_ONCE_RUNNER) === 0)
    return {
      what: compareExchange(once, LW_ONCE_STATE, state, state | self) === state ? LW_DONE : LW_RETRY,
      word: 0,
      phase: 0,
      expected: self,
    };
  if ((state & LW_ONCE_RUNNER) === self && !(why & LW_ASYNC)) return { what: LW_DEADLOCK, word: 0, phase: 0, expected: 0 };
  return waitersWait(once, state, 0, LW_WAIT_IDLE, why, phase);
}

/**
 * The runner's turn ends: with success, or leaving it to the next. Answers false, with nothing changed, if `runner` does not run
 * it.
 *
 * @param {Words} once
 * @param {number} runner
 * @param {boolean} ran
 * @returns {boolean}
 */
export function onceEndStep(once, runner, ran) {
  let seen = load(once, LW_ONCE_STATE);
  let state;
  do {
    state = seen;
    if ((state & LW_ONCE_RUNNER) !== runner || runner === 0) return false;
    seen = waitersChange(once, state, ran ? LW_ONCE_RAN : 0);
  } while (seen !== state);
  return true;
}
