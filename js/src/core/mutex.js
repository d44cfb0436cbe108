/*
 * mutex.c: the mutex's steps. The meaning of the words is in core/mutex.h.
 *
 * Why no waiter is stranded: the four rules below, each of which mutants break (verify/README.md).
 *
 *   1. A waiter marks the word before it waits, and waits only while the mark stands. An async
 *      waiter cannot do both at once, so it queues first and marks then: a notify between the two
 *      finds it queued.
 *   2. An unlocker frees the word and learns of the waiters in one operation. Then it notifies one
 *      thread and all event loops, if it saw their marks. An event loop runs when its own work lets
 *      it. If only one were notified, and it were busy, the others would wait for it.
 *   3. A notify wakes one thread, but the mark stood for all of them. So a thread that may have
 *      consumed a notify owes one: it takes the mutex with the mark set again, or marks before it
 *      waits again, or notifies when it gives up. A wake orders memory, in ECMAScript and in the
 *      kernel: the woken thread never reads the mark that was cleared by the unlock which woke it.
 *      An event loop owes nothing: the notify that ended its wait ended all waits at the gate.
 *   4. A waiter that was overtaken too often reserves the mutex. From then on only agents that have
 *      returned from a wait may take it, whatever ended that wait. If a notify alone entitled them,
 *      a waiter that found the word changed would bar all agents, including itself. A reserver that
 *      gives up withdraws the reservation. If no waiter comes for a free, reserved mutex (the
 *      reserver's event loop is busy, or it died), a newcomer's brief wait ends, and then the
 *      newcomer is entitled, too.
 *
 * Printed by `make core` from src/core/mutex.c and include/lockword/core/mutex.h: do not edit.
 */

