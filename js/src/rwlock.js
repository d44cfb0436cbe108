/** Many readers, or one writer: the same lock as lw_rwlock in C (include/lockword/rwlock.h). */

import { LW_DEADLOCK, LW_DONE, LW_NOT_OWNER, LW_OVERFLOW, LW_RWLOCK_GATE, LW_RWLOCK_READER, LW_RWLOCK_READERS } from './core.js';
import { LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER, rwlockBecomeStep, rwlockOwner, rwlockReadStep, rwlockState } from './core.js';
import { rwlockTakeRead, rwlockTakeWrite, rwlockTryStep, rwlockUnreadStep, rwlockUpgradeStep, rwlockUpreadStep } from './core.js';
import { rwlockWriteStep } from './core.js';
import { assertMayBlock, self } from './agent.js';
import { block } from './blocking.js';
import { DeadlockError, OwnershipError, TimeoutError } from './errors.js';
import { Guard } from './guard.js';
import { signalOf, timeoutOf } from './options.js';
import { Primitive } from './primitive.js';
import { waitFor } from './waiting.js';

/** @typedef {import('./options.js').WaitOptions} WaitOptions */

/**
 * A read-write lock with upgradable reads. Neither side starves the other: a writer that waits holds back readers that come later, and readers
 * that waited while it wrote go before the next writer. Among writers, and among those who read upgradably, the fastest wins, until one has been
 * woken eight times in vain: then newcomers stand back. What was written is seen by all who read or write after. 2^24 - 1 readers at a time, an
 * upgradable one among them (RangeError); any number may wait.
 *
 * Reading again while reading is illegal, except by `tryReadLock`: a writer that came in between would wait for the first read, and the second
 * one for the writer. The lock knows its writer and its upgradable reader, but not its readers.
 *
 * What it knows is an agent, that is a thread, and not a task: another task of the same agent may unlock, upgrade or downgrade what this one took.
 * An `upgradeAsync` that waits then rejects with an OwnershipError; but if the agent reads upgradably again by the time it looks, it upgrades that.
 *
 * Every way to lock comes as `…Lock(options)`, which blocks, `…LockAsync(options)`, which does not, and `try…Lock()`, which does not wait.
 * The first two answer false when the time was up; `signal` aborts.
 */
export class RWLock extends Primitive {
  static BYTE_LENGTH = 12;
  static type = 'RWLock';

  /** How many read right now, an upgradable reader not counted. */
  get readers() {
    return rwlockState(this.words) & LW_RWLOCK_READERS;
  }

  /** Whether somebody writes right now. */
  get isWriteLocked() {
    return (rwlockState(this.words) & LW_RWLOCK_WRITER) !== 0;
  }

  /** Whether this agent writes, or reads upgradably. */
  get isMine() {
    return rwlockOwner(this.words) === self;
  }

  /**
   * Reads, beside other readers.
   *
   * @param {number | WaitOptions} [options]
   * @returns {boolean}
   */
  readLock(options) {
    return this.#lock(rwlockReadStep, options, 'readLock', rwlockTakeRead);
  }

  /** @param {number | WaitOptions} [options] */
  readLockAsync(options) {
    return this.#lockAsync(rwlockReadStep, options);
  }

  tryReadLock() {
    return rwlockTryStep(this.words, 0, LW_RWLOCK_READER, self);
  }

  /** @throws {OwnershipError} nobody reads */
  readUnlock() {
    assertHad(rwlockUnreadStep(this.words));
  }

  /**
   * Writes, alone.
   *
   * @param {number | WaitOptions} [options]
   * @returns {boolean}
   */
  writeLock(options) {
    return this.#lock(rwlockWriteStep, options, 'writeLock', rwlockTakeWrite);
  }

  /** @param {number | WaitOptions} [options] */
  writeLockAsync(options) {
    return this.#lockAsync(rwlockWriteStep, options);
  }

  tryWriteLock() {
    return rwlockTryStep(this.words, 0, LW_RWLOCK_WRITER, self);
  }

  /** @throws {OwnershipError} this agent does not write */
  writeUnlock() {
    this.#become(LW_RWLOCK_WRITER, 0);
  }

