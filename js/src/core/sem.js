/*
 * sem.c: the semaphore's steps. The meaning of the words is in core/sem.h.
 *
 * Printed by `make core` from src/core/sem.c and include/lockword/core/sem.h: do not edit.
 */

import { waitersChange, waitersWait } from './waiters.js';
import { LW_DONE, LW_SEM_MAX, LW_SEM_OVERFLOW, LW_SEM_STATE, LW_WAIT_IDLE } from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * Returns how many permits are available at this moment.
 *
 * @param {Words} sem
 * @returns {number}
 */
export function semPermits(sem) {
  return Atomics.load(sem, LW_SEM_STATE) & LW_SEM_MAX;
}

/**
 * Takes n permits if the state has them, and returns the state that it found. The waiters' bits
 * stay, since the waiters that they stand for need not have been woken.
 *
 * @param {Words} sem
 * @param {number} n
 * @returns {number}
 */
function take(sem, n) {
  let seen = Atomics.load(sem, LW_SEM_STATE);
  while ((seen & LW_SEM_MAX) >= n >>> 0) {
    const state = seen;
    seen = Atomics.compareExchange(sem, LW_SEM_STATE, state, state - n);
    if (seen === state) return state;
  }
  return seen;
}

/**
 * Takes n permits if they are available, and returns whether it did.
 *
 * @param {Words} sem
 * @param {number} n
 * @returns {boolean}
 */
export function semTryStep(sem, n) {
  return (take(sem, n) & LW_SEM_MAX) >= n >>> 0;
}

/**
 * A step: takes n permits, all at once, and waits as often as needed. The result is how many
 * permits are left.
 *
 * @param {Words} sem
 * @param {number} n
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function semAcquireStep(sem, n, why, phase) {
  const state = take(sem, n);
  const permits = state & LW_SEM_MAX;
  if (permits >= n >>> 0) return { what: LW_DONE, word: 0, phase: 0, expected: (permits - n) | 0 };
  return waitersWait(sem, state, 0, LW_WAIT_IDLE, why, phase);
}

/**
 * Gives n permits, and wakes. Returns how many permits there were before, or LW_SEM_OVERFLOW, with
 * nothing changed.
 *
 * @param {Words} sem
 * @param {number} n
 * @returns {number}
 */
export function semReleaseStep(sem, n) {
  let seen = Atomics.load(sem, LW_SEM_STATE);
  let state;
  do {
    state = seen;
    if (n >>> 0 > LW_SEM_MAX - (state & LW_SEM_MAX)) return LW_SEM_OVERFLOW;
    seen = waitersChange(sem, state, ((state & LW_SEM_MAX) + n) | 0);
  } while (seen !== state);
  return state & LW_SEM_MAX;
}
