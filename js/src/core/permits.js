/*
 * permits.c: the steps of permits that have owners. The meaning of the words is in core/permits.h.
 *
 * Why no waiter is stranded:
 *
 *   1. A waiter reads the state, looks at all permits, marks the state that it read with its bit,
 *      and waits only while the state is the one that it marked. A release frees its permit first
 *      and then moves the state's sequence. So either the waiter sees the free permit, or the
 *      release sees the mark, or the wait does not begin.
 *   2. A release that sees the mark for threads notifies one thread. The mark stays, since only a
 *      notify that finds no thread shows that none is asleep. So as many threads are woken as
 *      permits become free, and a woken thread that finds none has lost it to a running one.
 *   3. When the mark goes, some may have fallen asleep since that notify. So the release notifies
 *      one more, which finds that the mark is gone: it sets the mark and waits again, or it takes a
 *      permit and notifies another one.
 *   4. A thread that may have consumed a notify, and gives up, notifies another one.
 *   5. The mark for event loops goes, and all of them are notified.
 *
 * Printed by `make core` from src/core/permits.c and include/lockword/core/permits.h: do not edit.
 */

import { notify } from '../wait.js';
import {
  waitersNotify,
  waitersResume,
  waitersStarves,
  waitersUnreserves,
  waitersWait,
  waitersWay,
} from './waiters.js';
import {
  LW_ALL,
  LW_ASYNC,
  LW_ASYNC_WAITERS,
  LW_BLOCKED_WAITERS,
  LW_CANCELLED,
  LW_DONE,
  LW_ENTITLED,
  LW_GAVE_UP,
  LW_OWES,
  LW_PERMITS_DRAINS,
  LW_PERMITS_FIRST,
  LW_PERMITS_GATE,
  LW_PERMITS_NONE,
  LW_PERMITS_RESERVED,
  LW_PERMITS_SEQUENCE,
  LW_PERMITS_STATE,
  LW_QUEUE,
  LW_QUEUED,
  LW_TIMED_OUT,
  LW_WAITERS,
  LW_WAIT_IDLE,
  LW_WHY,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

// The phase's own bit: the caller has begun to wait, so that its phase is not 0.
const WAITS = 0x0004;

// The sequence's bits. Fewer are explored, so that there are fewer states.
const GENERATIONS = LW_PERMITS_SEQUENCE;

/**
 * Returns how many permits there are; LW_PERMITS_MAX if the word says more.
 *
 * @param {Words} permits
 * @returns {number}
 */
export function permitsCount(permits) {
  const LW_PERMITS_COUNT = 2;
  const LW_PERMITS_MAX = 252;

  const count = permits[LW_PERMITS_COUNT];
  return count >>> 0 > LW_PERMITS_MAX ? LW_PERMITS_MAX : count;
}

/**
 * Returns how many of the permits are this agent's; of 0: how many are free. May be outdated.
 *
 * @param {Words} permits
 * @param {number} owner
 * @returns {number}
 */
export function permitsOf(permits, owner) {
  const count = permitsCount(permits);
  let n = 0;
  for (let which = 0; which !== count; which = (which + 1) | 0) {
    // Acquire: an agent that finds all of them free sees what their owners did before.
    if (Atomics.load(permits, (LW_PERMITS_FIRST + which) | 0) === owner) n = (n + 1) | 0;
  }
  return n;
}

/**
 * Returns the first permit of this agent, or LW_PERMITS_NONE; of 0: the first that is free.
 *
 * @param {Words} permits
 * @param {number} owner
 * @returns {number}
 */
export function permitsFind(permits, owner) {
  const count = permitsCount(permits);
  for (let which = 0; which !== count; which = (which + 1) | 0) {
    if (Atomics.load(permits, (LW_PERMITS_FIRST + which) | 0) === owner) return which;
  }
  return LW_PERMITS_NONE;
}

/**
 * Takes a permit for this agent if one is free, reserved or not. Returns which; LW_PERMITS_NONE:
 * each of them was taken when the function looked at it.
 *
 * @param {Words} permits
 * @param {number} self
 * @returns {number}
 */
export function permitsTryStep(permits, self) {
  const count = permitsCount(permits);
  for (let which = 0; which !== count; which = (which + 1) | 0) {
    if (
      Atomics.load(permits, (LW_PERMITS_FIRST + which) | 0) === 0 &&
      Atomics.compareExchange(permits, (LW_PERMITS_FIRST + which) | 0, 0, self) === 0
    )
      return which;
  }
  return LW_PERMITS_NONE;
}

/**
 * The end of a release: moves the sequence, and wakes a thread and all event loops.
 *
 * @param {Words} permits
 */
function announce(permits) {
  let state;
  let next;
  let wakes;
  do {
    // Acquire, in each round: whoever moves the state after another release also sees the
    // permit that this one freed.
    state = Atomics.load(permits, LW_PERMITS_STATE);
    // An agent that waits for all permits is woken by the last of these releases only.
    wakes = !(state & LW_PERMITS_DRAINS) || permitsOf(permits, 0) === permitsCount(permits);
    next = (state & ~LW_PERMITS_SEQUENCE) | ((state + 1) & GENERATIONS);
    if (wakes) next &= ~(LW_PERMITS_DRAINS | LW_ASYNC_WAITERS);
    // Acquire: pairs with the mark.
  } while (Atomics.compareExchange(permits, LW_PERMITS_STATE, state, next) !== state);
  if (!wakes) return;
  if (state & LW_ASYNC_WAITERS) notify(permits, LW_PERMITS_GATE);
  // No thread was asleep. Some may be by the time that the mark goes: then one is woken.
  if (
    state & LW_BLOCKED_WAITERS &&
    notify(permits, LW_PERMITS_STATE, 1) === 0 &&
    Atomics.compareExchange(permits, LW_PERMITS_STATE, next, next & ~LW_BLOCKED_WAITERS) === next
  )
    notify(permits, LW_PERMITS_STATE, 1);
}

/**
 * Frees this permit, notifies, and returns true. Returns false, with nothing changed, if it is not
 * this agent's.
 *
 * @param {Words} permits
 * @param {number} which
 * @param {number} self
 * @returns {boolean}
 */
export function permitsReleaseStep(permits, which, self) {
  const LW_PERMITS_FIRST = 4;

  if (
    which >>> 0 >= permitsCount(permits) >>> 0 ||
    permits[(LW_PERMITS_FIRST + which) | 0] !== self
  )
    return false;
  Atomics.store(permits, (LW_PERMITS_FIRST + which) | 0, 0);
  announce(permits);
  return true;
}

/**
 * Takes back a reservation. Agents that it barred from the permits that are free may be asleep: as
 * many of them are woken as there are permits.
 *
 * @param {Words} permits
 */
function withdraw(permits) {
  let seen = Atomics.load(permits, LW_PERMITS_STATE);
  let state;
  do {
    state = seen;
    if (!(state & LW_PERMITS_RESERVED)) return;
    seen = Atomics.compareExchange(permits, LW_PERMITS_STATE, state, state & ~LW_PERMITS_RESERVED);
  } while (seen !== state);
  const n = permitsOf(permits, 0);
  if (n !== 0) waitersNotify(permits, state, n);
}

/**
 * @param {Words} permits
 * @param {number} phase
 * @returns {Answer}
 */
function giveUp(permits, phase) {
  if (waitersStarves(phase)) withdraw(permits);
  if (phase & LW_OWES) notify(permits, LW_PERMITS_STATE, 1);
  return { what: LW_GAVE_UP, word: 0, phase: 0, expected: 0 };
}

/**
 * A step: takes a permit for this agent, and waits as often as needed. `expected` of LW_DONE says
 * which.
 *
 * @param {Words} permits
 * @param {number} self
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function permitsAcquireStep(permits, self, why, phase) {
  const async = (why & LW_ASYNC) !== 0;
  // A caller that has not waited has phase 0: that its time is up entitles it to nothing.
  phase = phase ? waitersResume(phase, why) : 0;
  if ((why & LW_WHY) === LW_CANCELLED) return giveUp(permits, phase);

  for (;;) {
    // Acquire: the permits that were freed before this state are seen to be free.
    const state = Atomics.load(permits, LW_PERMITS_STATE);
    const isBarred = (state & LW_PERMITS_RESERVED) !== 0 && !(phase & LW_ENTITLED);
    if (!isBarred) {
      const which = permitsTryStep(permits, self);
      if (which !== LW_PERMITS_NONE) {
        if (waitersUnreserves(phase, why)) withdraw(permits);
        // Rule 3.
        if (phase & LW_OWES && !(state & LW_BLOCKED_WAITERS)) notify(permits, LW_PERMITS_STATE, 1);
        return { what: LW_DONE, word: 0, phase: 0, expected: which };
      }
    }
    if ((why & LW_WHY) === LW_TIMED_OUT) return giveUp(permits, phase);
    if (async && !(why & LW_QUEUED))
      return { what: LW_QUEUE, word: LW_PERMITS_GATE, phase, expected: 0 };

    const isFree = isBarred && permitsOf(permits, 0) !== 0;
    // If an agent that waited for all permits gave up, its mark goes here.
    const marked =
      (state & ~LW_PERMITS_DRAINS) |
      (async ? LW_ASYNC_WAITERS : LW_BLOCKED_WAITERS) |
      (waitersStarves(phase) ? LW_PERMITS_RESERVED : 0);
    // Release: a release that sees the mark also sees the wait that was queued before it.
    if (
      marked !== state &&
      Atomics.compareExchange(permits, LW_PERMITS_STATE, state, marked) !== state
    )
      continue;
    return {
      what: waitersWay(phase, isFree),
      word: async ? LW_PERMITS_GATE : LW_PERMITS_STATE,
      phase: phase | WAITS,
      expected: async ? 0 : marked,
    };
  }
}

/**
 * A step: waits until all permits are free. Only where a mutex lets one agent at a time wait here,
 * be it in this step or in permitsAcquireStep, and where that agent has no permit.
 *
 * @param {Words} permits
 * @param {number} unused
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function permitsDrainStep(permits, unused, why, phase) {
  const state = Atomics.load(permits, LW_PERMITS_STATE);
  if (permitsOf(permits, 0) === permitsCount(permits))
    return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
  return waitersWait(permits, state, LW_PERMITS_DRAINS, LW_WAIT_IDLE, why, phase);
}

/**
 * Call this once an agent is known to have died, anywhere in any operation. Its permits are free
 * afterwards, and all waiters are woken: the agent may have consumed a notify, or owed one. It may
 * be called again. Returns how many permits it freed. Illegal while the agent may make another
 * step, and where another agent has the same id.
 *
 * @param {Words} permits
 * @param {number} dead
 * @returns {number}
 */
export function permitsBuryStep(permits, dead) {
  const count = permitsCount(permits);
  let freed = 0;
  for (let which = 0; which !== count; which = (which + 1) | 0) {
    if (Atomics.load(permits, (LW_PERMITS_FIRST + which) | 0) === dead) {
      Atomics.store(permits, (LW_PERMITS_FIRST + which) | 0, 0);
      freed = (freed + 1) | 0;
    }
  }
  let seen = Atomics.load(permits, LW_PERMITS_STATE);
  let state;
  do {
    state = seen;
    seen = Atomics.compareExchange(permits, LW_PERMITS_STATE, state, (state + 1) & GENERATIONS);
  } while (seen !== state);
  waitersNotify(permits, LW_WAITERS, LW_ALL);
  return freed;
}
