/** A counting semaphore: the same as lw_sem in C (include/lockword/sem.h). */

import { unchecked } from './agent.js';
import { LW_DONE, LW_SEM_MAX } from './core/constants.js';
import {
  semAcquireStep,
  semGive,
  semPermits,
  semReleaseStep,
  semTake,
  semTryStep,
} from './core/sem.js';
import { guardOf, runUnder } from './guard.js';
import { handOver } from './line.js';
import { Primitive } from './primitive.js';
import { assertInteger, blockFor, refuse, sourceOf, waitersOf, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 *
 * @typedef {object} PermitsWanted
 * @property {number | undefined} [permits] how many to take, all at once: 0 to 2^28 - 1, 1 by
 *   default
 *
 * @typedef {WaitOptions & PermitsWanted} PermitOptions what every call accepts that waits for
 *   permits
 */

/** The names of all options of a call that waits for permits. */
const OPTIONS = { permits: 0, timeout: 0, signal: 0 };

/**
 * A semaphore of up to 2^28 - 1 permits. A call may ask for any number, and gets all of them at
 * once, or none. A release wakes as many blocked threads as it gives permits. An acquire sees what
 * was written before the releases that gave its permits. Any number of agents may wait.
 *
 * No request starves. A running thread may overtake waiters, but not for long: a waiter that was
 * woken in vain nine times, or has slept for a second, reserves the permits. A call for several
 * permits that has to wait claims them, an asynchronous one once its event loop has turned, and so
 * does an event loop that was woken in vain once. From then on newcomers wait until the claim is
 * served or given up, except `tryAcquire`. So do not ask for more permits while you hold some,
 * unless by `tryAcquire`: a claim may wait for those that you hold.
 *
 *     const slots = Semaphore.create(4);
 *     await slots.runExclusive(() => fetch(url), { timeout: 1000 });
 *     using permits = slots.acquire({ permits: 2 });    // in a worker
 *
 * To end all waits, put an event beside it. An event loop waits for either:
 *
 *     const open = (await waitAny([closed.when(), slots.when()])) === 1;
 *
 * A thread that got its permit looks at the event, and passes the permit on if the event is set.
 * Then one permit wakes all:
 *
 *     slots.wait();
 *     if (closed.isSet) slots.release();                // and leave
 *
 *     closed.set(), slots.release();                    // the thread that closes it
 *
 * @extends {Primitive<'Semaphore'>}
 */
export class Semaphore extends Primitive {
  static BYTE_LENGTH = 12;
  /** @readonly @type {'Semaphore'} */
  static type = 'Semaphore';

  /**
   * Makes a semaphore in new memory.
   *
   * @param {number} permits to begin with, 0 to 2^28 - 1
   * @throws {RangeError} permits are out of range
   */
  static create(permits) {
    return this.init(undefined, 0, permits);
  }

  /**
   * Makes a semaphore in memory that no agent uses yet. Call it once, in one agent; in zeroed
   * memory there is one without permits.
   *
   * @param {SharedMemory | undefined} memory
   * @param {number} byteOffset
   * @param {number} permits to begin with, 0 to 2^28 - 1
   * @throws {RangeError} permits are out of range
   */
  static init(memory, byteOffset, permits) {
    assertInteger(permits, 0, LW_SEM_MAX, 'permits');
    const semaphore = new this(memory, byteOffset);
    semaphore.words.set([permits, 0, 0]);
    return semaphore;
  }

  /** How many permits are available right now. */
  get permits() {
    return semPermits(this.words);
  }

  /**
   * Acquiring n permits, as a source for `waitAny`.
   *
   * @param {number} [n] 0 to 2^28 - 1
   * @returns {WaitSource}
   * @throws {RangeError} n is out of range
   */
  when(n = 1) {
    assertInteger(n, 0, LW_SEM_MAX, 'permits');
    return sourceOf({
      step: semAcquireStep,
      words: this.words,
      wanted: n,
      names: OPTIONS,
      later: true,
    });
  }

  /**
   * Takes permits, blocking until it gets them. `release` gives them back.
   *
   * @param {PermitOptions} [options] how many, 1 by default, and `{ timeout, signal }`, in ms; a
   *   signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {RangeError} permits are not 0 to 2^28 - 1
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  wait(options) {
    if (options === unchecked && semTake(this.words, 1)) return true;
    return blockFor(this.#operation(options), options, 'wait').what === LW_DONE;
  }

  /**
   * Takes permits, without blocking. `release` gives them back.
   *
   * @param {PermitOptions} [options] how many, 1 by default, and `{ timeout, signal }`, in ms
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   * @throws {RangeError} permits are not 0 to 2^28 - 1
   */
  waitAsync(options) {
    return waitFor(() => this.#operation(options), options);
  }

  /**
   * `wait`, as a guard, which gives the permits back: `using permit = semaphore.acquire()`.
   *
   * @param {PermitOptions} [options] how many, 1 by default, and `{ timeout, signal }`, in ms
   * @throws {TimeoutError} the time was up; and what `wait` throws
   */
  acquire(options) {
    const operation = this.#operation(options);
    return this.#guard(blockFor(operation, options, 'acquire'), operation.wanted);
  }

  /**
   * `waitAsync`, as a guard, which gives the permits back: `using permit = await
   * semaphore.acquireAsync()`.
   *
   * @param {PermitOptions} [options] how many, 1 by default, and `{ timeout, signal }`, in ms
   * @returns {Promise<import('./guard.js').Guard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  acquireAsync(options) {
    return waitFor(
      () => this.#operation(options),
      options,
      (answer, wanted) => this.#guard(answer, wanted),
    );
  }

  /**
   * Calls `fn` with permits taken, and gives them back when what `fn` returns has settled, or when
   * it throws.
   *
   * @template T
   * @param {() => T | PromiseLike<T>} fn
   * @param {PermitOptions} [options] how many permits, 1 by default, and `{ timeout, signal }`, in
   *   ms
   * @returns {Promise<T>} what `fn` returns; rejects with `signal.reason` on abort
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  runExclusive(fn, options) {
    return runUnder(this.acquireAsync(options), () => fn());
  }

  /**
   * Takes n permits if there are as many. Never waits.
   *
   * @param {number} [n] 0 to 2^28 - 1
   * @returns {boolean} whether it did
   * @throws {RangeError} n is out of range
   */
  tryAcquire(n = 1) {
    assertInteger(n, 0, LW_SEM_MAX, 'n');
    return semTryStep(this.words, n);
  }

  /**
   * Adds n permits, whichever agent took them, and wakes waiters.
   *
   * @param {number} [n] 0 to 2^28 - 1
   * @throws {RangeError} there would be more than 2^28 - 1; nothing was changed
   */
  release(n = 1) {
    if (n !== 1) assertInteger(n, 0, LW_SEM_MAX, 'n');
    if (semGive(this.words, n)) return handOver(this.words);
    const waiters = waitersOf(this.words);
    if (semReleaseStep(this.words, n) < 0) refuse(this.permits + n, 0, LW_SEM_MAX, 'permits');
    handOver(this.words, waiters);
  }

  /**
   * What a call with these options wants. A bare number could mean permits or milliseconds.
   *
   * @param {PermitOptions | undefined} options
   * @returns {import('./crowd.js').Operation}
   */
  #operation(options) {
    if (typeof options === 'number')
      throw new TypeError(
        `instead of ${options}, write { permits: ${options} } or { timeout: ${options} }`,
      );
    return /** @type {any} */ (this.when(options?.permits));
  }

  /**
   * @param {{ what: number }} answer
   * @param {number} wanted
   */
  #guard({ what }, wanted) {
    return guardOf(what === LW_DONE, () => this.release(wanted));
  }
}
