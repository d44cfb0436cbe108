/*
 * latch.c: the latch's steps. The meaning of the words is in core/latch.h.
 *
 * Printed by `make core` from src/core/latch.c and include/lockword/core/latch.h: do not edit.
 */

import { waitersChange, waitersWait } from './waiters.js';
import { LW_DONE, LW_LATCH_MAX, LW_LATCH_STATE, LW_WAIT_IDLE } from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * Returns how much has yet to be counted down, right now.
 *
 * @param {Words} latch
 * @returns {number}
 */
export function latchCount(latch) {
  return Atomics.load(latch, LW_LATCH_STATE) & LW_LATCH_MAX;
}

/**
 * Takes n off, and wakes all waiters at 0. Returns the count before: if that is less than n,
 * nothing was changed; if it is n, the caller has opened the latch, and must not touch it again.
 *
 * @param {Words} latch
 * @param {number} n
 * @returns {number}
 */
export function latchCountDownStep(latch, n) {
  const LW_LATCH_STATE = 0;
  const LW_LATCH_MAX = 0x3fffffff;

  let seen = latch[LW_LATCH_STATE];
  let state;
  do {
    state = seen;
    const count = state & LW_LATCH_MAX;
    if (n >>> 0 > count) return count;
    // Both release: a load that acquires, and reads 0, sees what was written before each.
    if (n === count) seen = waitersChange(latch, state, 0);
    else seen = Atomics.compareExchange(latch, LW_LATCH_STATE, state, state - n);
  } while (seen !== state);
  return state & LW_LATCH_MAX;
}

/**
 * A step: waits until the count is 0.
 *
 * @param {Words} latch
 * @param {number} unused
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function latchWaitStep(latch, unused, why, phase) {
  const state = Atomics.load(latch, LW_LATCH_STATE);
  if ((state & LW_LATCH_MAX) === 0) return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
  return waitersWait(latch, state, 0, LW_WAIT_IDLE, why, phase);
}