import { notify } from '../wait.js';
import {
  LW_ALL,
  LW_ASYNC,
  LW_CANCELLED,
  LW_DEADLOCK,
  LW_DONE,
  LW_GAVE_UP,
  LW_MUTEX_ASYNC,
  LW_MUTEX_BLOCKED,
  LW_MUTEX_GATE,
  LW_MUTEX_OWNER,
  LW_MUTEX_RESERVED,
  LW_NOT_EQUAL,
  LW_OK,
  LW_QUEUE,
  LW_QUEUED,
  LW_SLICE,
  LW_TIMED_OUT,
  LW_WAIT,
  LW_WAIT_BRIEF,
  LW_WAIT_IDLE,
  LW_WHY,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

const LW_MUTEX_STATE = 0;

// How many waits may end without the mutex before a waiter reserves it. Natively a waiter usually
// reserves sooner, after a slice (src/wait/awake.h), and no measurement tells 1 from 32. In an
// engine, where slices are long, this constant is what gives lockAsync its turn:
// docs/experiments.md, 'Constants'.
const MAX_FAILED_WAITS = 8;

// How often a starving waiter re-checks before it sleeps until it is woken. Its driver makes each
// of these waits longer than the one before. Re-checks give unlucky waiters their share beside busy
// threads. No waiter needs one in order to be woken (verify/README.md).
const MAX_RECHECKS = 7;

// The phase: what a locker remembers from one call to the next. The count never wraps: see
// count_failed_wait and RESTS.
const OWES = 0x0001; // may have consumed a notify, and has not passed it on
const ENTITLED = 0x0002; // has returned from a wait
const ONE_FAILED_WAIT = 0x0004; // bits from here on: the number of waits without success

// From this count on, the waiter reserves the mutex.
const STARVES = (MAX_FAILED_WAITS + 1) * ONE_FAILED_WAIT;

// The highest count: the waiter re-checks no more.
const RESTS = STARVES + MAX_RECHECKS * ONE_FAILED_WAIT;

/**
 * Takes the mutex if it is free and no agent waits. The fast path of every lock.
 *
 * @param {Words} mutex
 * @param {number} self
 * @returns {boolean}
 */
export function mutexTake(mutex, self) {
  return Atomics.compareExchange(mutex, LW_MUTEX_STATE, 0, self) === 0;
}

/**
 * Frees the mutex if self holds it and no agent waits. The fast path of unlock.
 *
 * @param {Words} mutex
 * @param {number} self
 * @returns {boolean}
 */
export function mutexFree(mutex, self) {
  return Atomics.compareExchange(mutex, LW_MUTEX_STATE, self, 0) === self;
}

/**
 * @param {number} state
 * @returns {boolean}
 */
function isFree(state) {
  return (state & LW_MUTEX_OWNER) === 0;
}

/**
 * @param {Words} mutex
 * @param {number} state
 */
function notifyWaiters(mutex, state) {
  if (state & LW_MUTEX_BLOCKED) notify(mutex, LW_MUTEX_STATE, 1);
  if (state & LW_MUTEX_ASYNC) notify(mutex, LW_MUTEX_GATE, LW_ALL >>> 0);
}

/**
 * @param {number} phase
 * @returns {boolean}
 */
function isStarving(phase) {
  return phase >= STARVES;
}

/**
 * Returns the phase after one more wait without success. For a starving waiter, only re-checks
 * count.
 *
 * @param {number} phase
 * @returns {number}
 */
function countFailedWait(phase) {
  return isStarving(phase) ? phase : phase + ONE_FAILED_WAIT;
}

/**
 * Returns the phase after one more re-check. From the first re-check on, the waiter starves.
 *
 * @param {number} phase
 * @returns {number}
 */
function countRecheck(phase) {
  if (!isStarving(phase)) return STARVES;
  return phase < RESTS ? phase + ONE_FAILED_WAIT : phase;
}

/**
 * Returns the phase of a caller that was resumed for this reason. A wait that has begun paid what
 * was owed before it: rule 3.
 *
 * @param {number} phase
 * @param {number} why
 * @returns {number}
 */
function resume(phase, why) {
  switch (why & LW_WHY) {
    case LW_OK:
      return countFailedWait(phase | OWES | ENTITLED);
    case LW_NOT_EQUAL:
      return countFailedWait((phase & ~OWES) | ENTITLED);
    case LW_TIMED_OUT:
      return (phase & ~OWES) | ENTITLED;
    case LW_SLICE:
      return countRecheck(phase) | OWES | ENTITLED;
    case LW_CANCELLED:
      return phase | OWES;
    default:
      return phase;
  }
}

/**
 * Returns how to wait while the word holds `state`. A brief wait is for a mutex that is free, but
 * reserved, and for a caller that has not waited yet. So each operation makes at most one brief
 * wait.
 *
 * @param {number} state
 * @param {number} phase
 * @returns {number}
 */
function wayToWait(state, phase) {
  return isFree(state) ? LW_WAIT_BRIEF : phase < RESTS ? LW_WAIT : LW_WAIT_IDLE;
}

/**
 * Takes back a reservation. A free, reserved mutex becomes free for all agents, and the waiters
 * that its marks stand for are notified.
 *
 * @param {Words} mutex
 */
function withdraw(mutex) {
  let seen = Atomics.load(mutex, LW_MUTEX_STATE);
  while (seen & LW_MUTEX_RESERVED) {
    const state = seen;
    const next = isFree(state) ? 0 : state & ~LW_MUTEX_RESERVED;
    seen = Atomics.compareExchange(mutex, LW_MUTEX_STATE, state, next);
    if (seen === state) {
      if (next === 0) notifyWaiters(mutex, state);
      return;
    }
  }
}

/**
 * @param {Words} mutex
 * @param {number} owed
 * @param {number} phase
 * @returns {Answer}
 */
function giveUp(mutex, owed, phase) {
  if (isStarving(phase)) withdraw(mutex);
  if (phase & OWES) notifyWaiters(mutex, owed);
  return { what: LW_GAVE_UP, word: 0, phase: 0, expected: 0 };
}

/**
 * A step: takes the mutex, and waits as often as needed.
 *
 * @param {Words} mutex
 * @param {number} self
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function mutexLockStep(mutex, self, why, phase) {
  const async = (why & LW_ASYNC) !== 0;
  const flag = async ? LW_MUTEX_ASYNC : LW_MUTEX_BLOCKED;
  const owed = async ? 0 : LW_MUTEX_BLOCKED;
  phase = resume(phase, why);
  if ((why & LW_WHY) === LW_CANCELLED) return giveUp(mutex, owed, phase);

  let seen = Atomics.load(mutex, LW_MUTEX_STATE);
  for (;;) {
    const state = seen;
    if (isFree(state) && (!(state & LW_MUTEX_RESERVED) || phase & ENTITLED)) {
      const taken = (state & ~LW_MUTEX_RESERVED) | self | (phase & OWES ? owed : 0);
      seen = Atomics.compareExchange(mutex, LW_MUTEX_STATE, state, taken);
      if (seen === state) return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
      continue;
    }
    if ((why & LW_WHY) === LW_TIMED_OUT) return giveUp(mutex, owed, phase);
    if ((state & LW_MUTEX_OWNER) === self && !async)
      return { what: LW_DEADLOCK, word: 0, phase: 0, expected: 0 };
    if (async && !(why & LW_QUEUED))
      return { what: LW_QUEUE, word: LW_MUTEX_GATE, phase, expected: 0 };

    const marked = state | flag | (isStarving(phase) && !isFree(state) ? LW_MUTEX_RESERVED : 0);
    if (marked !== state) {
      // Release: an unlocker that sees the mark also sees the wait that was queued before it.
      seen = Atomics.compareExchange(mutex, LW_MUTEX_STATE, state, marked);
      if (seen !== state) continue;
    }
    return {
      what: wayToWait(marked, phase),
      word: async ? LW_MUTEX_GATE : LW_MUTEX_STATE,
      phase,
      expected: async ? 0 : marked,
    };
  }
}

/**
 * Returns the holder's id; 0: the mutex is free. By the time the caller reads it, it may be
 * outdated, unless it is self.
 *
 * @param {Words} mutex
 * @returns {number}
 */
export function mutexOwner(mutex) {
  return Atomics.load(mutex, LW_MUTEX_STATE) & LW_MUTEX_OWNER;
}

/**
 * Takes the mutex if it is free, reserved or not, and returns whether it did.
 *
 * @param {Words} mutex
 * @param {number} self
 * @returns {boolean}
 */
export function mutexTryStep(mutex, self) {
  let seen = Atomics.load(mutex, LW_MUTEX_STATE);
  while (isFree(seen)) {
    const state = seen;
    seen = Atomics.compareExchange(mutex, LW_MUTEX_STATE, state, state | self);
    if (seen === state) return true;
  }
  return false;
}

/**
 * Frees the mutex, notifies, and returns true. Returns false, with nothing changed, if self does
 * not hold the mutex.
 *
 * @param {Words} mutex
 * @param {number} self
 * @returns {boolean}
 */
export function mutexUnlockStep(mutex, self) {
  let seen = Atomics.load(mutex, LW_MUTEX_STATE);
  let state;
  do {
    state = seen;
    if ((state & LW_MUTEX_OWNER) !== self) return false;
    // Acquire: pairs with the mark, so that the notify below comes after the wait for which it
    // is meant.
    seen = Atomics.compareExchange(mutex, LW_MUTEX_STATE, state, state & LW_MUTEX_RESERVED);
  } while (seen !== state);
  // From here on the memory may be gone: the next owner may have freed it.
  notifyWaiters(mutex, state);
  return true;
}

/**
 * A dead agent makes no further step. If the word names it as the owner, because it held the mutex
 * or was about to free it, only this function can free the mutex.
 *
 * The dead agent may also have consumed a wake that it owed to other waiters: it freed the mutex
 * and had not yet notified (rule 2), or it was woken and had done nothing yet (rule 3). The words
 * do not tell whether it did. So this function wakes those waiters that an unlock would notify, in
 * any case. If no wake was lost, these wake-ups are spurious, and every wait survives that.
 *
 * A dead agent can also leave marks, which cost the next unlock a notify, and a reservation, which
 * a newcomer's brief wait ends (rule 4).
 *
 * @param {Words} mutex
 * @param {number} dead
 */
export function mutexBuryStep(mutex, dead) {
  mutexUnlockStep(mutex, dead);
  notifyWaiters(mutex, LW_MUTEX_BLOCKED | LW_MUTEX_ASYNC);
}
