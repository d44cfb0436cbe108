/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Permits that have owners and numbers: the same as lw_permits in C (include/lockword/permits.h).
 */

import { self } from './agent.js';
import { LW_DONE, LW_PERMITS_COUNT, LW_PERMITS_FIRST, LW_PERMITS_MAX } from './core/constants.js';
import {
  permitsAcquireStep,
  permitsCount,
  permitsOf,
  permitsReleaseStep,
  permitsTryStep,
} from './core/permits.js';
import { OwnershipError, TimeoutError } from './errors.js';
import { dispose } from './guard.js';
import { handOver } from './line.js';
import { Primitive } from './primitive.js';
import { assertInteger, blockFor, sourceOf, waitersOf, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 */

/**
 * Up to 252 permits: at most so many callers have one at a time. They have numbers, from 0 on, so
 * that a permit can stand for a port, a GPU or a folder. And they have owners: no other thread
 * gives one back.
 *
 * A call takes one permit. A thread may have several. A waiter that was woken in vain nine times,
 * or has slept for a second, or an event loop that was woken in vain once, goes first.
 *
 *     const gpus = Permits.create(4);
 *     await gpus.runExclusive((gpu) => train(gpu));
 *     using permit = await gpus.acquireAsync();       // permit.number: 0 to 3
 *
 * A thread that ends keeps its permits. Those of a region, `region.permits(name, n)`, are free
 * again when their owner ends.
 *
 * @extends {Primitive<'Permits'>}
 */
export class Permits extends Primitive {
  static BYTE_LENGTH = 1024;
  /** @readonly @type {'Permits'} */
  static type = 'Permits';

  /**
   * Makes permits in new memory.
   *
   * @param {number} n how many, 1 to 252
   * @throws {RangeError} n is out of range
   */
  static create(n) {
    return this.init(undefined, 0, n);
  }

  /**
   * Makes permits in memory that no agent uses yet, 1024 bytes whatever their number. Call it once,
   * in one agent. Zeroed memory has no permits.
   *
   * @param {SharedMemory | undefined} memory
   * @param {number} byteOffset
   * @param {number} n how many, 1 to 252
   * @throws {RangeError} n is out of range
   */
  static init(memory, byteOffset, n) {
    const words = this.initial(n);
    const permits = new this(memory, byteOffset);
    permits.words.set(words);
    return permits;
  }

  /**
   * The words of so many permits, all of them free.
   *
   * @internal
   * @param {number} n 1 to 252
   */
  static initial(n) {
    assertInteger(n, 1, LW_PERMITS_MAX, 'n');
    const words = new Int32Array(LW_PERMITS_FIRST + LW_PERMITS_MAX);
    words[LW_PERMITS_COUNT] = n;
    return words;
  }

  /** How many there are. */
  get count() {
    return permitsCount(this.words);
  }

  /** How many of them are free right now. */
  get available() {
    return permitsOf(this.words, 0);
  }

  /**
   * Throws if this thread has closed the region of the permits.
   *
   * @internal
   */
  assertJoined() {}

  /**
   * Takes a permit, blocking this thread until it gets one.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {PermitGuard}
   * @throws {TimeoutError} the time was up
   * @throws {RangeError} there are no permits: zeroed memory
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  acquire(options) {
    return this.#guard(blockFor(this.#operation(), options, 'acquire'));
  }

  /**
   * Takes a permit, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<PermitGuard>} rejects with `signal.reason` on abort
   * @throws {TimeoutError} the time was up
   * @throws {RangeError} there are no permits: zeroed memory
   */
  acquireAsync(options) {
    return waitFor(
      () => this.#operation(),
      options,
      (answer) => this.#guard(/** @type {any} */ (answer)),
    );
  }

  /**
   * Takes a permit if one is free. Never waits.
   *
   * @returns {PermitGuard | undefined}
   */
  tryAcquire() {
    this.assertJoined();
    const expected = permitsTryStep(this.words, self);
    return expected < 0 ? undefined : this.#guard({ what: LW_DONE, expected });
  }

  /**
   * Calls `fn` with the number of a permit, and gives the permit back when what `fn` returns has
   * settled, or when it throws.
   *
   * @template T
   * @param {(number: number) => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<T>} what `fn` returns; rejects with `signal.reason` on abort
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  async runExclusive(fn, options) {
    const permit = await this.acquireAsync(options);
    try {
      return await fn(permit.number);
    } finally {
      permit.release();
    }
  }

  /**
   * Acquiring a permit, as a source for `waitAny`. If it comes first, its `permit` is what was
   * acquired.
   *
   *     const gpu = gpus.when();
   *     if ((await waitAny([stop.when(), gpu])) === 1) use(gpu.permit.number);
   *
   * @returns {WaitSource & { permit?: PermitGuard }}
   * @throws {RangeError} there are no permits: zeroed memory
   */
  when() {
    const operation = () => this.#operation();
    const source = {
      ...operation(),
      // When the wait begins: a region may have been closed since.
      get words() {
        return operation().words;
      },
      get wanted() {
        return self;
      },
      /** @type {PermitGuard | undefined} */
      permit: undefined,
      /** @param {any} answer */
      take: (answer) => void (source.permit = this.#guard(answer)),
    };
    return /** @type {any} */ (sourceOf(source));
  }

  /** @returns {import('./crowd.js').Operation} */
  #operation() {
    this.assertJoined();
    if (this.count === 0) throw new RangeError('no permits: write Permits.create(n)');
    return { step: permitsAcquireStep, words: this.words, wanted: self };
  }

  /** @param {{ what: number, expected: number }} answer */
  #guard({ what, expected }) {
    if (what !== LW_DONE) throw new TimeoutError('timed out');
    return new PermitGuard(expected, () => {
      const waiters = waitersOf(this.words);
      if (!permitsReleaseStep(this.words, expected, self))
        throw new OwnershipError('not held by this thread');
      handOver(this.words, waiters);
    });
  }
}

/**
 * A permit that is held. `using permit = permits.acquire()` gives it back at the end of the block.
 */
export class PermitGuard {
  /** @type {(() => void) | undefined} */
  #release;

  /** @readonly Which permit it is, from 0 on: no other thread has it meanwhile. */
  number;

  /**
   * @internal
   * @param {number} number
   * @param {() => void} release
   */
  constructor(number, release) {
    this.number = number;
    this.#release = release;
  }

  /**
   * Gives the permit back, the first time. Further calls do nothing.
   *
   * @throws {OwnershipError} the permit is not this thread's any more
   */
  release() {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }

  /** The same as `release()`, called at the end of a `using` block. */
  [dispose]() {
    this.release();
  }
}
