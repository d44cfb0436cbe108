/*
 * rwlock.c: the read-write lock's steps. The meaning of the words is in core/rwlock.h.
 *
 * Printed by `make core` from src/core/rwlock.c and include/lockword/core/rwlock.h: do not edit.
 */

import { waitersChange, waitersWait } from './waiters.js';
import {
  LW_ASYNC,
  LW_DEADLOCK,
  LW_DONE,
  LW_NOT_EQUAL,
  LW_NOT_OWNER,
  LW_OK,
  LW_OVERFLOW,
  LW_RETRY,
  LW_RWLOCK_READER,
  LW_RWLOCK_READERS,
  LW_RWLOCK_READERS_TURN,
  LW_RWLOCK_RESERVED,
  LW_RWLOCK_UPGRADABLE,
  LW_RWLOCK_WRITER,
  LW_RWLOCK_WRITERS_TURN,
  LW_SLICE,
  LW_WAIT_BRIEF,
  LW_WAIT_IDLE,
  LW_WHY,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

const LW_RWLOCK_STATE = 0;
const LW_RWLOCK_OWNER = 2;

const HOLDERS = LW_RWLOCK_READERS | LW_RWLOCK_UPGRADABLE | LW_RWLOCK_WRITER;
const CLAIMS = LW_RWLOCK_READERS_TURN | LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_RESERVED;

// The phase: what a locker remembers from one call to the next.
const WAITED_FOR_WRITER = 0x1; // waited while an agent wrote
const CLAIMED = 0x2; // may have set a claim
const ENTITLED = 0x4; // the lock stayed free through a brief wait: the claims are stale
const ONE_WAKE = 0x8; // bits from here on: waits without success, up to MAX_WAKES

// A reader that saw a writer while it waited goes first after that writer. A reader that was woken
// this often, and was never fast enough to see one, goes first all the same. A future owner that
// was woken this often reserves the lock.
const MAX_WAKES = 8;
const WOKEN_OFTEN = MAX_WAKES * ONE_WAKE;

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
 * Reads, or writes, if no agent waits and none holds the lock in a way that excludes it. The fast
 * paths of the steps.
 *
 * @param {Words} rwlock
 * @returns {boolean}
 */
export function rwlockTakeRead(rwlock) {
  let seen = Atomics.load(rwlock, LW_RWLOCK_STATE);
  while (seen >>> 0 < LW_RWLOCK_READERS) {
    const state = seen;
    seen = Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, state, state + LW_RWLOCK_READER);
    if (seen === state) return true;
  }
  return false;
}

/**
 * @param {Words} rwlock
 * @param {number} self
 * @returns {boolean}
 */
export function rwlockTakeWrite(rwlock, self) {
  if (Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, 0, LW_RWLOCK_WRITER) !== 0) return false;
  Atomics.store(rwlock, LW_RWLOCK_OWNER, self);
  return true;
}

/**
 * A way to lock is given by what the caller has before (0 or UPGRADABLE) and after (READER,
 * UPGRADABLE or WRITER). This function returns the holders that exclude it. Not inlined, like two
 * more functions below, since they have several callers.
 *
 * @param {number} before
 * @param {number} after
 * @returns {number}
 */
function excludedBy(before, after) {
  if (after === LW_RWLOCK_READER) return LW_RWLOCK_WRITER;
  if (after === LW_RWLOCK_UPGRADABLE) return LW_RWLOCK_WRITER | LW_RWLOCK_UPGRADABLE;
  return before ? LW_RWLOCK_READERS : HOLDERS;
}

/**
 * Returns the turn that a caller may claim.
 *
 * @param {number} after
 * @returns {number}
 */
function turnOf(after) {
  return after === LW_RWLOCK_WRITER ? LW_RWLOCK_WRITERS_TURN : LW_RWLOCK_READERS_TURN;
}

/**
 * Returns all claims that a caller may set while it waits, and that it clears. An owner that
 * upgrades reserves nothing: it is the owner already, and takes from no future owner.
 *
 * @param {number} before
 * @param {number} after
 * @returns {number}
 */
function claimsOf(before, after) {
  return turnOf(after) | (before || after === LW_RWLOCK_READER ? 0 : LW_RWLOCK_RESERVED);
}

/**
 * Return the state of this moment, and the agent that writes or reads upgradably (0: none).
 *
 * @param {Words} rwlock
 * @returns {number}
 */
export function rwlockState(rwlock) {
  return Atomics.load(rwlock, LW_RWLOCK_STATE);
}

/**
 * @param {Words} rwlock
 * @returns {number}
 */
