/*
 * waitgroup.c: the wait group's steps. The meaning of the words is in core/waitgroup.h.
 *
 * Printed by `make core` from src/core/waitgroup.c and include/lockword/core/waitgroup.h: do not edit.
 */

import { waitersChange, waitersWait } from './waiters.js';
import {
  LW_DONE,
  LW_WAITGROUP_MAX,
  LW_WAITGROUP_ROUND,
  LW_WAITGROUP_STATE,
  LW_WAIT_IDLE,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * Returns the state of this moment, to be passed to waitgroupWaitStep.
 *
 * @param {Words} group
 * @returns {number}
 */
export function waitgroupState(group) {
  return Atomics.load(group, LW_WAITGROUP_STATE);
}

/**
 * Returns how many pieces of work are not done at this moment.
 *
 * @param {Words} group
 * @returns {number}
 */
export function waitgroupCount(group) {
  return waitgroupState(group) & LW_WAITGROUP_MAX;
}

/**
 * Adds n. Returns false, with nothing changed, if the count would exceed LW_WAITGROUP_MAX.
 *
 * @param {Words} group
 * @param {number} n
 * @returns {boolean}
 */
export function waitgroupAddStep(group, n) {
  const LW_ASYNC_WAITERS = 0x40000000;
  const LW_BLOCKED_WAITERS = 0x80000000 | 0;
  const LW_WAITERS = LW_ASYNC_WAITERS | LW_BLOCKED_WAITERS;
  const LW_WAITGROUP_STATE = 0;
  const LW_WAITGROUP_MAX = 0x003fffff;
  const LW_WAITGROUP_ONE_ROUND = 0x00400000;
  const LW_WAITGROUP_ROUND = 0x3fc00000;

  let seen = group[LW_WAITGROUP_STATE];
  let state;
  do {
    state = seen;
    const count = state & LW_WAITGROUP_MAX;
    if (n >>> 0 > LW_WAITGROUP_MAX - count) return false;
    let next = (state + n) | 0;
    if (count === 0 && n !== 0)
      next = ((state + LW_WAITGROUP_ONE_ROUND) & LW_WAITGROUP_ROUND) | (state & LW_WAITERS) | n;
    seen = Atomics.compareExchange(group, LW_WAITGROUP_STATE, state, next);
  } while (seen !== state);
  return true;
}

/**
 * Takes n off, and wakes all waiters at 0. Returns false, with nothing changed, if the count is
 * less than n.
 *
 * @param {Words} group
 * @param {number} n
 * @returns {boolean}
 */
export function waitgroupDoneStep(group, n) {
  const LW_WAITGROUP_STATE = 0;
  const LW_WAITGROUP_MAX = 0x003fffff;

  let seen = group[LW_WAITGROUP_STATE];
  let state;
  do {
    state = seen;
    const count = state & LW_WAITGROUP_MAX;
    if (n >>> 0 > count) return false;
    if (n === count) seen = waitersChange(group, state, (state - n) | 0);
    else seen = Atomics.compareExchange(group, LW_WAITGROUP_STATE, state, state - n);
  } while (seen !== state);
  return true;
}

/**
 * A step: waits until the count is 0, or has been 0 since the state `since` was read.
 *
 * @param {Words} group
 * @param {number} since
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function waitgroupWaitStep(group, since, why, phase) {
  const state = waitgroupState(group);
  if ((state & LW_WAITGROUP_MAX) === 0 || (state ^ since) & LW_WAITGROUP_ROUND)
    return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
  return waitersWait(group, state, 0, LW_WAIT_IDLE, why, phase);
}
