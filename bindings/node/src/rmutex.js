/**
 * A recursive mutex of a region: the same lock as lw_region_rmutex in C
 * (include/lockword/region.h).
 */

import { LW_DONE, LW_RMUTEX_AGAIN, LW_RMUTEX_TASK } from '../../../js/src/core/constants.js';
import { OwnershipError, TimeoutError } from '../../../js/src/errors.js';
import { checked, isDone } from '../../../js/src/limits.js';
import { timeoutToBlock } from '../../../js/src/options.js';
import { RegionGuard, runGuarded } from '../../../js/src/region-guard.js';
import { dispose } from './mutex.js';

/**
 * @typedef {import('lockword').WaitOptions} WaitOptions
 * @typedef {import('./mutex.js').RegionMutex} RegionMutex
 */

/**
 * A recursive mutex that processes share. As lockword's `RecursiveMutex`, it is re-entered by its
 * thread through `lock`, and not by other tasks of an event loop: `lockAsync` gives one task a
 * guard, and only that guard can take it again. As a mutex of a region, it is freed if its holder
 * dies, however often that holder had taken it, and the next holder is told: `ownerDied`.
 *
 * Made by `region.recursiveMutex(name)`.
 */
export class RegionRecursiveMutex {
  #mutex;
  /** How often its holder has taken it again, with LW_RMUTEX_TASK if the holder is a task. */
  #again;

  /**
   * @internal
   * @param {RegionMutex} mutex
   * @param {Int32Array} again
   */
  constructor(mutex, again) {
    this.#mutex = mutex;
    this.#again = again;
  }

  /** Its name in the region. */
  get name() {
    return this.#mutex.name;
  }

  /** Whether a thread holds it. The answer may be old when you read it. */
  get isLocked() {
    return this.#mutex.isLocked;
  }

  /** Whether this thread holds it, as a thread or in a task. */
  get isMine() {
    return this.#mutex.isMine;
  }

  /**
   * Whether this thread holds it, and a holder has died, and none has unlocked the mutex since:
   * what it guards may be half written.
   */
  get ownerDied() {
    return this.#mutex.ownerDied;
  }

  /** How often its holder has taken it. */
  get depth() {
    return this.isLocked ? (this.#again[0] & LW_RMUTEX_AGAIN) + 1 : 0;
  }

  /**
   * Takes it, or takes it again, blocking this thread until it gets it. Look at `ownerDied` then.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} a task of this thread holds it
   * @throws {RangeError} it has been taken 2^31 times
   * @throws what `lock` of a mutex throws
   */
  lock(options) {
    timeoutToBlock(options, 'lock');
    return this.#reenter(0) || this.#entered(this.#mutex.lock(options), 0);
  }

  /**
   * Takes it, or takes it again, if it need not wait for that.
   *
   * @returns {boolean} whether it did
   * @throws {RangeError} it has been taken 2^31 times
   * @throws what `tryLock` of a mutex throws
   */
  tryLock() {
    return this.#reenter(0) || this.#entered(this.#mutex.tryLock(), 0);
  }

  /**
   * Unlocks it once. The last time, that declares that what it guards is sound.
   *
   * @throws {OwnershipError} this thread does not hold it
   */
  unlock() {
    this.#unlock(0);
  }

  /**
   * Takes it for one task, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<RegionTaskGuard | undefined>} undefined: the time was up; rejects with
   *   `signal.reason` on abort, and with what `lock` of a mutex throws
   */
  lockAsync(options) {
    return this.#mutex.ask(options, this.#guardIfTaken);
  }

  /**
   * `lock`, as a guard: `using guard = mutex.acquire()`.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {RegionGuard}
   * @throws {TimeoutError} the time was up; and what `lock` throws
   */
  acquire(options) {
    if (!this.lock(options)) throw new TimeoutError('timed out');
    return new RegionGuard(this, this.ownerDied);
  }

  /**
   * `lockAsync`, with an error when the time is up: `using guard = await mutex.acquireAsync()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<RegionTaskGuard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  acquireAsync(options) {
    return this.#mutex.ask(options, ({ what }) => {
      if (what !== LW_DONE) throw new TimeoutError('timed out');
      return this.#guard();
    });
  }

  /**
   * Calls `fn` with the guard, and releases it all when what `fn` returns has settled, or when it
   * throws. If it throws after a holder had died, then nobody has declared the data sound, and the
   * next holder is told, too.
   *
   * @template T
   * @param {(guard: RegionTaskGuard) => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] of the lock: ms, or options
   * @returns {Promise<T>} what `fn` returns
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  runExclusive(fn, options) {
    return runGuarded(this.acquireAsync(options), fn, (died) =>
      died ? this.#mutex.leave() : this.#mutex.unlock(),
    );
  }

  /**
   * Frees it, however often it was taken, and declares that what it guards is lost: nobody gets it
   * from now on, before `reset`.
   *
   * @throws {OwnershipError} this thread does not hold it
   */
  abandon() {
    this.#mutex.abandon();
  }

  /**
   * Takes it after it was abandoned, blocking this thread until it gets it, so that the caller can
   * make anew what it guards. `unlock` makes known that this is done.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} true: held, and no longer abandoned; false: not held, since it was not
   *   abandoned, or the time was up
   */
  reset(options) {
    return this.#entered(this.#mutex.reset(options), 0);
  }

  /**
   * `reset` for one task, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<RegionTaskGuard | undefined>} undefined: not held, since it was not
   *   abandoned, or the time was up; rejects with `signal.reason` on abort
   */
  resetAsync(options) {
    return this.#mutex.askReset(options, this.#guardIfTaken);
  }

  /**
   * What is known of it: who holds it, who waits, and how it has been used.
   *
   * @returns {import('./region.js').Description | undefined} undefined: its name was removed
   */
  describe() {
    return this.#mutex.describe();
  }

  /** Its state in words, which console.log shows, too. */
  toString() {
    return this.#mutex.toString().replace('RegionMutex', 'RegionRecursiveMutex');
  }

  [Symbol.for('nodejs.util.inspect.custom')]() {
    return this.toString();
  }

  /** @param {{ what: number }} answer */
  #guardIfTaken = ({ what }) => (what === LW_DONE ? this.#guard() : undefined);

  #guard() {
    this.#entered(true, LW_RMUTEX_TASK);
    return new RegionTaskGuard({
      lock: () => this.#reenter(LW_RMUTEX_TASK),
      unlock: () => this.#unlock(LW_RMUTEX_TASK),
      abandon: () => {
        this.#assertHeldAs(LW_RMUTEX_TASK);
        this.abandon();
      },
      lockAsync: (options) =>
        this.#mutex.ask(options, (answer) => this.#entered(isDone(answer), LW_RMUTEX_TASK)),
      ownerDied: () => this.ownerDied,
    });
  }

