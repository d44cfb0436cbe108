/*
 * barrier.c: the barrier's steps. The meaning of the words is in core/barrier.h.
 *
 * Printed by `make core` from src/core/barrier.c and include/lockword/core/barrier.h: do not edit.
 */

import { waitersChange, waitersWait } from './waiters.js';
import {
  LW_BARRIER_BROKE,
  LW_BARRIER_BROKEN,
  LW_BARRIER_BROKE_LAST,
  LW_BARRIER_GENERATION,
  LW_BARRIER_HISTORY,
  LW_BARRIER_LEADS,
  LW_BARRIER_MISSING,
  LW_BARRIER_ONE_GENERATION,
  LW_BARRIER_PARTIES,
  LW_BARRIER_STATE,
  LW_BARRIER_UNMADE,
  LW_BARRIER_WAITS,
  LW_DONE,
  LW_RETRY,
  LW_WAIT_IDLE,
} from './constants.js';

const { compareExchange, load, store } = Atomics;

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

const GENERATION_SHIFT = 12;
const CYCLES_IN_HISTORY = 5;

/**
 * Returns whether this reason ends the operation if it cannot succeed now: LW_TIMED_OUT and
 * LW_CANCELLED do.
 *
 * @param {number} why
 * @returns {boolean}
 */
function givesUp(why) {
  return (why & 3) === 3;
}

/**
 * Returns the state of this moment.
 *
 * @param {Words} barrier
 * @returns {number}
 */
export function barrierState(barrier) {
  return load(barrier, LW_BARRIER_STATE);
}

/**
 * @param {Words} barrier
 * @returns {number}
 */
function parties(barrier) {
  return load(barrier, LW_BARRIER_PARTIES);
}

/**
 * @param {number} a
 * @param {number} b
 * @returns {boolean}
 */
function sameCycle(a, b) {
  return ((a ^ b) & LW_BARRIER_GENERATION) === 0;
}

/**
 * Returns the first state of the next cycle.
 *
 * @param {Words} barrier
 * @param {number} state
 * @param {number} broke
 * @returns {number}
 */
function nextCycle(barrier, state, broke) {
  const history = (((state & LW_BARRIER_HISTORY) << 1) | broke) & LW_BARRIER_HISTORY;
  return history | ((state + LW_BARRIER_ONE_GENERATION) & LW_BARRIER_GENERATION) | parties(barrier);
}

/**
 * Makes, or makes anew, a barrier that no agent uses. parties: 1 to LW_BARRIER_MAX.
 *
 * @param {Words} barrier
 * @param {number} n
 */
export function barrierMakeStep(barrier, n) {
  // No agent uses the barrier yet, so that no other one changes this word. Arrivals look at the
  // state of the first cycle, which the reset begins.
  store(barrier, LW_BARRIER_PARTIES, n);
  barrierResetStep(barrier);
}

/**
 * Arrives in the cycle in which `state` was read. The last party to arrive ends the cycle and wakes
 * all waiters.
 *
 * @param {Words} barrier
 * @param {number} state
 * @returns {number}
 */
export function barrierArriveStep(barrier, state) {
  // Each new look acquires: the last party to arrive must see the number of parties that earlier
  // arrivals left behind.
  for (let seen = state; ; seen = barrierState(barrier)) {
    if (!sameCycle(seen, state) || seen & LW_BARRIER_BROKEN) return LW_BARRIER_BROKE;
    if ((seen & LW_BARRIER_MISSING) === 0) return LW_BARRIER_UNMADE;
    if ((seen & LW_BARRIER_MISSING) > 1) {
      // Release: pairs with the end of the cycle.
      if (compareExchange(barrier, LW_BARRIER_STATE, seen, seen - 1) === seen)
        return LW_BARRIER_WAITS;
    } else if (waitersChange(barrier, seen, nextCycle(barrier, seen, 0)) === seen) {
      return LW_BARRIER_LEADS;
    }
  }
}

/**
 * Takes one party off all cycles after this one. An arrival in this cycle must follow.
 *
 * @param {Words} barrier
 */
export function barrierDropStep(barrier) {
  let seen = parties(barrier);
  while (seen !== 0) {
    const n = seen;
    seen = compareExchange(barrier, LW_BARRIER_PARTIES, n, n - 1);
    if (seen === n) return;
  }
}

/**
 * A step: waits until the cycle of `state` has ended. Its result is the state that ended the cycle.
 * A waiter that gives up breaks the barrier.
 *
 * @param {Words} barrier
 * @param {number} state
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function barrierWaitStep(barrier, state, why, phase) {
  const seen = load(barrier, LW_BARRIER_STATE);
  if (!sameCycle(seen, state) || seen & LW_BARRIER_BROKEN)
    return { what: LW_DONE, word: 0, phase: 0, expected: seen };
  if (givesUp(why) && waitersChange(barrier, seen, seen | LW_BARRIER_BROKEN) !== seen)
    return { what: LW_RETRY, word: 0, phase: 0, expected: 0 };
  return waitersWait(barrier, seen, 0, LW_WAIT_IDLE, why, phase);
}

/**
 * Returns whether the cycle of `state` broke; `ended` is the result of a wait in that cycle.
 *
 * @param {number} state
 * @param {number} ended
 * @returns {boolean}
 */
export function barrierBroke(state, ended) {
  const moved =
    ((ended & LW_BARRIER_GENERATION) - (state & LW_BARRIER_GENERATION)) & LW_BARRIER_GENERATION;
  const cycles = moved >>> GENERATION_SHIFT;
  if (cycles === 0) return true; // the same cycle: it is BROKEN
  // The history does not reach back to this cycle. If later cycles could not trip without the
  // caller, all of them broke. If they could, this one has most likely tripped.
  return (
    (ended &
      (cycles > CYCLES_IN_HISTORY ? LW_BARRIER_HISTORY : LW_BARRIER_BROKE_LAST << (cycles - 1))) !==
    0
  );
}

/**
 * Begins a new cycle, unless no party has arrived in this one. Agents that wait in this cycle see
 * it as broken.
 *
 * @param {Words} barrier
 */
export function barrierResetStep(barrier) {
  let seen = load(barrier, LW_BARRIER_STATE);
  let state;
  do {
    state = seen;
    // No party has arrived. One more reset would only push older cycles out of the history, of
    // which late waiters still have to learn.
    if (!(state & LW_BARRIER_BROKEN) && (state & LW_BARRIER_MISSING) === parties(barrier)) return;
    seen = waitersChange(barrier, state, nextCycle(barrier, state, LW_BARRIER_BROKE_LAST));
  } while (seen !== state);
}
