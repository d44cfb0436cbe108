/*
 * rwlock.c: the read-write lock's steps. The meaning of the words is in core/rwlock.h.
 *
 * Threads that wait to write sleep on the state. One can go on at a time, so a wake obliges
 * (core/waiters.h). All others sleep on the generation: readers, upgradable readers, and an owner
 * that upgrades. All of them are woken at once. An unlock wakes one kind, as the turn says:
 *
 *   1. After a writer, the threads on the generation are woken; after readers, one writer. If a
 *      mark is outdated and none of that kind is asleep, the other kind is woken.
 *   2. An agent that wakes the threads on the generation clears their mark first, then moves the
 *      generation, then frees the lock. From that moment on the memory may be gone. A thread loads
 *      the generation before it marks the state. So if the mark was cleared after that, the thread
 *      is asleep by the notify, or finds that the generation has moved. Until the lock is free, it
 *      is LEAVING: threads that come now sleep on the state, whatever they wait for, and set MIXED.
 *      Then all that sleep there are woken. (If they set the mark again, an agent could be kept
 *      from freeing the lock for ever.)
 *   3. A thread that sleeps does not claim its turn again after another writer's turn has ended. So
 *      a reader that comes, and finds no claim but the mark of writers, wakes one of them, which
 *      claims. The unlock of a writer that wakes readers ends all writers' claims, so that these
 *      readers may go on.
 *   4. A thread that may have been woken for a turn, and gives up, wakes as an unlock does.
 *   5. An event loop reserves the lock as soon as it waits to write, since it runs later than a
 *      thread that was woken with it (docs/experiments.md, 'When an event loop reserves').
 *
 * Printed by `make core` from src/core/rwlock.c and include/lockword/core/rwlock.h: do not edit.
 */

import {
  givesUp,
  waitersResume,
  waitersStarves,
  waitersUnreserves,
  waitersWay,
} from './waiters.js';
import { notify } from '../wait.js';
import {
  LW_AGAIN,
  LW_ALL,
  LW_ASYNC,
  LW_ASYNC_WAITERS,
  LW_BLOCKED_WAITERS,
  LW_DEADLOCK,
  LW_DONE,
  LW_ENTITLED,
  LW_GAVE_UP,
  LW_NOT_OWNER,
  LW_OK,
  LW_OVERFLOW,
  LW_OWES,
  LW_QUEUE,
  LW_QUEUED,
  LW_RWLOCK_BLOCKED_READERS,
  LW_RWLOCK_GATE,
  LW_RWLOCK_GENERATION,
  LW_RWLOCK_LEAVING,
  LW_RWLOCK_MIXED,
  LW_RWLOCK_OWNER,
  LW_RWLOCK_READER,
  LW_RWLOCK_READERS,
  LW_RWLOCK_READERS_TURN,
  LW_RWLOCK_RESERVED,
  LW_RWLOCK_STATE,
  LW_RWLOCK_UPGRADABLE,
  LW_RWLOCK_WRITER,
  LW_RWLOCK_WRITERS_TURN,
  LW_SLICE,
  LW_WAIT_IDLE,
  LW_WHY,
} from './constants.js';

/**
 * @typedef {import('../blocking.js').Answer} Answer
 * @typedef {import('../wait.js').Words} Words
 */

const HOLDERS = LW_RWLOCK_READERS | LW_RWLOCK_UPGRADABLE | LW_RWLOCK_WRITER;
const CLAIMS = LW_RWLOCK_READERS_TURN | LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_RESERVED;

// The phase's own bits.
const WAITED_FOR_WRITER = 0x0004; // waited while an agent wrote: reads first after that writer
const CLAIMED = 0x0008; // may have set a claim

// The generation's bits. Fewer are explored, so that there are fewer states.
const GENERATIONS = 0xffffffff | 0;

/**
 * The fast paths of the steps: what they do if no agent waits. They return false, with nothing
 * changed, if the step has to be called.
 *
 * They guess the state rather than load it, since the load would cost nearly half of the
 * compare-and-swap after it. A guess that fails returns the state, and brings the cache line here
 * for another try. To begin a read, one more is enough: threads that fail twice are many, and had
 * better back off.
 *
 * @param {Words} rwlock
 * @returns {boolean}
 */
export function rwlockTakeRead(rwlock) {
  const LW_RWLOCK_STATE = 0;
  const LW_RWLOCK_READERS = 0x003fffff;
  const LW_RWLOCK_READER = 0x00000001;

  const seen = Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, 0, LW_RWLOCK_READER);
  // Less than READERS: no other bit is set, and there is a place for one more.
  return (
    seen === 0 ||
    (seen >>> 0 < LW_RWLOCK_READERS &&
      Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, seen, seen + LW_RWLOCK_READER) === seen)
  );
}

