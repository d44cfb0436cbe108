/// <reference lib="esnext.disposable" preserve="true" />
/** A mutex of a region: the same lock as lw_region_mutex in C (include/lockword/region.h). */

import { lockBlocking } from '../../../js/src/blocking.js';
import { LW_DEADLOCK, LW_DONE, LW_GAVE_UP } from '../../../js/src/core/constants.js';
import {
  mutexFree,
  mutexLockStep,
  mutexOwner,
  mutexTake,
  mutexTryStep,
  mutexUnlockStep,
} from '../../../js/src/core/mutex.js';
import { DeadlockError, OwnershipError, TimeoutError } from '../../../js/src/errors.js';
import { isDone, pending } from '../../../js/src/limits.js';
import { handOver } from '../../../js/src/line.js';
import { signalOf, timeoutOf, timeoutToBlock } from '../../../js/src/options.js';
import { RegionGuard, runGuarded } from '../../../js/src/region-guard.js';
import { enqueue } from '../../../js/src/turn.js';
import { addon } from './addon.js';
import { AbandonedError, RemovedError } from './errors.js';
import { beginToWait, closed } from './wait.js';

/** @typedef {import('lockword').WaitOptions} WaitOptions */

/**
 * The words of a slot from its mutex on: include/lockword/core/robust.h, and src/region/layout.h.
 */
const FATE = 2;
const ACQUISITIONS = 4;
const CONTENDED = 5;
const WORDS = 6;

/** A bit of what an agent is busy with: src/region/layout.h. */
const NOTIFIES = 0x80000000 | 0;

const OWNER_DIED = 1;
const ABANDONED = 2;
const NAME = -4;

/**
 * Symbol.dispose, or what transpilers use in its stead (js/src/guard.js).
 *
 * @type {typeof Symbol.dispose}
 */
export const dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');

/**
 * The thread that holds something, in words.
 *
 * @internal
 * @param {import('./region.js').Description['holder']} holder
 */
export const inWords = (holder) =>
  holder && `${holder.name} (process ${holder.pid}, thread ${holder.tid})`;

/**
 * A mutex that processes share. It has at most one holder: a thread of any process, which runs
 * JavaScript or C.
 *
 * If its holder's process or thread ends, the mutex becomes free, and the next holder is told:
 * `ownerDied`. What the mutex guards may be half written then. The holder mends it, and declares it
 * sound by `unlock`; or it calls `abandon`, and nobody gets the mutex until a `reset`.
 *
 *     const jobs = region.mutex('jobs');
 *     await jobs.runExclusive(({ ownerDied }) => {
 *       if (ownerDied) mend();
 *       change();
 *     });
 *
 * Made by `region.mutex(name)`. Other threads call that, too: there is nothing to post to them.
 */
export class RegionMutex {
  /** @type {import('./wait.js').State} */
  #region;
  #words;
  #offset;
  #fate;
  /** What this thread is busy with while it waits for the mutex. */
  #slot;

  /** @readonly Its name in the region. */
  name;

  /**
   * @internal
   * @param {import('./wait.js').State} region
   * @param {string} name
   * @param {number} offset
   * @param {number} fate
   */
  constructor(region, name, offset, fate) {
    this.#region = region;
    this.#words = new Int32Array(region.buffer, offset, WORDS);
    this.#offset = offset;
    this.#fate = fate;
    this.#slot = addon.slot(region.domain.handle, offset);
    this.name = name;
  }