export function rwlockOwner(rwlock) {
  return Atomics.load(rwlock, LW_RWLOCK_OWNER);
}

/**
 * Returns whether the caller has `before`, from which it wants to become something else. Each step
 * checks this whenever it is resumed: an agent has several callers, and another one may have given
 * up meanwhile what this one had when its wait began.
 *
 * @param {Words} rwlock
 * @param {number} state
 * @param {number} before
 * @param {number} self
 * @returns {boolean}
 */
function has(rwlock, state, before, self) {
  return (state & before) !== 0 && rwlockOwner(rwlock) === self;
}

/**
 * @param {number} phase
 * @returns {boolean}
 */
function wasWokenOften(phase) {
  return phase >= WOKEN_OFTEN;
}

/**
 * Returns whether the caller has to let others go first, although no holder excludes it.
 *
 * @param {number} state
 * @param {number} after
 * @param {number} phase
 * @returns {boolean}
 */
function isBarred(state, after, phase) {
  if (phase & ENTITLED) return false;
  if (after !== LW_RWLOCK_READER && state & LW_RWLOCK_RESERVED && phase < ONE_WAKE) return true;
  if (after === LW_RWLOCK_WRITER) return (state & LW_RWLOCK_READERS_TURN) !== 0;
  return (
    (state & LW_RWLOCK_WRITERS_TURN) !== 0 &&
    !(state & LW_RWLOCK_READERS_TURN) &&
    !(phase & WAITED_FOR_WRITER) &&
    !wasWokenOften(phase)
  );
}

/**
 * Returns whether there is no place for one more reader, of either kind.
 *
 * @param {number} state
 * @param {number} after
 * @returns {boolean}
 */
function isFull(state, after) {
  const kept = state & LW_RWLOCK_UPGRADABLE ? 1 : 0;
  return after !== LW_RWLOCK_WRITER && (state & LW_RWLOCK_READERS) + kept >= LW_RWLOCK_READERS;
}

/**
 * Takes the lock, and returns what the word held: `state`, or a newer value to look at. An entitled
 * caller ends all claims, since they are stale.
 *
 * @param {Words} rwlock
 * @param {number} state
 * @param {number} before
 * @param {number} after
 * @param {number} self
 * @param {number} phase
 * @returns {number}
 */
function take(rwlock, state, before, after, self, phase) {
  const ended = phase & ENTITLED ? CLAIMS : claimsOf(before, after);
  const seen = Atomics.compareExchange(
    rwlock,
    LW_RWLOCK_STATE,
    state,
    (state & ~ended) - before + after,
  );
  if (seen === state && after !== LW_RWLOCK_READER) Atomics.store(rwlock, LW_RWLOCK_OWNER, self);
  return seen;
}

/**
 * Takes the claims back, and wakes the agents that they kept waiting. Other waiters with the same
 * claim set it again.
 *
 * @param {Words} rwlock
 * @param {number} claims
 */
function withdraw(rwlock, claims) {
  let seen = Atomics.load(rwlock, LW_RWLOCK_STATE);
  while (seen & claims) {
    const state = seen;
    seen = waitersChange(rwlock, state, state & ~claims);
    if (seen === state) return;
  }
}

/**
 * @param {number} phase
 * @param {number} why
 * @param {number} state
 * @returns {number}
 */
function resume(phase, why, state) {
  const reason = why & LW_WHY;
  if (reason === LW_SLICE && !(state & HOLDERS)) return phase | ENTITLED;
  return (reason === LW_OK || reason === LW_NOT_EQUAL) && !wasWokenOften(phase)
    ? phase + ONE_WAKE
    : phase;
}

