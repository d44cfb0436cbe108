/** Many readers, or one writer: the same lock as lw_rwlock in C (include/lockword/rwlock.h). */

import {
  LW_DEADLOCK,
  LW_DONE,
  LW_NOT_OWNER,
  LW_OVERFLOW,
  LW_RWLOCK_READER,
  LW_RWLOCK_READERS,
  LW_RWLOCK_UPGRADABLE,
  LW_RWLOCK_WRITER,
} from './core/constants.js';
import {
  rwlockBecomeStep,
  rwlockFreeRead,
  rwlockFreeWrite,
  rwlockOwner,
  rwlockReadStep,
  rwlockState,
  rwlockTakeRead,
  rwlockTakeWrite,
  rwlockTryStep,
  rwlockUnreadStep,
  rwlockUpgradeStep,
  rwlockUpreadStep,
  rwlockWriteStep,
} from './core/rwlock.js';
import { self, unchecked } from './agent.js';
import { spinThenBlock } from './blocking.js';
import { DeadlockError, OwnershipError } from './errors.js';
import { guardOf, runUnder } from './guard.js';
import { timeoutToBlock } from './options.js';
import { handOver } from './line.js';
import { Primitive } from './primitive.js';
import { waitersOf, waitFor } from './waiting.js';

/** @typedef {import('./options.js').WaitOptions} WaitOptions */

/**
 * A read-write lock with upgradable reads. Neither side starves the other. A writer that waits
 * holds back readers that come later, and readers that waited while it wrote go before the next
 * writer. Writers, and upgradable readers, overtake each other until one was woken in vain nine
 * times, or a writer has slept for a second, or an event loop waits to write: then newcomers stand
 * back. Later readers and writers see what was written. At most 2^22 - 1 readers at a time,
 * including an upgradable one (RangeError); any number of agents may wait.
 *
 * To read again while reading is illegal, except by `tryReadLock`: a writer that came in between
 * would wait for the first read, and the second read for the writer. The lock knows its writer and
 * its upgradable reader, but not its readers.
 *
 * It knows agents, that is threads, and not tasks: another task of the same agent may unlock,
 * upgrade or downgrade the lock that this task took. An `upgradeAsync` that waits then rejects with
 * an OwnershipError; but if the agent reads upgradably again by the time it looks, it upgrades that
 * read.
 *
 * Every way to lock comes as `…Lock(options)`, which blocks, `…LockAsync(options)`, which does not,
 * and `try…Lock()`, which does not wait. The first two return false when the time was up; `signal`
 * aborts.
 *
 * @extends {Primitive<'RWLock'>}
 */
export class RWLock extends Primitive {
  static BYTE_LENGTH = 16;
  /** @readonly @type {'RWLock'} */
  static type = 'RWLock';

  /** @type {{ reads?: boolean }} Whether its newest guard, by `#guard`, has been downgraded. */
  #newest = {};

  /** How many read right now, without an upgradable reader. */
  get readers() {
    return rwlockState(this.words) & LW_RWLOCK_READERS;
  }

  /** Whether an agent writes right now. */
  get isWriteLocked() {
    return (rwlockState(this.words) & LW_RWLOCK_WRITER) !== 0;
  }

  /** Whether this agent writes, or reads upgradably. */
  get isMine() {
    return rwlockOwner(this.words) === self;
  }

  /**
   * Reads, beside other readers. Blocks this thread until it may.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} this agent writes or reads upgradably, and would wait for itself
   * @throws {RangeError} there are 2^22 - 1 readers
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  readLock(options) {
    if (options === unchecked && rwlockTakeRead(this.words)) return true;
    return this.#lock(rwlockReadStep, options, 'readLock');
  }

  /**
   * `readLock`, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   * @throws {RangeError} there are 2^22 - 1 readers
   */
  readLockAsync(options) {
    return this.#lockAsync(rwlockReadStep, options);
  }

  /**
   * Reads, beside other readers, if that is possible without waiting. The one way to read again
   * while reading.
   *
   * @returns {boolean} whether it did
   */
  tryReadLock() {
    return rwlockTryStep(this.words, 0, LW_RWLOCK_READER, self);
  }