/**
 * @param {Words} rwlock
 * @returns {boolean}
 */
export function rwlockFreeRead(rwlock) {
  const LW_RWLOCK_STATE = 0;
  const LW_RWLOCK_READERS = 0x003fffff;
  const LW_RWLOCK_READER = 0x00000001;

  let seen = LW_RWLOCK_READER;
  do {
    const state = seen;
    seen = Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, state, state - LW_RWLOCK_READER);
    if (seen === state) return true;
  } while (seen !== 0 && seen >>> 0 <= LW_RWLOCK_READERS);
  return false;
}

/**
 * @param {Words} rwlock
 * @param {number} self
 * @returns {boolean}
 */
export function rwlockTakeWrite(rwlock, self) {
  const LW_RWLOCK_STATE = 0;
  const LW_RWLOCK_OWNER = 2;
  const LW_RWLOCK_WRITER = 0x02000000;

  if (Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, 0, LW_RWLOCK_WRITER) !== 0) return false;
  rwlock[LW_RWLOCK_OWNER] = self;
  return true;
}

/**
 * @param {Words} rwlock
 * @param {number} self
 * @returns {boolean}
 */
export function rwlockFreeWrite(rwlock, self) {
  const LW_RWLOCK_STATE = 0;
  const LW_RWLOCK_OWNER = 2;
  const LW_RWLOCK_WRITER = 0x02000000;

  if (rwlock[LW_RWLOCK_OWNER] !== self) return false;
  // This precedes the swap that frees the lock: after it, the next owner may come, and the memory
  // may be gone.
  rwlock[LW_RWLOCK_OWNER] = 0;
  if (Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, LW_RWLOCK_WRITER, 0) === LW_RWLOCK_WRITER)
    return true;
  rwlock[LW_RWLOCK_OWNER] = self;
  return false;
}

/**
 * What a caller asks for is given by what it has before (0 or UPGRADABLE) and after (READER,
 * UPGRADABLE or WRITER). This function returns the holders that exclude that. It has several
 * callers, all on slow paths, as has is_full: inlined in all of them, the two would make the code
 * larger.
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
 * Returns whether the caller has to let others go first, although no holder excludes it.
 *
 * @param {number} state
 * @param {number} after
 * @param {number} phase
 * @returns {boolean}
 */
