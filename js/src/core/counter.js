/*
 * counter.c: the counter's steps. The meaning of the words is in core/counter.h.
 *
 * Printed by `make core` from src/core/counter.c and include/lockword/core/counter.h: do not edit.
 */

import { waitersChange, waitersWait } from './waiters.js';
import { LW_COUNTER_MAX, LW_COUNTER_STATE, LW_DONE, LW_WAIT_IDLE } from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

// What a waiter waits for the value to be.
const OTHER_THAN = 0;
const AT_LEAST = 1;
const AT_MOST = 2;

/**
 * Returns the value of this moment.
 *
 * @param {Words} counter
 * @returns {number}
 */
export function counterValue(counter) {
  return Atomics.load(counter, LW_COUNTER_STATE) & LW_COUNTER_MAX;
}

/**
 * Adds n, which may be negative, wakes all waiters, and returns the old value. Returns
 * LW_COUNTER_OVERFLOW, with nothing changed, if the sum is out of range.
 *
 * @param {Words} counter
 * @param {number} n
 * @returns {number}
 */
export function counterAddStep(counter, n) {
  const LW_COUNTER_STATE = 0;
  const LW_COUNTER_MAX = 0x3fffffff;
  const LW_COUNTER_OVERFLOW = -1;

  let seen = counter[LW_COUNTER_STATE];
  let state;
  do {
    state = seen;
    // The sum is between -2^31 and 2^30 - 1 + 2^31. As an unsigned number, every sum that is
    // out of range is too large.
    const sum = ((state & LW_COUNTER_MAX) + n) | 0;
    if (sum >>> 0 > LW_COUNTER_MAX) return LW_COUNTER_OVERFLOW;
    seen = waitersChange(counter, state, sum);
  } while (seen !== state);
  return state & LW_COUNTER_MAX;
}

/**
 * @param {number} value
 * @param {number} wanted
 * @param {number} n
 * @returns {boolean}
 */
function satisfies(value, wanted, n) {
  return wanted === OTHER_THAN
    ? value !== n
    : wanted === AT_LEAST
      ? value >>> 0 >= n >>> 0
      : value >>> 0 <= n >>> 0;
}

/**
 * @param {Words} counter
 * @param {number} wanted
 * @param {number} n
 * @param {number} why
 * @returns {Answer}
 */
function waitStep(counter, wanted, n, why) {
  const state = Atomics.load(counter, LW_COUNTER_STATE);
  if (satisfies(state & LW_COUNTER_MAX, wanted, n))
    return { what: LW_DONE, word: 0, phase: 0, expected: state & LW_COUNTER_MAX };
  return waitersWait(counter, state, 0, LW_WAIT_IDLE, why, 0);
}

/**
 * Steps: wait until the value is another one than `value`, at least `value`, or at most `value`.
 * The result is the value that ended the wait.
 *
 * @param {Words} counter
 * @param {number} value
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function counterChangeStep(counter, value, why, phase) {
  return waitStep(counter, OTHER_THAN, value, why);
}

/**
 * @param {Words} counter
 * @param {number} value
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function counterAtLeastStep(counter, value, why, phase) {
  return waitStep(counter, AT_LEAST, value, why);
}

/**
 * @param {Words} counter
 * @param {number} value
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function counterAtMostStep(counter, value, why, phase) {
  return waitStep(counter, AT_MOST, value, why);
}