  /**
   * @param {boolean} taken
   * @param {number} task
   */
  #entered(taken, task) {
    if (taken) this.#again[0] = task;
    return taken;
  }

  /**
   * @param {number} task LW_RMUTEX_TASK, or 0
   * @returns {boolean} whether it has taken it again
   */
  #reenter(task) {
    if (!this.#isHeldAs(task)) return false;
    if ((this.#again[0] & LW_RMUTEX_AGAIN) === LW_RMUTEX_AGAIN)
      throw new RangeError('locked 2^31 times');
    this.#again[0]++;
    return true;
  }

  /** @param {number} task */
  #unlock(task) {
    this.#assertHeldAs(task);
    if (this.#again[0] === task) this.#mutex.unlock();
    else this.#again[0]--;
  }

  /** @param {number} task */
  #assertHeldAs(task) {
    if (!this.#isHeldAs(task)) throw new OwnershipError('not held by this thread');
  }

  /** @param {number} task */
  #isHeldAs(task) {
    return this.isMine && (this.#again[0] & LW_RMUTEX_TASK) === task;
  }
}

/**
 * A recursive mutex of a region that one task holds: what its `lockAsync`, `acquireAsync` and
 * `resetAsync` return. `using` unlocks it.
 */
export class RegionTaskGuard {
  #mutex;
  #depth = 1;
  #disposed = false;

  /**
   * @internal
   * @param {{ lock(): boolean, unlock(): void, abandon(): void, ownerDied(): boolean,
   *   lockAsync(options?: number | WaitOptions): Promise<boolean> }} mutex as the task has it
   */
  constructor(mutex) {
    this.#mutex = mutex;
  }

  /** How often the task has taken it; 0: it has unlocked it. */
  get depth() {
    return this.#depth;
  }

  /** Whether the task holds it. */
  get isMine() {
    return this.#depth > 0;
  }

  /** Whether the task holds it, and a holder has died, and none has unlocked the mutex since. */
  get ownerDied() {
    return this.isMine && this.#mutex.ownerDied();
  }

  /**
   * Takes it again. Never waits.
   *
   * @throws {OwnershipError} the task has given it back
   * @throws {RangeError} it has been taken 2^31 times
   */
  lock() {
    if (!this.isMine || !this.#mutex.lock()) throw new OwnershipError('not held by this task');
    this.#depth++;
  }

  /**
   * Takes it again, or waits for it if the task has unlocked it. One call at a time.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   * @throws {OwnershipError} the task's block has ended, perhaps while this waited
   * @throws {RangeError} it has been taken 2^31 times
   */
  async lockAsync(options) {
    if (this.isMine) {
      checked(options);
      this.lock();
      return true;
    }
    if (!(await this.#mutex.lockAsync(options))) return false;
    this.#depth = 1;
    if (this.#disposed) {
      this.unlock();
      this.lock(); // refused
    }
    return true;
  }

  /** Unlocks it once; does nothing if the task does not hold it any more. */
  unlock() {
    if (!this.isMine) return;
    this.#mutex.unlock();
    this.#depth--;
  }

  /**
   * Frees it, however often the task took it, and for good, and declares that what it guards is
   * lost: nobody gets it from now on, before `reset`. Does nothing if the task does not hold it any
   * more.
   *
   * @throws {OwnershipError} it was released by other means, such as `mutex.abandon()`
   */
  abandon() {
    this.end(() => this.#mutex.abandon());
  }

  /** Unlocks it as often as the task took it, for good: at the end of a `using` block. */
  [dispose]() {
    this.#disposed = true;
    while (this.isMine) this.unlock();
  }

  /**
   * @internal
   * @param {(ownerDied: boolean) => void} release frees the mutex at once
   */
  end(release) {
    this.#disposed = true;
    if (!this.isMine) return;
    const { ownerDied } = this;
    this.#depth = 0;
    release(ownerDied);
  }
}