function isBarred(state, after, phase) {
  if (after !== LW_RWLOCK_READER && state & LW_RWLOCK_RESERVED && !(phase & LW_ENTITLED))
    return true;
  if (after === LW_RWLOCK_WRITER) return (state & LW_RWLOCK_READERS_TURN) !== 0;
  return (
    (state & LW_RWLOCK_WRITERS_TURN) !== 0 &&
    !(state & LW_RWLOCK_READERS_TURN) &&
    !(phase & WAITED_FOR_WRITER) &&
    !waitersStarves(phase)
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
 * Takes the lock, and returns what the word held: `state`, or a newer value to look at.
 *
 * @param {Words} rwlock
 * @param {number} state
 * @param {number} next
 * @param {number} after
 * @param {number} self
 * @returns {number}
 */
function take(rwlock, state, next, after, self) {
  const LW_RWLOCK_STATE = 0;
  const LW_RWLOCK_OWNER = 2;
  const LW_RWLOCK_READER = 0x00000001;

  const seen = Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, state, next);
  if (seen === state && after !== LW_RWLOCK_READER) rwlock[LW_RWLOCK_OWNER] = self;
  return seen;
}

/**
 * Moves the generation, unless another agent does so at the same time. Release: a thread that loads
 * the new one also finds that its mark was cleared.
 *
 * @param {Words} rwlock
 */
function moveGeneration(rwlock) {
  const generation = Atomics.load(rwlock, LW_RWLOCK_GENERATION);
  Atomics.compareExchange(rwlock, LW_RWLOCK_GENERATION, generation, (generation + 1) & GENERATIONS);
}

/**
 * Goes from `before` to `after` (0 is nothing), ends these claims, sets the mark that is owed, and
 * wakes those who may go on: rules 1 and 2. Returns false, with nothing changed, if `before` is
 * READER and no agent reads.
 *
 * @param {Words} rwlock
 * @param {number} before
 * @param {number} after
 * @param {number} claims
 * @param {number} owed
 * @returns {boolean}
 */
function give(rwlock, before, after, claims, owed) {
  let readersMark = 0; // if this function has cleared it
  let seen = Atomics.load(rwlock, LW_RWLOCK_STATE);
  for (;;) {
    const state = seen;
    if (before === LW_RWLOCK_READER && !(state & LW_RWLOCK_READERS)) return false;
    const remains = (((state | owed) & ~claims) - before + after) | 0;
    // Only the last reader to leave makes room for another agent.
    const wakes =
      !(remains & LW_RWLOCK_WRITER) &&
      !(before === LW_RWLOCK_READER && remains & LW_RWLOCK_READERS);
    if (wakes && state & LW_RWLOCK_BLOCKED_READERS) {
      const cleared = (state & ~LW_RWLOCK_BLOCKED_READERS) | LW_RWLOCK_LEAVING;
      // Acquire: the generation that is loaded next is the one of the last clearing.
      seen = Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, state, cleared);
      if (seen === state) {
        moveGeneration(rwlock);
        readersMark = LW_RWLOCK_BLOCKED_READERS;
        seen = cleared;
      }
      continue;
    }
    const writerSleeps =
      wakes &&
      !(remains & LW_RWLOCK_MIXED) &&
      !(remains & HOLDERS) &&
      (remains & LW_BLOCKED_WAITERS) !== 0;
    const writerFirst =
      writerSleeps && before !== LW_RWLOCK_WRITER && !(remains & LW_RWLOCK_READERS_TURN);
    const markAgain = writerFirst ? readersMark : 0;
    let ends = LW_RWLOCK_LEAVING;
    if (wakes) ends |= LW_ASYNC_WAITERS | LW_RWLOCK_MIXED;
    const wakesMixed = wakes && (remains & LW_RWLOCK_MIXED) !== 0;
    if (wakesMixed || (writerSleeps && (writerFirst || readersMark === 0)))
      ends |= LW_BLOCKED_WAITERS;
    if (before === LW_RWLOCK_WRITER && readersMark !== 0) ends |= LW_RWLOCK_WRITERS_TURN;
    // Acquire: pairs with the marks, so that the notifies come after the waits.
    seen = Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, state, (remains & ~ends) | markAgain);
    if (seen !== state) continue;
    // From here on the memory may be gone. Event loops are first, since one that is woken after
    // a thread often waits for that thread's CPU.
    if (wakes && remains & LW_ASYNC_WAITERS) notify(rwlock, LW_RWLOCK_GATE);
    let woken = 0;
    if (writerFirst) woken = notify(rwlock, LW_RWLOCK_STATE, 1);
    // Also if another agent has come in between: the threads whose mark is gone look again.
    if (woken === 0 && readersMark !== 0) woken = notify(rwlock, LW_RWLOCK_GENERATION);
    if (wakesMixed || (woken === 0 && writerSleeps && !writerFirst))
      notify(rwlock, LW_RWLOCK_STATE, (wakesMixed ? LW_ALL : 1) >>> 0);
    return true;
  }
}

/**
 * Returns the phase of a caller that was resumed for this reason.
 *
 * @param {number} phase
 * @param {number} why
 * @param {boolean} writes
 * @returns {number}
 */
