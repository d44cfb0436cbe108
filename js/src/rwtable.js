/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The read-write lock of a region, whose readers have names: the same as lw_region_rwtable in C
 * (include/lockword/region.h), also in lockword-region. It is made of a mutex and of permits, which
 * are the readers' table. A reader has the mutex for the moment in which it takes a permit. A
 * writer has the mutex, and waits until no reader has a permit. So all of them stand in the mutex's
 * line, and only the one that has the mutex waits for permits. src/region/table.c.
 */

import { self } from './agent.js';
import { block } from './blocking.js';
import { LW_DONE, LW_PERMITS_NONE, LW_PERMITS_WRITER } from './core/constants.js';
import {
  permitsAcquireStep,
  permitsCount,
  permitsDrainStep,
  permitsFind,
  permitsOf,
  permitsReleaseStep,
  permitsTryStep,
} from './core/permits.js';
import { start } from './crowd.js';
import { DeadlockError, OwnershipError, TimeoutError } from './errors.js';
import { runUnder } from './guard.js';
import { RegionGuard, runGuarded } from './region-guard.js';
import { isDone } from './limits.js';
import { handOver } from './line.js';
import { timeoutToBlock } from './options.js';
import { ClosedError } from './region-errors.js';
import { remaining, waitersOf, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 *
 * @typedef {object} TableMutex a mutex of the region, as its class has it
 * @property {string} name
 * @property {boolean} isTold whether a holder has died, and none has unlocked the mutex since
 * @property {(options?: number | WaitOptions) => boolean} lock
 * @property {(options?: number | WaitOptions) => Promise<boolean>} lockAsync
 * @property {() => boolean} tryLock
 * @property {() => void} unlock
 * @property {() => void} leave frees it, and says nothing of what it guards
 * @property {() => void} condemn declares what it guards lost, if this thread holds it
 * @property {(options?: number | WaitOptions) => boolean} reset
 * @property {(options?: number | WaitOptions) => Promise<boolean>} resetAsync
 *
 * @typedef {object} Readers
 * @property {any} words of the permits; throws if the region is closed
 */

/**
 * Many readers, or one writer, in a region. The lock knows its readers, too: what a thread has that
 * ends is free again. At most 252 readers have it at a time; more of them wait. All come in one
 * line, in which no thread is shut out: so a writer holds back those that come after it.
 *
 * A reader leaves the data as they are: its end is not told of. After the end of a writer, all
 * readers and writers are told by `ownerDied`, until a writer unlocks, which declares the data
 * sound. Or a writer calls `abandon`, and nobody gets the lock until a `reset`.
 *
 *     const table = region.rwtable('table');
 *     await table.runShared(({ ownerDied }) => { … });
 *     await table.runExclusive(({ ownerDied }) => { … });
 *
 * It knows threads, and not tasks: another task of the same thread may unlock what this task
 * locked. A thread that reads may read once more by `readLock` and `tryReadLock`, before writers
 * that wait. By `readLockAsync` each task stands in line, so that tasks which relieve each other
 * keep no writer out. So a task that reads must not call it again: a writer that came in between
 * would wait for the first read, and the second read for the writer.
 *
 * Every way to lock comes as `…Lock(options)`, which blocks, `…LockAsync(options)`, which does not,
 * and `try…Lock()`, which does not wait. Made by `region.rwtable(name)`. Other threads call that,
 * too.
 */
export class RWTable {
  #mutex;
  #readers;
  /** The calls that wait, each with its callers that wait for permits; none from a close on. */
  #waits;

  /**
   * @internal
   * @param {TableMutex} mutex
   * @param {Readers} readers
   * @param {Set<import('./line.js').Caller[]>} [waits]
   */
  constructor(mutex, readers, waits = new Set()) {
    this.#mutex = mutex;
    this.#readers = readers;
    this.#waits = waits;
  }

  /** Its name in the region. */
  get name() {
    return this.#mutex.name;
  }

  /** How many reads there are right now. */
  get readers() {
    const { words } = this.#readers;
    return permitsCount(words) - permitsOf(words, 0);
  }

  /** Whether a thread writes right now. */
  get isWriteLocked() {
    return writerOf(this.#readers.words) !== 0;
  }

  /** Whether this thread reads or writes, in whichever of its tasks. */
  get isMine() {
    const { words } = this.#readers;
    return writerOf(words) === self || reads(words, self);
  }

  /**
   * Whether this thread reads or writes, and a writer has died, and none has unlocked since: the
   * data may be half written.
   */
  get ownerDied() {
    return this.isMine && this.#mutex.isTold;
  }

  /**
   * Reads, beside other readers. Blocks this thread until it may. Look at `ownerDied` then.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} this thread writes, or waits to write in another task
   * @throws {RangeError} this thread reads already, and all 252 reads are taken
   * @throws {AbandonedError} a writer has abandoned it
   * @throws {ClosedError} this thread has closed the region
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  readLock(options) {
    return this.#lock(false, options, 'readLock');
  }

  /**
   * `readLock`, without blocking. Stands in line even if this thread reads.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   * @throws {AbandonedError} a writer has abandoned it
   */
  readLockAsync(options) {
    return this.#lockAsync(false, options);
  }

  /**
   * Reads if that is possible without waiting: no thread writes, or waits to, or this thread reads.
   *
   * @returns {boolean} whether it did
   * @throws {AbandonedError} a writer has abandoned it
   */
  tryReadLock() {
    const { words } = this.#readers;
    const agent = self;
    if (reads(words, agent)) return takes(words, agent);
    if (!this.#mutex.tryLock()) return false;
    const taken = takes(words, agent);
    this.#mutex.leave();
    return taken;
  }

  /**
   * Ends a read.
   *
   * @throws {OwnershipError} this thread does not read
   */
  readUnlock() {
    const { words } = this.#readers;
    const waiters = waitersOf(words);
    if (!permitsReleaseStep(words, permitsFind(words, self), self))
      throw new OwnershipError('this thread does not read');
    handOver(words, waiters);
  }

  /**
   * Writes, alone. Blocks this thread until it may. Look at `ownerDied` then.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} this thread reads or writes
   * @throws {AbandonedError} a writer has abandoned it
   * @throws {ClosedError} this thread has closed the region
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  writeLock(options) {
    return this.#lock(true, options, 'writeLock');
  }

  /**
   * `writeLock`, without blocking. Waits for this thread's other tasks, too.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   * @throws {AbandonedError} a writer has abandoned it
   */
  writeLockAsync(options) {
    return this.#lockAsync(true, options);
  }

  /**
   * Writes, alone, if that is possible without waiting.
   *
   * @returns {boolean} whether it did
   * @throws {AbandonedError} a writer has abandoned it
   */
  tryWriteLock() {
    const { words } = this.#readers;
    const agent = self;
    return (
      this.#mutex.tryLock() &&
      this.#settle(true, agent, permitsOf(words, 0) === permitsCount(words))
    );
  }

  /**
   * Ends this thread's write, and declares that the data are sound.
   *
   * @throws {OwnershipError} this thread does not write
   */
  writeUnlock() {
    this.#unwrite();
    this.#mutex.unlock();
  }

  /**
   * Ends this thread's write, and declares that the data are lost: nobody gets the lock from now
   * on, before `reset`.
   *
   * @throws {OwnershipError} this thread does not write
   */
  abandon() {
    // First: if the thread ends in between, the data are lost all the same.
    if (writerOf(this.#readers.words) === self) this.#mutex.condemn();
    this.writeUnlock();
  }

  /**
   * Writes after the lock was abandoned, so that the caller can make the data anew. Blocks this
   * thread until it may. `writeUnlock` makes known that this is done.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} true: this thread writes, and the lock is no longer abandoned; false: it
   *   does not, since it was not abandoned, or the time was up
   */
  reset(options) {
    const timeout = timeoutToBlock(options, 'reset');
    return this.#mutex.reset(timeout) && this.#begin();
  }

  /**
   * `reset`, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} what `reset` returns; rejects with `signal.reason` on abort
   */
  async resetAsync(options) {
    /** @type {import('./line.js').Caller[]} */
    const callers = [];
    this.#waits.add(callers);
    let resets = false;
    try {
      resets = await this.#mutex.resetAsync(options);
    } finally {
      this.#endCall(callers);
    }
    return resets && this.#begin();
  }

  /**
   * `readLock`, as a guard: `using guard = table.acquireRead()`.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {RegionGuard}
   * @throws {TimeoutError} the time was up; and what `readLock` throws
   */
  acquireRead(options) {
    return this.#guard(false, this.#lock(false, options, 'acquireRead'));
  }

  /**
   * `readLockAsync`, as a guard: `using guard = await table.acquireReadAsync()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<RegionGuard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  async acquireReadAsync(options) {
    return this.#guard(false, await this.#lockAsync(false, options));
  }

  /**
   * `writeLock`, as a guard: `using guard = table.acquireWrite()`.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {RegionGuard}
   * @throws {TimeoutError} the time was up; and what `writeLock` throws
   */
  acquireWrite(options) {
    return this.#guard(true, this.#lock(true, options, 'acquireWrite'));
  }

  /**
   * `writeLockAsync`, as a guard: `using guard = await table.acquireWriteAsync()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<RegionGuard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  async acquireWriteAsync(options) {
    return this.#guard(true, await this.#lockAsync(true, options));
  }

  /**
   * Calls `fn` while reading, beside other readers, and ends the read when what `fn` returns has
   * settled, or when it throws.
   *
   * @template T
   * @param {(guard: RegionGuard) => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] of the lock: ms, or options; rejects with
   *   `signal.reason` on abort
   * @returns {Promise<T>} what `fn` returns
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  runShared(fn, options) {
    return runUnder(this.acquireReadAsync(options), fn);
  }

  /**
   * Calls `fn` while writing, alone, and ends the write when what `fn` returns has settled, or when
   * it throws. If it throws after a writer had died, then nobody has declared the data sound, and
   * the next holder is told, too.
   *
   * @template T
   * @param {(guard: RegionGuard) => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] of the lock: ms, or options; rejects with
   *   `signal.reason` on abort
   * @returns {Promise<T>} what `fn` returns
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  runExclusive(fn, options) {
    return runGuarded(this.acquireWriteAsync(options), fn, (died) => {
      if (!died) return this.writeUnlock();
      this.#unwrite();
      this.#mutex.leave();
    });
  }

  /** Its state in words, which console.log shows, too. */
  toString() {
    return `${this.#mutex}`.replace('RegionMutex', 'RWTable');
  }

  [Symbol.for('nodejs.util.inspect.custom')]() {
    return this.toString();
  }

  /**
   * What the one that has the mutex waits for: a permit, or that all of them are free.
   *
   * @param {boolean} writes
   * @returns {import('./crowd.js').Operation}
   */
  #operation(writes) {
    const { words } = this.#readers;
    return { step: writes ? permitsDrainStep : permitsAcquireStep, words, wanted: self };
  }

  /**
   * @param {boolean} writes
   * @param {number | WaitOptions | undefined} options
   * @param {string} call what the user called
   */
  #lock(writes, options, call) {
    const left = remaining(timeoutToBlock(options, call));
    const { step, words, wanted } = this.#operation(writes);
    if (reads(words, wanted)) {
      if (writes) throw new DeadlockError('this thread reads');
      // At once or never: a writer ahead of this thread would wait for it.
      if (!takes(words, wanted)) throw new RangeError('too many');
      return true;
    }
    if (!this.#mutex.lock(left())) return false;
    const { what } = block(step, words, wanted, /** @type {number} */ (left().timeout));
    return this.#settle(writes, wanted, what === LW_DONE);
  }

  /**
   * @param {boolean} writes
   * @param {number | WaitOptions | undefined} options
   */
  async #lockAsync(writes, options) {
    const left = remaining(options);
    /** @type {import('./line.js').Caller[]} */
    const callers = [];
    this.#waits.add(callers);
    let locks = false;
    let has = false;
    try {
      locks = await this.#mutex.lockAsync(left());
      if (locks && this.#waits.has(callers))
        has = await waitFor(
          () => this.#operation(writes),
          left(),
          isDone,
          (caller, operation) => start((callers[0] = caller), operation),
        );
    } finally {
      this.#endCall(callers);
      has = locks && this.#settle(writes, this.#operation(writes).wanted, has);
    }
    return has;
  }

  /**
   * The mutex is held: keeps it, for a writer that may write.
   *
   * @param {boolean} writes
   * @param {number} agent
   * @param {boolean} has
   */
  #settle(writes, agent, has) {
    // From here on its death is one that has to be told.
    if (writes && has) Atomics.store(this.#readers.words, LW_PERMITS_WRITER, agent);
    else this.#mutex.leave();
    return has;
  }

  /** The mutex is held after a reset. While it was abandoned, nobody has come to read. */
  #begin() {
    return this.#settle(true, this.#operation(true).wanted, true);
  }

  /**
   * A call that has waited goes on. What it took before the region was closed is free. Joined again,
   * the thread may have the mutex for another task.
   *
   * @param {import('./line.js').Caller[]} callers
   */
  #endCall(callers) {
    if (!this.#waits.delete(callers)) throw new ClosedError('this thread has closed the region');
  }

  /** This thread writes no more, and has the mutex. */
  #unwrite() {
    const { words } = this.#readers;
    if (writerOf(words) !== self) throw new OwnershipError('this thread does not write');
    Atomics.store(words, LW_PERMITS_WRITER, 0);
  }

  /**
   * @param {boolean} writes
   * @param {boolean} held
   */
  #guard(writes, held) {
    if (!held) throw new TimeoutError('timed out');
    const unlock = () => (writes ? this.writeUnlock() : this.readUnlock());
    const abandon = writes ? () => this.abandon() : undefined;
    return new RegionGuard({ unlock, abandon }, this.#mutex.isTold);
  }
}

/** @param {import('./wait.js').Words} words */
const writerOf = (words) => Atomics.load(words, LW_PERMITS_WRITER);

/**
 * @param {import('./wait.js').Words} words
 * @param {number} agent
 */
const reads = (words, agent) => permitsFind(words, agent) !== LW_PERMITS_NONE;

/**
 * @param {import('./wait.js').Words} words
 * @param {number} agent
 */
const takes = (words, agent) => permitsTryStep(words, agent) !== LW_PERMITS_NONE;
