/*
 * waiters.c: how every primitive but the mutex waits and wakes. Why this is enough: core/waiters.h.
 *
 * Printed by `make core` from src/core/waiters.c and include/lockword/core/waiters.h: do not edit.
 */

import { notify } from '../wait.js';
import {
  LW_ALL,
  LW_ASYNC,
  LW_ASYNC_WAITERS,
  LW_BLOCKED_WAITERS,
  LW_GAVE_UP,
  LW_QUEUE,
  LW_QUEUED,
  LW_RETRY,
  LW_WAITERS,
  LW_WAITERS_GATE,
  LW_WAITERS_STATE,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

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
 * Rule 1, the end of every step: marks the state, which was seen to hold `seen`, with the waiter's
 * bit and the bits of `mark`, and returns what to do. That is to wait in this `way`, after LW_QUEUE
 * if the caller is async and not queued; LW_RETRY if the state holds another value by now;
 * LW_GAVE_UP if that is the reason.
 *
 * @param {Words} words
 * @param {number} seen
 * @param {number} mark
 * @param {number} way
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function waitersWait(words, seen, mark, way, why, phase) {
  const async = (why & LW_ASYNC) !== 0;
  if (givesUp(why)) return { what: LW_GAVE_UP, word: 0, phase: 0, expected: 0 };
  if (async && !(why & LW_QUEUED))
    return { what: LW_QUEUE, word: LW_WAITERS_GATE, phase, expected: 0 };
  const marked = seen | mark | (async ? LW_ASYNC_WAITERS : LW_BLOCKED_WAITERS);
  // Release: an agent that sees the mark also sees the wait that was queued before it.
  if (marked !== seen && Atomics.compareExchange(words, LW_WAITERS_STATE, seen, marked) !== seen)
    return { what: LW_RETRY, word: 0, phase, expected: 0 };
  return {
    what: way,
    word: async ? LW_WAITERS_GATE : LW_WAITERS_STATE,
    phase,
    expected: async ? 0 : marked,
  };
}

/**
 * Rule 2: changes the state from `seen` to `next` without the waiters' bits, and wakes all waiters
 * that `seen` stands for. Returns the value that the state held: if it is not `seen`, nothing has
 * changed.
 *
 * @param {Words} words
 * @param {number} seen
 * @param {number} next
 * @returns {number}
 */
export function waitersChange(words, seen, next) {
  // Acquire: pairs with the mark. Release: a waiter that this wakes sees what was done before.
  const found = Atomics.compareExchange(words, LW_WAITERS_STATE, seen, next & ~LW_WAITERS);
  if (found === seen) {
    // From here on the memory may be gone.
    if (seen & LW_BLOCKED_WAITERS) notify(words, LW_WAITERS_STATE, LW_ALL >>> 0);
    if (seen & LW_ASYNC_WAITERS) notify(words, LW_WAITERS_GATE, LW_ALL >>> 0);
  }
  return found;
}
