/** Mutual exclusion in eight bytes: the same lock as lw_mutex in C (include/lockword/mutex.h). */

import { LW_DEADLOCK, LW_DONE } from './core/constants.js';
import { Primitive } from './primitive.js';
import {
  mutexFree,
  mutexLockStep,
  mutexOwner,
  mutexTake,
  mutexTryStep,
  mutexUnlockStep,
} from './core/mutex.js';
import { self } from './agent.js';
import { DeadlockError, OwnershipError, TimeoutError } from './errors.js';
import { guardOf } from './guard.js';
import { isDone, pending } from './limits.js';
import { signalOf, timeoutOf, timeoutToBlock } from './options.js';
import { enqueue } from './turn.js';
import { lockBlocking } from './blocking.js';
import { handOver } from './line.js';

/** @typedef {import('./options.js').WaitOptions} WaitOptions */

// A copy, since an engine reads what is imported more slowly.
const me = self;

/**
 * A mutex. It has at most one holder: an agent, that is a thread, whether it runs JavaScript or C.
 *
 * The next holder sees what was written under the lock. No waiter is shut out: once a waiter was
 * woken in vain nine times, or has slept for a second, or an event loop was woken in vain once,
 * only agents that wait may take the mutex. Tasks of one agent exclude each other, too, if they use
 * `lockAsync`, and get the mutex in the order in which they asked.
 *
 *     const mutex = new Mutex();
 *     worker.postMessage(mutex.handle);         // there: const mutex = Mutex.from(handle)
 *     await mutex.runExclusive(() => table[0]++);
 *
 * @extends {Primitive<'Mutex'>}
 */
export class Mutex extends Primitive {
  static BYTE_LENGTH = 8;
  /** @readonly @type {'Mutex'} */
  static type = 'Mutex';

  /** Whether an agent holds it. The answer may be old when you read it. */
  get isLocked() {
    return mutexOwner(this.words) !== 0;
  }

  /** Whether this agent holds it, in whichever of its tasks. */
  get isMine() {
    return mutexOwner(this.words) === self;
  }

  /**
   * Takes the mutex, blocking this thread until it gets it.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} this agent holds it already
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  lock(options) {
    return this.#lock(options, 'lock');
  }

  /**
   * @param {number | WaitOptions | undefined} options
   * @param {string} call what the user called
   */
  #lock(options, call) {
    const timeout = timeoutToBlock(options, call);
    if (mutexTake(this.words, me)) return true;
    const what = lockBlocking(this.words, self, timeout);
    if (what === LW_DEADLOCK) throw new DeadlockError('held by this thread already');
    return what === LW_DONE;
  }

  /**
   * Takes the mutex without ever blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   */
  lockAsync(options) {
    return this.#ask(options);
  }

  /**
   * Takes the mutex if it is free. Never waits, and never queues.
   *
   * @returns {boolean} false: an agent holds it, perhaps this one
   */
  tryLock() {
    return mutexTake(this.words, self) || mutexTryStep(this.words, self);
  }

  /**
   * Frees the mutex and wakes a waiter, if one has to be woken. Never waits.
   *
   * @throws {OwnershipError} this agent does not hold it
   */
  unlock() {
    if (mutexFree(this.words, me)) handOver(this.words);
    else if (!mutexUnlockStep(this.words, me)) throw new OwnershipError('not held by this thread');
  }

  /**
   * `lock`, as a guard: `using guard = mutex.acquire()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @throws {TimeoutError} the time was up; and what `lock` throws
   */
  acquire(options) {
    return guardOf(this.#lock(options, 'acquire'), () => this.unlock());
  }

  /**
   * `lockAsync`, as a guard: `using guard = await mutex.acquireAsync()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<import('./guard.js').Guard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  acquireAsync(options) {
    return this.#ask(options, ({ what }) => guardOf(what === LW_DONE, () => this.unlock()));
  }

  /**
   * Calls `fn` under the lock, and releases it when what `fn` returns has settled, or when it
   * throws.
   *
   * @template T
   * @param {() => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] of the lock: ms, or options; rejects with
   *   `signal.reason` on abort
   * @returns {Promise<T>} what `fn` returns
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  async runExclusive(fn, options) {
    if (!(await this.lockAsync(options))) throw new TimeoutError('timed out');
    try {
      return await fn();
    } finally {
      this.unlock();
    }
  }

  /**
   * Takes the mutex, or queues for it.
   *
   * @param {number | WaitOptions | undefined} options
   * @param {(answer: { what: number }) => any} [toValue]
   * @returns {Promise<any>}
   */
  #ask(options, toValue = isDone) {
    try {
      if (!pending.count) {
        timeoutOf(options);
        signalOf(options);
        if (mutexTake(this.words, self)) return Promise.resolve(toValue({ what: LW_DONE }));
      }
    } catch {
      // The promise below is rejected with it.
    }
    return enqueue(mutexLockStep, this.words, options, toValue);
  }
}