/**
 * @param {Words} rwlock
 * @param {number} before
 * @param {number} after
 * @param {number} self
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
function lockStep(rwlock, before, after, self, why, phase) {
  const state = Atomics.load(rwlock, LW_RWLOCK_STATE);
  const refused =
    before && !has(rwlock, state, before, self)
      ? LW_NOT_OWNER
      : isFull(state, after)
        ? LW_OVERFLOW
        : 0;
  phase = resume(phase, why, state);
  if (
    !refused &&
    !(state & excludedBy(before, after)) &&
    (before || !isBarred(state, after, phase))
  )
    return {
      what: take(rwlock, state, before, after, self, phase) === state ? LW_DONE : LW_RETRY,
      word: 0,
      phase,
      expected: 0,
    };
  if (phase & CLAIMED && (refused || givesUp(why))) withdraw(rwlock, claimsOf(before, after));
  if (refused) return { what: refused, word: 0, phase: 0, expected: 0 };
  if (!before && !(why & LW_ASYNC) && rwlockOwner(rwlock) === self)
    return { what: LW_DEADLOCK, word: 0, phase: 0, expected: 0 };

  let claim = 0;
  if (after === LW_RWLOCK_WRITER || state & LW_RWLOCK_WRITER) claim = turnOf(after);
  if (wasWokenOften(phase)) claim |= claimsOf(before, after) & LW_RWLOCK_RESERVED;
  if (claim) phase |= CLAIMED;
  if (state & LW_RWLOCK_WRITER) phase |= WAITED_FOR_WRITER;
  return waitersWait(
    rwlock,
    state,
    claim,
    state & HOLDERS ? LW_WAIT_IDLE : LW_WAIT_BRIEF,
    why,
    phase & ~ENTITLED,
  );
}

/**
 * Steps: read, read upgradably, write; and become the writer, for the upgradable reader. The first
 * two return LW_OVERFLOW if there are too many readers. The last returns LW_NOT_OWNER, on any call,
 * if self does not read upgradably, or not any more, since another caller of the same agent has
 * given that up or has become the writer.
 *
 * @param {Words} rwlock
 * @param {number} self
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function rwlockReadStep(rwlock, self, why, phase) {
  return lockStep(rwlock, 0, LW_RWLOCK_READER, self, why, phase);
}

/**
 * @param {Words} rwlock
 * @param {number} self
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function rwlockUpreadStep(rwlock, self, why, phase) {
  return lockStep(rwlock, 0, LW_RWLOCK_UPGRADABLE, self, why, phase);
}

/**
 * @param {Words} rwlock
 * @param {number} self
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function rwlockWriteStep(rwlock, self, why, phase) {
  return lockStep(rwlock, 0, LW_RWLOCK_WRITER, self, why, phase);
}

/**
 * @param {Words} rwlock
 * @param {number} self
 * @param {number} why
 * @param {number} phase
 * @returns {Answer}
 */
export function rwlockUpgradeStep(rwlock, self, why, phase) {
  return lockStep(rwlock, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER, self, why, phase);
}

/**
 * Goes from `before` (0, or LW_RWLOCK_UPGRADABLE, which the caller must have) to `after`
 * (LW_RWLOCK_READER, LW_RWLOCK_UPGRADABLE or LW_RWLOCK_WRITER) if no holder excludes that, whatever
 * claims waiters have. Returns whether it did.
 *
 * @param {Words} rwlock
 * @param {number} before
 * @param {number} after
 * @param {number} self
 * @returns {boolean}
 */
export function rwlockTryStep(rwlock, before, after, self) {
  let seen = Atomics.load(rwlock, LW_RWLOCK_STATE);
  if (before && !has(rwlock, seen, before, self)) return false;
  while (!(seen & excludedBy(before, after)) && !isFull(seen, after)) {
    const state = seen;
    seen = take(rwlock, state, before, after, self, 0);
    if (seen === state) return true;
  }
  return false;
}

/**
 * Gives up a read, and wakes. Returns false, with nothing changed, if no agent reads.
 *
 * @param {Words} rwlock
 * @returns {boolean}
 */
export function rwlockUnreadStep(rwlock) {
  let seen = Atomics.load(rwlock, LW_RWLOCK_STATE);
  let state;
  do {
    state = seen;
    const readers = state & LW_RWLOCK_READERS;
    if (readers === 0) return false;
    // Only the last reader to leave makes room for another agent.
    if (readers === 1) seen = waitersChange(rwlock, state, (state - 1) | 0);
    else seen = Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, state, state - 1);
  } while (seen !== state);
  return true;
}

/**
 * Goes from LW_RWLOCK_WRITER or LW_RWLOCK_UPGRADABLE to something less (0 is nothing), and wakes.
 * Returns false, with nothing changed, if self does not have `before`.
 *
 * @param {Words} rwlock
 * @param {number} before
 * @param {number} after
 * @param {number} self
 * @returns {boolean}
 */
export function rwlockBecomeStep(rwlock, before, after, self) {
  let seen = Atomics.load(rwlock, LW_RWLOCK_STATE);
  if (!has(rwlock, seen, before, self)) return false;
  if (after !== LW_RWLOCK_UPGRADABLE) Atomics.store(rwlock, LW_RWLOCK_OWNER, 0);
  let state;
  do {
    state = seen;
    seen = waitersChange(rwlock, state, (state - before + after) | 0);
  } while (seen !== state);
  return true;
}
