/*
 * waiters.c: how primitives wait and wake. Why this is enough: core/waiters.h.
 *
 * Printed by `make core` from src/core/waiters.c and include/lockword/core/waiters.h: do not edit.
 */

import { notify } from '../wait.js';
import {
  LW_AGAIN,
  LW_ASYNC,
  LW_ASYNC_WAITERS,
  LW_BLOCKED_WAITERS,
  LW_ENTITLED,
  LW_GAVE_UP,
  LW_NOT_EQUAL,
  LW_ONE_FAILED_WAIT,
  LW_OWES,
  LW_QUEUE,
  LW_QUEUED,
  LW_RETRY,
  LW_SLICE,
  LW_START,
  LW_TIMED_OUT,
  LW_WAIT,
  LW_WAITERS_GATE,
  LW_WAITERS_STATE,
  LW_WAIT_BRIEF,
  LW_WAIT_IDLE,
  LW_WHY,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

// How many waits may end in vain before a thread starves. Natively it usually does so sooner, after
// a slice (src/wait/awake.h), and no measurement tells 1 from 32. In an engine slices are long. An
// event loop starves after one: docs/experiments.md, 'When an event loop reserves'.
const MAX_FAILED_WAITS = 8;

// How often a starving waiter re-checks before it sleeps until it is woken. Its driver makes each
// of these waits longer than the one before. Re-checks give unlucky waiters their share beside busy
// threads. No waiter needs one in order to be woken (verify/README.md).
const MAX_RECHECKS = 7;

// From this count on, the waiter starves. One more than may end in vain: the wait that has just
// ended is counted before its step knows whether it was in vain.
const STARVES = (MAX_FAILED_WAITS + 1) * LW_ONE_FAILED_WAIT;

// The highest count: the waiter re-checks no more. So the count never wraps.
const RESTS = STARVES + MAX_RECHECKS * LW_ONE_FAILED_WAIT;

/**
 * Returns whether this reason ends the operation if it cannot succeed now: LW_TIMED_OUT and
 * LW_CANCELLED do.
 *
 * @param {number} why
 * @returns {boolean}
 */
export function givesUp(why) {
  // LW_CANCELLED has all bits of LW_TIMED_OUT. No other reason has.
  return (why & LW_TIMED_OUT) === LW_TIMED_OUT;
}

/**
 * Wakes the waiters that the bits of `state` stand for: so many threads, and all event loops. May
 * be called when the words are gone: it uses only their addresses.
 *
 * @param {Words} words
 * @param {number} state
 * @param {number} threads
 */
export function waitersNotify(words, state, threads) {
  if (state & LW_BLOCKED_WAITERS) notify(words, LW_WAITERS_STATE, threads >>> 0);
  if (state & LW_ASYNC_WAITERS) notify(words, LW_WAITERS_GATE);
}

/**
 * Rule 1, the end of each step whose waiters are all woken at once: marks the state, which was seen
 * to hold `seen`, with the waiter's bit and the bits of `mark`, and returns what to do. That is to
 * wait in this `way`, after LW_QUEUE if the caller is async and not queued; LW_RETRY if the state
 * holds another value by now; LW_GAVE_UP if that is the reason.
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
 * Rule 2 of *wake all*: changes the state from `seen` to `next` without the waiters' bits, and
 * wakes all waiters that `seen` stands for. Returns the value that the state held: if it is not
 * `seen`, nothing has changed.
 *
 * @param {Words} words
 * @param {number} seen
 * @param {number} next
 * @returns {number}
 */
export function waitersChange(words, seen, next) {
  const LW_ALL = -1;
  const LW_WAITERS_STATE = 0;
  const LW_ASYNC_WAITERS = 0x40000000;
  const LW_BLOCKED_WAITERS = 0x80000000 | 0;
  const LW_WAITERS = LW_ASYNC_WAITERS | LW_BLOCKED_WAITERS;

  // Acquire: pairs with the mark. Release: a waiter that this wakes sees what was done before.
  const found = Atomics.compareExchange(words, LW_WAITERS_STATE, seen, next & ~LW_WAITERS);
  // From here on the memory may be gone.
  if (found === seen && seen & LW_WAITERS) waitersNotify(words, seen, LW_ALL);
  return found;
}

/**
 * Where a wake obliges: returns whether the waiter was overtaken so often that it reserves.
 *
 * @param {number} phase
 * @returns {boolean}
 */
export function waitersStarves(phase) {
  return phase >= STARVES;
}

/**
 * Where a wake obliges: returns whether a waiter that takes the word now ends the reservation: it
 * starves, or its wait ended with LW_NOT_EQUAL. The latter is for an event loop that polls, which
 * looks before its brief wait can end. If it did not end a reservation for which no waiter comes,
 * each later lock of such a loop would take a poll.
 *
 * LW_NOT_EQUAL also ends the wait of a thread that found the word changed before it slept, and each
 * wait of a driver that sleeps at another word (lw_wait_ringing). These may end a reservation too
 * early. No waiter is stranded by that: whoever takes the word leaves the waiters' bits in it, or
 * notifies those that they stand for; and a waiter that starves reserves again if it is woken in
 * vain.
 *
 * @param {number} phase
 * @param {number} why
 * @returns {boolean}
 */
export function waitersUnreserves(phase, why) {
  return waitersStarves(phase) || (why & LW_WHY) === LW_NOT_EQUAL;
}

/**
 * Where a wake obliges: returns the phase of a caller that was resumed for this reason. A wait that
 * has begun paid what was owed before it. The count grows with each wait without success until the
 * waiter starves, then with each re-check until it has made all of them. An event loop that queues
 * for its second wait starves. The primitive's own bits stay.
 *
 * @param {number} phase
 * @param {number} why
 * @returns {number}
 */
export function waitersResume(phase, why) {
  const reason = why & LW_WHY;
  if (reason === LW_START || (reason === LW_AGAIN && phase < LW_ONE_FAILED_WAIT)) return phase;
  const owed = why & LW_ASYNC || reason === LW_NOT_EQUAL || reason === LW_TIMED_OUT ? 0 : LW_OWES;
  phase = owed | LW_ENTITLED | (phase & ~LW_OWES);
  // A waiter that does not starve yet: LW_OK and LW_NOT_EQUAL, which are less than LW_SLICE, end
  // one wait more. LW_SLICE, and LW_AGAIN, for an event loop that was woken in vain and has
  // queued again, make it starve at once. One that starves already counts nothing but LW_SLICE.
  if (!givesUp(why) && !waitersStarves(phase))
    return reason < LW_SLICE
      ? phase + LW_ONE_FAILED_WAIT
      : STARVES | (phase & (LW_ONE_FAILED_WAIT - 1));
  return reason === LW_SLICE && phase < RESTS ? phase + LW_ONE_FAILED_WAIT : phase;
}

/**
 * Where a wake obliges: returns how to wait. A brief wait is for what `is_free`, but reserved, and
 * for a caller that has not waited yet. So each operation makes at most one brief wait.
 *
 * @param {number} phase
 * @param {boolean} isFree
 * @returns {number}
 */
export function waitersWay(phase, isFree) {
  return isFree ? LW_WAIT_BRIEF : phase < RESTS ? LW_WAIT : LW_WAIT_IDLE;
}
