/*
 * barrier.c: the barrier's steps. The meaning of the words is in core/barrier.h.
 *
 * Printed by `make core` from src/core/barrier.c and include/lockword/core/barrier.h: do not edit.
 */

import { givesUp, waitersChange, waitersWait } from './waiters.js';
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
  LW_BARRIER_TRIPPED,
  LW_BARRIER_UNMADE,
  LW_BARRIER_WAITS,
  LW_DONE,
  LW_RETRY,
  LW_WAIT_IDLE,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

const GENERATION_SHIFT = 12;
const CYCLES_IN_HISTORY = 5;

/**
 * Returns the state of this moment.
 *
 * @param {Words} barrier
 * @returns {number}
 */
export function barrierState(barrier) {
  return Atomics.load(barrier, LW_BARRIER_STATE);
}

/**
 * @param {Words} barrier
 * @returns {number}
 */
function parties(barrier) {
  return Atomics.load(barrier, LW_BARRIER_PARTIES);
}

/**
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
  Atomics.store(barrier, LW_BARRIER_PARTIES, n);
  barrierResetStep(barrier);
}

/**
 * Arrives. Never waits: the answer is no step's, and its `what` is an lw_barrier_outcome, whose
 * numbers are not those of an lw_what. If it is LW_BARRIER_WAITS, `expected` is the cycle to wait
 * for. The last party to arrive ends the cycle and wakes all waiters.
 *
 * @param {Words} barrier
 * @returns {Answer}
 */
export function barrierArriveStep(barrier) {
  for (;;) {
    // Each look acquires: the last party to arrive must see the number of parties that earlier
    // arrivals left behind.
    const state = barrierState(barrier);
    const missing = state & LW_BARRIER_MISSING;
    if (state & LW_BARRIER_BROKEN)
      return { what: LW_BARRIER_BROKE, word: 0, phase: 0, expected: 0 };
    if (missing === 0) return { what: LW_BARRIER_UNMADE, word: 0, phase: 0, expected: 0 };
    if (missing > 1) {
      // Release: pairs with the end of the cycle.
      if (Atomics.compareExchange(barrier, LW_BARRIER_STATE, state, state - 1) === state)
        return {
          what: LW_BARRIER_WAITS,
          word: 0,
          phase: 0,
          expected: state & LW_BARRIER_GENERATION,
        };
    } else if (waitersChange(barrier, state, nextCycle(barrier, state, 0)) === state) {
      return { what: LW_BARRIER_LEADS, word: 0, phase: 0, expected: 0 };
    }
  }
}

/**
 * Takes one party off all cycles after this one. An arrival in this cycle must follow.
 *
 * @param {Words} barrier
 */
export function barrierDropStep(barrier) {
  const LW_BARRIER_PARTIES = 2;

  let seen = parties(barrier);
  while (seen !== 0) {
    const n = seen;
    seen = Atomics.compareExchange(barrier, LW_BARRIER_PARTIES, n, n - 1);
    if (seen === n) return;
  }
}

/**
 * Returns the outcome of the cycle, for a waiter that sees this state. LW_BARRIER_WAITS: it has not
 * ended.
 *
 * @param {number} cycle
 * @param {number} state
 * @returns {number}
 */
export function barrierOutcomeOf(cycle, state) {
  const cycles = ((state - cycle) & LW_BARRIER_GENERATION) >>> GENERATION_SHIFT;
  if (cycles === 0) return state & LW_BARRIER_BROKEN ? LW_BARRIER_BROKE : LW_BARRIER_WAITS;
  // The history may not reach back to this cycle. Then a guess: if no later cycle of the history
  // broke, this one tripped; if one broke, this one may have, too.
  const broke =
    state &
    (cycles > CYCLES_IN_HISTORY ? LW_BARRIER_HISTORY : LW_BARRIER_BROKE_LAST << (cycles - 1));
  return broke ? LW_BARRIER_BROKE : LW_BARRIER_TRIPPED;
}

/**
 * A step: waits until the cycle in which the caller has arrived has ended. Its result is the
 * outcome. A waiter that gives up breaks the barrier.
 *
 * @param {Words} barrier
 * @param {number} cycle
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function barrierWaitStep(barrier, cycle, why, phase) {
  const seen = barrierState(barrier);
  const outcome = barrierOutcomeOf(cycle, seen);
  if (outcome !== LW_BARRIER_WAITS) return { what: LW_DONE, word: 0, phase: 0, expected: outcome };
  if (givesUp(why) && waitersChange(barrier, seen, seen | LW_BARRIER_BROKEN) !== seen)
    return { what: LW_RETRY, word: 0, phase: 0, expected: 0 };
  return waitersWait(barrier, seen, 0, LW_WAIT_IDLE, why, phase);
}

/**
 * Begins a new cycle, unless no party has arrived in this one. Agents that wait in this cycle see
 * it as broken.
 *
 * @param {Words} barrier
 */
export function barrierResetStep(barrier) {
  let seen = Atomics.load(barrier, LW_BARRIER_STATE);
  let state;
  do {
    state = seen;
    // No party has arrived. One more reset would only push older cycles out of the history, of
    // which late waiters still have to learn.
    if (!(state & LW_BARRIER_BROKEN) && (state & LW_BARRIER_MISSING) === parties(barrier)) return;
    seen = waitersChange(barrier, state, nextCycle(barrier, state, LW_BARRIER_BROKE_LAST));
  } while (seen !== state);
}
