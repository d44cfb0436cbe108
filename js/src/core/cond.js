/*
 * cond.c: the condition's steps. The meaning of the words is in core/cond.h.
 *
 * Why no notify is lost.
 *
 *   1. A waiter counts itself and reads the sequence while it holds the mutex. The agent that makes
 *      the condition true holds the mutex after that, and notifies after that: it finds the waiter
 *      counted, and moves the sequence away from the value that the waiter has read.
 *   2. A notify first moves the sequence, or finds that another notify just has. Then it wakes. So
 *      a waiter that is not asleep yet will not fall asleep. A waiter that is asleep is in the
 *      queue, in front of all waiters that come after the move.
 *   3. A waiter that finds the sequence moved has been notified, whatever ended its wait. Even if
 *      it was cancelled or is late, it returns that it was notified, so that its caller looks at
 *      the condition.
 *   4. The wait of an async waiter cannot be withdrawn. A waiter that gives up leaves its wait in
 *      the queue, in front of others. It could pass on the notify that this wait consumes only when
 *      its event loop gets to it. So it first sets LEFT_BEHIND, and reads the sequence then. A
 *      notifier first moves the sequence, and reads LEFT_BEHIND then: one of the two sees what the
 *      other did. A notifier that sees LEFT_BEHIND wakes all waiters, and no wait is left behind
 *      any more.
 *
 * The mutex provides all memory orders, and no operation here has one of its own. What a waiter
 * does before it gives up the mutex comes before what a notifier does after it has taken the mutex.
 * What the notifier wrote, the waiter sees when it has the mutex again. Rule 4 needs sequential
 * consistency. In JavaScript and WebAssembly every operation has it; natively an async waiter can
 * withdraw its wait, and leaves none behind.
 *
 * Printed by `make core` from src/core/cond.c and include/lockword/core/cond.h: do not edit.
 */

import { givesUp } from './waiters.js';
import { notify } from '../wait.js';
import {
  LW_ALL,
  LW_COND_LEFT_BEHIND,
  LW_COND_SEQUENCE,
  LW_COND_TO_ALL,
  LW_COND_WAITERS,
  LW_DONE,
  LW_GAVE_UP,
  LW_QUEUED,
  LW_WAIT_IDLE,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * Adds n waiters, modulo 2^32: UINT32_MAX takes one off.
 *
 * @param {Words} cond
 * @param {number} n
 */
function add(cond, n) {
  let seen = Atomics.load(cond, LW_COND_WAITERS);
  let waiters;
  do {
    waiters = seen;
    seen = Atomics.compareExchange(cond, LW_COND_WAITERS, waiters, waiters + n);
  } while (seen !== waiters);
}

/**
 * Begins a wait: counts a waiter, which holds the mutex, and returns the sequence to pass to
 * condWaitStep. Then the caller unlocks the mutex, however often it holds it, runs that step
 * to its end, and locks the mutex again, as often.
 *
 * @param {Words} cond
 * @returns {number}
 */
export function condEnterStep(cond) {
  add(cond, 1);
  return Atomics.load(cond, LW_COND_SEQUENCE);
}

/**
 * A step, for a caller that does not hold the mutex: waits for a notify since `sequence` was read.
 * When it ends, it takes the caller off the count; until then it changes nothing. An async waiter
 * that gives up while its wait is pending passes LW_QUEUED, and leaves that wait behind.
 *
 * @param {Words} cond
 * @param {number} sequence
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function condWaitStep(cond, sequence, why, phase) {
  if (givesUp(why) && why & LW_QUEUED) {
    let seen = Atomics.load(cond, LW_COND_WAITERS);
    while (!(seen & LW_COND_LEFT_BEHIND)) {
      const waiters = seen;
      seen = Atomics.compareExchange(cond, LW_COND_WAITERS, waiters, waiters | LW_COND_LEFT_BEHIND);
      if (seen === waiters) break;
    }
  }
  const notified = Atomics.load(cond, LW_COND_SEQUENCE) !== sequence;
  if (!notified && !givesUp(why))
    return { what: LW_WAIT_IDLE, word: LW_COND_SEQUENCE, phase: 0, expected: sequence };
  add(cond, -1);
  return { what: notified ? LW_DONE : LW_GAVE_UP, word: 0, phase: 0, expected: 0 };
}

/**
 * Clears LEFT_BEHIND and returns whether it was set.
 *
 * @param {Words} cond
 * @returns {boolean}
 */
function clearLeftBehind(cond) {
  let seen = Atomics.load(cond, LW_COND_WAITERS);
  while (seen & LW_COND_LEFT_BEHIND) {
    const waiters = seen;
    seen = Atomics.compareExchange(cond, LW_COND_WAITERS, waiters, waiters & ~LW_COND_LEFT_BEHIND);
    if (seen === waiters) return true;
  }
  return false;
}

/**
 * Wakes n waiters (LW_ALL: all), or more if waits were left behind. Returns how many of them were
 * asleep, at most n. Waiters that are not asleep yet see the new sequence before they sleep.
 *
 * @param {Words} cond
 * @param {number} n
 * @returns {number}
 */
export function condNotifyStep(cond, n) {
  if (n === 0 || (Atomics.load(cond, LW_COND_WAITERS) & ~LW_COND_LEFT_BEHIND) === 0) return 0;
  const sequence = Atomics.load(cond, LW_COND_SEQUENCE);
  const toAll = n === LW_ALL ? LW_COND_TO_ALL : 0;
  // If this fails, another notify has just moved it, which waiters see as well.
  Atomics.compareExchange(
    cond,
    LW_COND_SEQUENCE,
    sequence,
    ((sequence + 1) & ~LW_COND_TO_ALL) | toAll,
  );
  const found = notify(cond, LW_COND_SEQUENCE, (clearLeftBehind(cond) ? LW_ALL : n) >>> 0);
  return found < n >>> 0 ? found : n;
}