  /**
   * Reads, beside readers, and may upgrade: one at a time.
   *
   * @param {number | WaitOptions} [options]
   * @returns {boolean}
   */
  upgradableLock(options) {
    return this.#lock(rwlockUpreadStep, options, 'upgradableLock');
  }

  /** @param {number | WaitOptions} [options] */
  upgradableLockAsync(options) {
    return this.#lockAsync(rwlockUpreadStep, options);
  }

  tryUpgradableLock() {
    return rwlockTryStep(this.words, 0, LW_RWLOCK_UPGRADABLE, self);
  }

  /** @throws {OwnershipError} this agent does not read upgradably */
  upgradableUnlock() {
    this.#become(LW_RWLOCK_UPGRADABLE, 0);
  }

  /**
   * Turns this agent's upgradable read into a write: waits until the readers have left, and lets no writer in between.
   *
   * @param {number | WaitOptions} [options]
   * @returns {boolean} false: the time was up, and it still reads upgradably
   * @throws {OwnershipError} it does not read upgradably
   */
  upgrade(options) {
    return this.#lock(rwlockUpgradeStep, options, 'upgrade');
  }

  /**
   * The same, without blocking. Of several that wait at once in this agent, one succeeds; the others reject with an OwnershipError, and so do all
   * of them if this agent gives up its upgradable read meanwhile.
   *
   * @param {number | WaitOptions} [options]
   */
  upgradeAsync(options) {
    return this.#lockAsync(rwlockUpgradeStep, options);
  }

  tryUpgrade() {
    return rwlockTryStep(this.words, LW_RWLOCK_UPGRADABLE, LW_RWLOCK_WRITER, self);
  }

  /**
   * Turns this agent's write, or upgradable read, into a read, and lets nobody write in between.
   *
   * @throws {OwnershipError} it has neither
   */
  downgrade() {
    this.#become(this.isWriteLocked ? LW_RWLOCK_WRITER : LW_RWLOCK_UPGRADABLE, LW_RWLOCK_READER);
  }

  /**
   * Turns this agent's write into an upgradable read, and lets nobody write in between.
   *
   * @throws {OwnershipError} it does not write
   */
  downgradeToUpgradable() {
    this.#become(LW_RWLOCK_WRITER, LW_RWLOCK_UPGRADABLE);
  }

  /**
   * `readLock`, as a guard.
   *
   * @param {number | WaitOptions} [options]
   * @throws {TimeoutError} the time was up
   */
  acquireRead(options) {
    return guard(this.readLock(options), () => this.readUnlock());
  }

  /** @param {number | WaitOptions} [options] */
  async acquireReadAsync(options) {
    return guard(await this.readLockAsync(options), () => this.readUnlock());
  }

  /**
   * `writeLock`, as a guard.
   *
   * @param {number | WaitOptions} [options]
   * @throws {TimeoutError} the time was up
   */
  acquireWrite(options) {
    return guard(this.writeLock(options), () => this.writeUnlock());
  }

  /** @param {number | WaitOptions} [options] */
  async acquireWriteAsync(options) {
    return guard(await this.writeLockAsync(options), () => this.writeUnlock());
  }

  /**
   * @param {number} before
   * @param {number} after
   */
  #become(before, after) {
    assertHad(rwlockBecomeStep(this.words, before, after, self));
  }

  /**
   * @param {import('./blocking.js').Step} step
   * @param {number | WaitOptions | undefined} options
   * @param {string} call
   * @param {(words: import('./wait.js').Words, self: number) => boolean} [take] its fast half
   */
  #lock(step, options, call, take) {
    const timeout = timeoutOf(options);
    signalOf(options);
    assertMayBlock(call, `${call}Async`);
    return take?.(this.words, self) || succeeded(block(step, this.words, self, timeout));
  }

  /**
   * @param {import('./blocking.js').Step} step
   * @param {number | WaitOptions | undefined} options
   */
  async #lockAsync(step, options) {
    const operation = { step, words: this.words, gate: LW_RWLOCK_GATE, wanted: self };
    return succeeded((await waitFor(operation, options)).what);
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

/**
 * @param {boolean} held
 * @param {() => void} unlock
 */
function guard(held, unlock) {
  if (!held) throw new TimeoutError('timed out');
  return new Guard(unlock);
}