function resume(phase, why, writes) {
  // A caller that has not waited has phase 0: that its time is up entitles it to nothing. Readers
  // that starve pass a writer whose turn it is, so a loop's first wake-up in vain does not make a
  // reader starve. One that waits to write starves anyway.
  if (phase === 0 || (why & LW_WHY) === LW_AGAIN) return phase;
  // Only writers re-check for fairness, so only they starve by a re-check.
  const rechecks = (why & LW_WHY) === LW_SLICE && !writes;
  return waitersResume(phase, rechecks ? LW_OK | (why & LW_ASYNC) : why);
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
  const async = (why & LW_ASYNC) !== 0;
  // An upgrade is neither of these. Its caller is an owner already: it waits for readers only,
  // beside those that sleep on the generation, and no claim bars it.
  const writes = !before && after === LW_RWLOCK_WRITER;
  const willOwn = !before && after !== LW_RWLOCK_READER;
  phase = resume(phase, why, writes);
  const starves = (writes && async) || waitersStarves(phase);
  // Before the state: rule 2.
  const generation = async || writes ? 0 : Atomics.load(rwlock, LW_RWLOCK_GENERATION);
  let seen = Atomics.load(rwlock, LW_RWLOCK_STATE);
  for (;;) {
    const state = seen;
    const isFree = !(state & HOLDERS);
    // The lock stayed free through a brief wait: those who claim it do not come.
    const isStale = isFree && (why & LW_WHY) === LW_SLICE;
    const owed = writes && phase & LW_OWES ? LW_BLOCKED_WAITERS : 0;
    const turn = phase & CLAIMED ? turnOf(after) : 0;
    const refused =
      before && !has(rwlock, state, before, self)
        ? LW_NOT_OWNER
        : isFull(state, after)
          ? LW_OVERFLOW
          : 0;
    if (
      !refused &&
      !(state & excludedBy(before, after)) &&
      (before || isStale || !isBarred(state, after, phase))
    ) {
      // Rule 3.
      const wakesWriter =
        after !== LW_RWLOCK_WRITER &&
        !(phase & LW_ENTITLED) &&
        (state & LW_BLOCKED_WAITERS) !== 0 &&
        !(state & (LW_RWLOCK_WRITERS_TURN | LW_RWLOCK_MIXED));
      const unreserves = willOwn && (starves || waitersUnreserves(phase, why));
      const claims = turn | (unreserves ? LW_RWLOCK_RESERVED : 0);
      const ended = (isStale ? CLAIMS : claims) | (wakesWriter ? LW_BLOCKED_WAITERS : 0);
      const next = (((state & ~ended) | owed) - before + after) | 0;
      seen = take(rwlock, state, next, after, self);
      if (seen !== state) continue;
      if (wakesWriter) notify(rwlock, LW_RWLOCK_STATE, 1);
      return { what: LW_DONE, word: 0, phase: 0, expected: 0 };
    }
    if (refused || givesUp(why)) {
      // A caller that starves, but has claimed nothing, has not reserved either.
      const claims = turn | (turn && willOwn && starves ? LW_RWLOCK_RESERVED : 0);
      if (phase & (CLAIMED | LW_OWES)) give(rwlock, 0, 0, claims, owed);
      return { what: refused ? refused : LW_GAVE_UP, word: 0, phase: 0, expected: 0 };
    }
    if (!before && !async && rwlockOwner(rwlock) === self)
      return { what: LW_DEADLOCK, word: 0, phase: 0, expected: 0 };
    const waited = phase | (state & LW_RWLOCK_WRITER ? WAITED_FOR_WRITER : 0);
    if (async && !(why & LW_QUEUED))
      return { what: LW_QUEUE, word: LW_RWLOCK_GATE, phase: waited, expected: 0 };

    // Nobody claims a free lock: those whose turn it is are on their way.
    let claim = 0;
    if (!isFree) {
      if (after === LW_RWLOCK_WRITER || state & LW_RWLOCK_WRITER) claim = turnOf(after);
      if (willOwn && starves) claim |= LW_RWLOCK_RESERVED;
    }
    const atState = writes || (state & LW_RWLOCK_LEAVING) !== 0;
    const mark = async
      ? LW_ASYNC_WAITERS
      : writes
        ? LW_BLOCKED_WAITERS
        : atState
          ? LW_BLOCKED_WAITERS | LW_RWLOCK_MIXED
          : LW_RWLOCK_BLOCKED_READERS;
    const marked = state | claim | mark;
    // Release: an agent that sees the mark also sees the wait that was queued before it.
    if (marked !== state) {
      seen = Atomics.compareExchange(rwlock, LW_RWLOCK_STATE, state, marked);
      if (seen !== state) continue;
    }
    const way = writes || isFree ? waitersWay(phase, isFree) : LW_WAIT_IDLE;
    return {
      what: way,
      word: async ? LW_RWLOCK_GATE : atState ? LW_RWLOCK_STATE : LW_RWLOCK_GENERATION,
      phase: (waited & ~LW_OWES) | LW_ENTITLED | (claim ? CLAIMED : 0),
      expected: async ? 0 : atState ? marked : generation,
    };
  }
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
    seen = take(rwlock, state, (state - before + after) | 0, after, self);
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
  return give(rwlock, LW_RWLOCK_READER, 0, 0, 0);
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
  const LW_RWLOCK_STATE = 0;
  const LW_RWLOCK_OWNER = 2;
  const LW_RWLOCK_UPGRADABLE = 0x01000000;

  if (!has(rwlock, Atomics.load(rwlock, LW_RWLOCK_STATE), before, self)) return false;
  if (after !== LW_RWLOCK_UPGRADABLE) rwlock[LW_RWLOCK_OWNER] = 0;
  return give(rwlock, before, after, 0, 0);
}