  /**
   * Ends a read.
   *
   * @throws {OwnershipError} nobody reads
   */
  readUnlock() {
    if (rwlockFreeRead(this.words)) return handOver(this.words);
    const waiters = waitersOf(this.words);
    assertHad(rwlockUnreadStep(this.words));
    handOver(this.words, waiters);
  }

  /**
   * Writes, alone. Blocks this thread until it may.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} this agent writes or reads upgradably, and would wait for itself
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  writeLock(options) {
    if (options === unchecked && rwlockTakeWrite(this.words, self)) return true;
    return this.#lock(rwlockWriteStep, options, 'writeLock');
  }

  /**
   * `writeLock`, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   */
  writeLockAsync(options) {
    return this.#lockAsync(rwlockWriteStep, options);
  }

  /**
   * Writes, alone, if that is possible without waiting.
   *
   * @returns {boolean} whether it did
   */
  tryWriteLock() {
    return rwlockTryStep(this.words, 0, LW_RWLOCK_WRITER, self);
  }

  /**
   * Ends this agent's write.
   *
   * @throws {OwnershipError} this agent does not write
   */
  writeUnlock() {
    if (rwlockFreeWrite(this.words, self)) return handOver(this.words);
    this.#become(LW_RWLOCK_WRITER, 0);
  }

  /**
   * Reads, beside readers, and may upgrade: one at a time. Blocks this thread until it may.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} this agent writes or reads upgradably, and would wait for itself
   * @throws {RangeError} there are 2^22 - 1 readers
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  upgradableLock(options) {
    return this.#lock(rwlockUpreadStep, options, 'upgradableLock');
  }

  /**
   * `upgradableLock`, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   * @throws {RangeError} there are 2^22 - 1 readers
   */
  upgradableLockAsync(options) {
    return this.#lockAsync(rwlockUpreadStep, options);
  }

  /**
   * Reads upgradably if that is possible without waiting.
   *
   * @returns {boolean} whether it did
   */
  tryUpgradableLock() {
    return rwlockTryStep(this.words, 0, LW_RWLOCK_UPGRADABLE, self);
  }

  /**
   * Ends this agent's upgradable read.
   *
   * @throws {OwnershipError} this agent does not read upgradably
   */
  upgradableUnlock() {
    this.#become(LW_RWLOCK_UPGRADABLE, 0);
  }

  /**
   * Turns this agent's upgradable read into a write: waits until the readers have left, and lets no
   * writer in between.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up, and it still reads upgradably
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   * @throws {OwnershipError} it does not read upgradably
   */
  upgrade(options) {
    return this.#lock(rwlockUpgradeStep, options, 'upgrade');
  }

  /**
   * `upgrade`, without blocking. If several calls of this agent wait at once, one succeeds, and the
   * others reject with an OwnershipError. All of them do if this agent gives up its upgradable read
   * meanwhile.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up, and it still reads upgradably; rejects with
   *   `signal.reason` on abort
   * @throws {OwnershipError} it does not read upgradably
   */
  upgradeAsync(options) {
    return this.#lockAsync(rwlockUpgradeStep, options);
  }

  /**
   * Turns this agent's upgradable read into a write if there are no other readers.
   *
   * @returns {boolean} whether it did
   */
  tryUpgrade() {
    return rwlockTryStep(this.words, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER, self);
  }

  /**
   * Turns this agent's write, or upgradable read, into a read, so that no agent writes in between.
   *
   * @throws {OwnershipError} it has neither
   */
  downgrade() {
    this.#become(this.isWriteLocked ? LW_RWLOCK_WRITER : LW_RWLOCK_UPGRADABLE, LW_RWLOCK_READER);
    this.#newest.reads = true;
  }

  /**
   * Turns this agent's write into an upgradable read, so that no agent writes in between.
   *
   * @throws {OwnershipError} it does not write
   */
  downgradeToUpgradable() {
    this.#become(LW_RWLOCK_WRITER, LW_RWLOCK_UPGRADABLE);
  }

