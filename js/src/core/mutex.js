/*
 * mutex.c: the mutex's steps. The meaning of the words is in core/mutex.h.
 *
 * Why no waiter is stranded: a wake obliges (core/waiters.h, rules 1 to 4). An unlock serves one
 * thread. Mutants break each of the rules (verify/README.md).
 *
 * Printed by `make core` from src/core/mutex.c and include/lockword/core/mutex.h: do not edit.
 */

import {
  waitersNotify,
  waitersResume,
  waitersStarves,
  waitersUnreserves,
  waitersWay,
} from './waiters.js';
import { notify } from '../wait.js';
import {
  LW_ASYNC,
  LW_CANCELLED,
  LW_DEADLOCK,
  LW_DONE,
  LW_ENTITLED,
  LW_GAVE_UP,
  LW_MUTEX_ASYNC,
  LW_MUTEX_BLOCKED,
  LW_MUTEX_GATE,
  LW_MUTEX_OWNER,
  LW_MUTEX_RESERVED,
  LW_MUTEX_STATE,
  LW_OWES,
  LW_QUEUE,
  LW_QUEUED,
  LW_TIMED_OUT,
  LW_WHY,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * Takes the mutex if it is free and no agent waits. The fast path of every lock.
 *
 * @param {Words} mutex
 * @param {number} self
 * @returns {boolean}
 */
export function mutexTake(mutex, self) {
  const LW_MUTEX_STATE = 0;

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
  const LW_MUTEX_STATE = 0;

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
      if (next === 0) waitersNotify(mutex, state, 1);
      return;
    }
  }
}

/**
 * @param {Words} mutex
 * @param {number} phase
 * @returns {Answer}
 */
function giveUp(mutex, phase) {
  if (waitersStarves(phase)) withdraw(mutex);
  if (phase & LW_OWES) notify(mutex, LW_MUTEX_STATE, 1);
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
  phase = waitersResume(phase, why);
  if ((why & LW_WHY) === LW_CANCELLED) return giveUp(mutex, phase);

  let seen = Atomics.load(mutex, LW_MUTEX_STATE);
  for (;;) {
    const state = seen;
    if (isFree(state) && (!(state & LW_MUTEX_RESERVED) || phase & LW_ENTITLED)) {
      const taken =
        (waitersUnreserves(phase, why) ? state & ~LW_MUTEX_RESERVED : state) |
        self |
        (phase & LW_OWES ? LW_MUTEX_BLOCKED : 0);
      seen = Atomics.compareExchange(mutex, LW_MUTEX_STATE, state, taken);
      if (seen === state) return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
      continue;
    }
    if ((why & LW_WHY) === LW_TIMED_OUT) return giveUp(mutex, phase);
    if ((state & LW_MUTEX_OWNER) === self && !async)
      return { what: LW_DEADLOCK, word: 0, phase: 0, expected: 0 };
    if (async && !(why & LW_QUEUED))
      return { what: LW_QUEUE, word: LW_MUTEX_GATE, phase, expected: 0 };

    const marked = state | flag | (waitersStarves(phase) && !isFree(state) ? LW_MUTEX_RESERVED : 0);
    if (marked !== state) {
      // Release: an unlocker that sees the mark also sees the wait that was queued before it.
      seen = Atomics.compareExchange(mutex, LW_MUTEX_STATE, state, marked);
      if (seen !== state) continue;
    }
    return {
      what: waitersWay(phase, isFree(marked)),
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
  waitersNotify(mutex, state, 1);
  return true;
}

/**
 * A dead agent makes no further step. If the word names it as the owner, because it held the mutex
 * or was about to free it, only this function can free the mutex.
 *
 * The dead agent may also have consumed a wake that it owed to other waiters (core/waiters.h): it
 * freed the mutex and had not yet notified (rule 2), or it was woken and had done nothing yet (rule
 * 3). The words do not tell whether it did. So this function wakes those waiters that an unlock
 * would notify, in any case. If no wake was lost, these wake-ups are spurious, and every wait
 * survives that.
 *
 * A dead agent can also leave marks, which cost the next unlock a notify, and a reservation, which
 * a newcomer's brief wait ends (rule 4).
 *
 * @param {Words} mutex
 * @param {number} dead
 */
export function mutexBuryStep(mutex, dead) {
  mutexUnlockStep(mutex, dead);
  waitersNotify(mutex, LW_MUTEX_BLOCKED | LW_MUTEX_ASYNC, 1);
}