  /** Whether a thread holds it. The answer may be old when you read it. */
  get isLocked() {
    this.#self();
    return mutexOwner(this.#words) !== 0 && this.#isNamed;
  }

  /** Whether this thread holds it, in whichever of its tasks. */
  get isMine() {
    return mutexOwner(this.#words) === this.#self() && this.#isNamed;
  }

  /** Whether it has its name still: once that was removed, another name may have the words. */
  get #isNamed() {
    return (this.#words[FATE] & NAME) === this.#fate;
  }

  /**
   * Whether this thread holds it, and a holder has died, and none has unlocked the mutex since:
   * what it guards may be half written.
   */
  get ownerDied() {
    return this.isMine && this.isTold;
  }

  /** @internal */
  get isTold() {
    return this.#words[FATE] === (this.#fate | OWNER_DIED);
  }

  /**
   * Takes the mutex, blocking this thread until it gets it. Look at `ownerDied` then.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} this thread holds it already
   * @throws {AbandonedError} a holder has abandoned it
   * @throws {RemovedError} its name was removed
   * @throws {ClosedError} this thread has closed the region
   */
  lock(options) {
    return this.#lock(options, 'lock');
  }

  /**
   * Takes the mutex without ever blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort, and
   *   with what `lock` throws
   */
  lockAsync(options) {
    return this.ask(options, isDone);
  }

  /**
   * Takes the mutex if it is free. Never waits, and never queues.
   *
   * @returns {boolean} false: a thread holds it, perhaps this one
   * @throws {AbandonedError} a holder has abandoned it
   * @throws {RemovedError} its name was removed
   */
  tryLock() {
    const self = this.#self();
    if (mutexTake(this.#words, self) || mutexTryStep(this.#words, self)) return this.#accept(self);
    this.#assertNamed();
    return false;
  }

  /**
   * Frees the mutex, and declares that what it guards is sound. Never waits.
   *
   * @throws {OwnershipError} this thread does not hold it
   */
  unlock() {
    const self = this.#self();
    if (this.#words[FATE] === this.#fate && mutexFree(this.#words, self)) handOver(this.#words);
    else if (addon.unlock(this.#region.domain.handle, this.#offset, this.#fate) !== 0)
      throw new OwnershipError('not held by this thread');
  }

  /**
   * Frees the mutex, and declares that what it guards is lost: nobody gets the mutex from now on,
   * before `reset`.
   *
   * @throws {OwnershipError} this thread does not hold it
   */
  abandon() {
    this.condemn();
    this.unlock();
  }

  /**
   * Declares that what it guards is lost, if this thread holds it.
   *
   * @internal
   */
  condemn() {
    if (this.isMine) Atomics.store(this.#words, FATE, this.#fate | ABANDONED);
  }

  /**
   * Takes an abandoned mutex, blocking this thread until it gets it, so that the caller can make
   * anew what the mutex guards. `unlock` makes known that this is done.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} true: held, and no longer abandoned; false: not held, since it was not
   *   abandoned, or the time was up
   */
  reset(options) {
    return this.#lock(options, 'reset', this.#renew);
  }

  /**
   * `reset`, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} what `reset` returns; rejects with `signal.reason` on abort
   */
  resetAsync(options) {
    return this.askReset(options, isDone);
  }

  /**
   * `ask` for a reset.
   *
   * @internal
   * @param {number | WaitOptions | undefined} options
   * @param {(answer: { what: number }) => any} toValue
   * @returns {Promise<any>}
   */
  askReset(options, toValue) {
    return this.ask(options, toValue, this.#renew);
  }

  /**
   * `lock`, as a guard: `using guard = mutex.acquire()`.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {RegionGuard}
   * @throws {TimeoutError} the time was up; and what `lock` throws
   */
  acquire(options) {
    return this.#guard(this.#lock(options, 'acquire'));
  }

  /**
   * `lockAsync`, as a guard: `using guard = await mutex.acquireAsync()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<RegionGuard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  acquireAsync(options) {
    return this.ask(options, ({ what }) => this.#guard(what === LW_DONE));
  }

  /**
   * Calls `fn` under the lock, and releases it when what `fn` returns has settled, or when it
   * throws. If it throws after a holder had died, then nobody has declared the data sound, and the
   * next holder is told, too.
   *
   * @template T
   * @param {(guard: RegionGuard) => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] of the lock: ms, or options; rejects with
   *   `signal.reason` on abort
   * @returns {Promise<T>} what `fn` returns
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  runExclusive(fn, options) {
    return runGuarded(this.acquireAsync(options), fn, (died) =>
      died ? this.leave() : this.unlock(),
    );
  }

  /**
   * What is known of it: who holds it, who waits, and how it has been used.
   *
   * @returns {import('./region.js').Description | undefined} undefined: its name was removed
   */
  describe() {
    const found = this.#region.describe(this.name);
    return this.#isNamed ? found : undefined;
  }

  /** Its state in words, which console.log shows, too. */
  toString() {
    if (!this.#region.self) return `RegionMutex '${this.name}' { closed }`;
    const found = this.describe();
    if (!found) return `RegionMutex '${this.name}' { removed }`;
    const { holder, state, waiters, held } = found;
    const say = [held ? `${held} read` : holder ? `held by ${inWords(holder)}` : 'free'];
    if (state !== 'sound') say.push(state === 'abandoned' ? 'abandoned' : 'a holder has died');
    if (waiters) say.push(`${waiters} thread${waiters === 1 ? '' : 's'} blocked`);
    return `RegionMutex '${this.name}' { ${say.join(', ')} }`;
  }

  [Symbol.for('nodejs.util.inspect.custom')]() {
    return this.toString();
  }

  /** This thread's id in the region. */
  #self() {
    const { self } = this.#region;
    if (!self) throw closed();
    return self;
  }

  /**
   * @param {number | WaitOptions | undefined} options
   * @param {string} call what the user called
   * @param {(self: number) => boolean} [accept]
   */
  #lock(options, call, accept = this.#accept) {
    const timeout = timeoutToBlock(options, call);
    const self = this.#self();
    if (!mutexTake(this.#words, self)) {
      this.#assertNamed();
      const what = this.#block(self, timeout);
      if (what === LW_DEADLOCK) throw new DeadlockError('held by this thread already');
      if (what !== LW_DONE) return false;
      this.#count(CONTENDED);
    }
    return accept.call(this, self);
  }

  /**
   * @param {number} self
   * @param {number} timeout
   */
  #block(self, timeout) {
    const { busy } = this.#region.domain;
    beginToWait(busy, this.#slot, this.#words[ACQUISITIONS]);
    try {
      return lockBlocking(this.#words, self, timeout);
    } finally {
      Atomics.store(busy, 0, 0);
    }
  }

  /**
   * mutexLockStep, under the same protection, since it may notify. In a region that was closed, the
   * callers give up.
   *
   * @type {import('../../../js/src/blocking.js').Step}
   */
  #step = (words, self, why, phase) => {
    const { busy } = this.#region.domain;
    if (!this.#region.self) return { what: LW_GAVE_UP, word: 0, phase, expected: 0 };
    Atomics.store(busy, 0, this.#slot | NOTIFIES);
    try {
      return mutexLockStep(words, self, why, phase);
    } finally {
      Atomics.store(busy, 0, 0);
    }
  };

  /**
   * Takes the mutex, or queues for it.
   *
   * @internal
   * @param {number | WaitOptions | undefined} options
   * @param {(answer: { what: number }) => any} toValue
   * @param {(self: number) => boolean} [accept]
   * @returns {Promise<any>}
   */
  ask(options, toValue, accept = this.#accept) {
    /** @param {{ what: number }} answer */
    const judged = ({ what }) => {
      const self = this.#self();
      return toValue({ what: what === LW_DONE && !accept.call(this, self) ? LW_GAVE_UP : what });
    };
    try {
      const self = this.#self();
      if (!pending.count) {
        timeoutOf(options);
        signalOf(options);
        if (mutexTake(this.#words, self)) return Promise.resolve(judged({ what: LW_DONE }));
      }
      this.#assertNamed();
      return enqueue(this.#step, this.#words, options, judged, self);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Only its holder writes these, so that they need not be atomic.
   *
   * @param {number} index
   */
  #count(index) {
    this.#words[index]++;
  }

  /**
   * Frees the mutex, and says nothing of what it guards.
   *
   * @internal
   */
  leave() {
    this.#leave(this.#self());
  }

  /** @param {number} self */
  #leave(self) {
    const { busy } = this.#region.domain;
    Atomics.store(busy, 0, this.#slot | NOTIFIES);
    mutexUnlockStep(this.#words, self);
    Atomics.store(busy, 0, 0);
  }

  /**
   * The mutex is held: keeps it, if it is worth that.
   *
   * @param {number} self
   */
  #accept(self) {
    const fate = this.#words[FATE];
    if (fate !== this.#fate && fate !== (this.#fate | OWNER_DIED)) this.#refuse(self, fate);
    this.#count(ACQUISITIONS);
    return true;
  }

  /**
   * The same for a reset. From here on a death of the holder is told, too.
   *
   * @param {number} self
   */
  #renew(self) {
    const fate = this.#words[FATE];
    if ((fate & NAME) !== this.#fate) this.#refuse(self, fate);
    const was = fate === (this.#fate | ABANDONED);
    if (was) Atomics.store(this.#words, FATE, this.#fate | OWNER_DIED);
    else this.#leave(self);
    return was;
  }

  /**
   * @param {number} self
   * @param {number} fate
   * @returns {never}
   */
  #refuse(self, fate) {
    this.#leave(self);
    if ((fate & NAME) === this.#fate)
      throw new AbandonedError(`a holder has abandoned what '${this.name}' guards`);
    throw this.#removed();
  }

  #assertNamed() {
    if (!this.#isNamed) throw this.#removed();
  }

  #removed() {
    return new RemovedError(`'${this.name}' was removed from the region`);
  }

  /** @param {boolean} held */
  #guard(held) {
    if (!held) throw new TimeoutError('timed out');
    return new RegionGuard(this, this.ownerDied);
  }
}