  /**
   * `readLock`, as a guard: `using guard = lock.acquireRead()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @throws {TimeoutError} the time was up; and what `readLock` throws
   */
  acquireRead(options) {
    return guardOf(this.#lock(rwlockReadStep, options, 'acquireRead'), () => this.readUnlock());
  }

  /**
   * `readLockAsync`, as a guard: `using guard = await lock.acquireReadAsync()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<import('./guard.js').Guard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  acquireReadAsync(options) {
    return this.#lockAsync(rwlockReadStep, options, (held) =>
      guardOf(held, () => this.readUnlock()),
    );
  }

  /**
   * `writeLock`, as a guard: `using guard = lock.acquireWrite()`. If this agent has downgraded by
   * then, by this object, it releases what has become of the write.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @throws {TimeoutError} the time was up; and what `writeLock` throws
   */
  acquireWrite(options) {
    return this.#guard(this.#lock(rwlockWriteStep, options, 'acquireWrite'));
  }

  /**
   * `writeLockAsync`, as a guard: `using guard = await lock.acquireWriteAsync()`. If this agent has
   * downgraded by then, by this object, it releases what has become of the write.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<import('./guard.js').Guard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  acquireWriteAsync(options) {
    return this.#lockAsync(rwlockWriteStep, options, (held) => this.#guard(held));
  }

  /**
   * `upgradableLock`, as a guard: `using guard = lock.acquireUpgradable()`. If this agent has
   * upgraded by then, it releases the write, and if it has downgraded, by this object, the read.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @throws {TimeoutError} the time was up; and what `upgradableLock` throws
   */
  acquireUpgradable(options) {
    return this.#guard(this.#lock(rwlockUpreadStep, options, 'acquireUpgradable'));
  }

  /**
   * `upgradableLockAsync`, as a guard: `using guard = await lock.acquireUpgradableAsync()`. If this
   * agent has upgraded by then, it releases the write, and if it has downgraded, by this object,
   * the read.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<import('./guard.js').Guard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  acquireUpgradableAsync(options) {
    return this.#lockAsync(rwlockUpreadStep, options, (held) => this.#guard(held));
  }

  /**
   * A guard of a write, or of an upgradable read: one is held at a time, so that a downgrade is of
   * the newest one.
   *
   * @param {boolean} held
   */
  #guard(held) {
    /** @type {{ reads?: boolean }} */
    const is = {};
    const guard = guardOf(held, () => {
      if (is.reads) this.readUnlock();
      else if (this.isWriteLocked) this.writeUnlock();
      else this.upgradableUnlock();
    });
    this.#newest = is;
    return guard;
  }

  /**
   * Calls `fn` while reading, beside other readers, and ends the read when what `fn` returns has
   * settled, or when it throws.
   *
   * @template T
   * @param {() => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] of the lock: ms, or options; rejects with
   *   `signal.reason` on abort
   * @returns {Promise<T>} what `fn` returns
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  runShared(fn, options) {
    return runUnder(this.acquireReadAsync(options), () => fn());
  }

  /**
   * Calls `fn` while writing, alone, and ends the write when what `fn` returns has settled, or when
   * it throws.
   *
   * @template T
   * @param {() => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] of the lock: ms, or options; rejects with
   *   `signal.reason` on abort
   * @returns {Promise<T>} what `fn` returns
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  runExclusive(fn, options) {
    return runUnder(this.acquireWriteAsync(options), () => fn());
  }

  /**
   * @param {number} before
   * @param {number} after
   */
  #become(before, after) {
    const waiters = waitersOf(this.words);
    assertHad(rwlockBecomeStep(this.words, before, after, self));
    handOver(this.words, waiters);
  }

  /**
   * @param {import('./blocking.js').Step} step
   * @param {number | WaitOptions | undefined} options
   * @param {string} call what the user called
   */
  #lock(step, options, call) {
    return succeeded(spinThenBlock(step, this.words, self, timeoutToBlock(options, call)).what);
  }

  /**
   * @param {import('./blocking.js').Step} step
   * @param {number | WaitOptions | undefined} options
   * @param {(held: boolean) => any} [toValue]
   */
  #lockAsync(step, options, toValue = Boolean) {
    const make = () => ({ step, words: this.words, wanted: self });
    return waitFor(make, options, ({ what }) => toValue(succeeded(what)));
  }
}

/** @param {number} what */
function succeeded(what) {
  if (what === LW_DEADLOCK) throw new DeadlockError('held by this thread already');
  if (what === LW_OVERFLOW) throw new RangeError('too many');
  assertHad(what !== LW_NOT_OWNER);
  return what === LW_DONE;
}

/** @param {boolean} had */
function assertHad(had) {
  if (!had) throw new OwnershipError('not held by this thread in this way');
}
