/*
 * cond.c: the condition's steps. The meaning of the words is in core/cond.h.
 *
 * Why no notify is lost.
 *
 *   1. A waiter counts itself and reads the sequence while it holds the mutex. Whoever makes true what it waits for holds the mutex
 *      after that, and notifies after that: it finds somebody counted, and moves the sequence away from what the waiter has read.
 *   2. A notify moves the sequence first and wakes then. So who is not asleep yet will not fall asleep, and who is asleep is in the
 *      queue, in front of all who come after the move.
 *   3. A waiter that finds the sequence moved has been notified, whatever ended its wait: cancelled or late, it returns that it was
 *      notified, so that its caller looks.
 *   4. The wait of an async waiter cannot be withdrawn. One that gives up leaves it in the queue, in front of others, and could
 * only pass on what it consumes when its event loop gets to it. So it says first that it leaves a wait behind, and looks at the
 *      sequence then. A notifier moves the sequence first, and looks then: one of the two sees the other. A notifier that sees that
 *      waits were left behind wakes everybody, and none is left behind any more.
 *
 * No operation here has a memory order of its own: the mutex has them. What a waiter does before it gives up the mutex comes before
 * what a notifier does after it has taken it; and what the notifier wrote, the waiter sees when it has the mutex again. Rule 4
 * needs sequential consistency, which everything has in JavaScript and WebAssembly; natively nobody waits asynchronously.
 *
 * Printed by `make core` from src/core/cond.c and include/lockword/core/cond.h: do not edit.
 */

import { notify } from '../wait.js';
import {
  LW_ALL,
  LW_COND_LEFT_BEHIND,
  LW_COND_SEQUENCE,
  LW_COND_WAITERS,
  LW_DONE,
  LW_GAVE_UP,
  LW_QUEUED,
  LW_WAIT_IDLE,
} from './constants.js';

const { compareExchange, load } = Atomics;

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * Whether the reason for this call ends the operation, if it cannot succeed now: LW_TIMED_OUT and LW_CANCELLED.
 *
 * @param {number} why
 * @returns {boolean}
 */
function givesUp(why) {
  return (why & 3) === 3;
}

/**
 * @param {Words} cond
 * @param {number} word
 * @param {number} n
 */
function add(cond, word, n) {
  let seen = load(cond, word);
  let old;
  do {
    old = seen;
    seen = compareExchange(cond, word, old, old + n);
  } while (seen !== old);
}

/**
 * Announces a waiter, which holds the mutex, and answers the sequence that condWaitStep has to be told.
 *
 * @param {Words} cond
 * @returns {number}
 */
export function condEnterStep(cond) {
  add(cond, LW_COND_WAITERS, 1);
  return load(cond, LW_COND_SEQUENCE);
}

/**
 * A step, without the mutex: waits for a notify since `sequence` was read. An async waiter that gives up while its wait is pending
 * says so by LW_QUEUED, and leaves that wait behind.
 *
 * @param {Words} cond
 * @param {number} sequence
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function condWaitStep(cond, sequence, why, phase) {
  if (givesUp(why) && why & LW_QUEUED) {
    let seen = load(cond, LW_COND_WAITERS);
    while (!(seen & LW_COND_LEFT_BEHIND)) {
      const waiters = seen;
      seen = compareExchange(cond, LW_COND_WAITERS, waiters, waiters | LW_COND_LEFT_BEHIND);
      if (seen === waiters) break;
    }
  }
  if (load(cond, LW_COND_SEQUENCE) !== sequence) return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
  return { what: givesUp(why) ? LW_GAVE_UP : LW_WAIT_IDLE, word: LW_COND_SEQUENCE, phase: 0, expected: sequence };
}

/**
 * Ends what condEnterStep began.
 *
 * @param {Words} cond
 */
export function condLeaveStep(cond) {
  add(cond, LW_COND_WAITERS, -1);
}

/**
 * Returns whether it was set.
 *
 * @param {Words} cond
 * @returns {boolean}
 */
function clearLeftBehind(cond) {
  let seen = load(cond, LW_COND_WAITERS);
  while (seen & LW_COND_LEFT_BEHIND) {
    const waiters = seen;
    seen = compareExchange(cond, LW_COND_WAITERS, waiters, waiters & ~LW_COND_LEFT_BEHIND);
    if (seen === waiters) return true;
  }
  return false;
}

/**
 * Wakes n waiters (LW_ALL: all), or more if waits were left behind. Returns how many it found asleep, at most n; others may see it
 * before they fall asleep.
 *
 * @param {Words} cond
 * @param {number} n
 * @returns {number}
 */
export function condNotifyStep(cond, n) {
  if (n === 0 || (load(cond, LW_COND_WAITERS) & ~LW_COND_LEFT_BEHIND) === 0) return 0;
  add(cond, LW_COND_SEQUENCE, 1);
  const found = notify(cond, LW_COND_SEQUENCE, (clearLeftBehind(cond) ? LW_ALL : n) >>> 0);
  return found < n >>> 0 ? found : n;
}
