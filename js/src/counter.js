/** A number that agents can wait for: the same as lw_counter in C (include/lockword/counter.h). */

import { LW_COUNTER_MAX, LW_DONE } from './core/constants.js';
import {
  counterAddStep,
  counterAtLeastStep,
  counterAtMostStep,
  counterChangeStep,
  counterValue,
} from './core/counter.js';
import { timeoutToBlock } from './options.js';
import { Primitive } from './primitive.js';
import {
  assertInteger,
  blockFor,
  refuse,
  remaining,
  saidBy,
  sourceOf,
  waitFor,
} from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 */

/**
 * A counter from 0 to 2^30 - 1. A waiter looks at the value when it wakes up, so it may miss a
 * value that has come and gone meanwhile. An agent that sees a change sees what was written before
 * it. Any number of agents may wait.
 *
 * @extends {Primitive<'Counter'>}
 */
export class Counter extends Primitive {
  static BYTE_LENGTH = 8;
  /** @readonly @type {'Counter'} */
  static type = 'Counter';

  /**
   * Makes a counter in new memory.
   *
   * @param {number} [value] to begin with, 0 to 2^30 - 1
   * @throws {RangeError} value is out of range
   */
  static create(value = 0) {
    return this.init(undefined, 0, value);
  }

  /**
   * Makes a counter in memory that no agent uses yet. Call it once, in one agent; in zeroed memory
   * there is one of 0.
   *
   * @param {SharedMemory | undefined} memory
   * @param {number} byteOffset
   * @param {number} value to begin with, 0 to 2^30 - 1
   * @throws {RangeError} value is out of range
   */
  static init(memory, byteOffset, value) {
    assertInteger(value, 0, LW_COUNTER_MAX, 'value');
    const counter = new this(memory, byteOffset);
    counter.words.set([value, 0]);
    return counter;
  }

  /** The value right now. */
  get value() {
    return counterValue(this.words);
  }

  /**
   * Adds n, and wakes waiters.
   *
   * @param {number} [n] 0 to 2^30 - 1
   * @returns {number} the value before
   * @throws {RangeError} it would exceed 2^30 - 1; nothing was changed
   */
  increment(n = 1) {
    return this.#add(n, n);
  }

  /**
   * Subtracts n, and wakes waiters.
   *
   * @param {number} [n] 0 to 2^30 - 1
   * @returns {number} the value before
   * @throws {RangeError} it would be negative; nothing was changed
   */
  decrement(n = 1) {
    return this.#add(n, -n);
  }

  /**
   * @param {number} n what the user gave
   * @param {number} change what is added
   */
  #add(n, change) {
    if (n !== 1) assertInteger(n, 0, LW_COUNTER_MAX, 'n');
    const before = counterAddStep(this.words, change);
    if (before < 0) refuse(this.value + change, 0, LW_COUNTER_MAX, 'value');
    return before;
  }

  /**
   * A value of at least n, as a source for `waitAny`.
   *
   * @param {number} n 0 to 2^30 - 1
   * @returns {WaitSource}
   * @throws {RangeError} n is out of range
   */
  whenAtLeast(n) {
    return this.#when(counterAtLeastStep, n);
  }

  /**
   * A value of at most n, as a source for `waitAny`.
   *
   * @param {number} n 0 to 2^30 - 1
   * @returns {WaitSource}
   * @throws {RangeError} n is out of range
   */
  whenAtMost(n) {
    return this.#when(counterAtMostStep, n);
  }

  /**
   * @param {import('./line.js').Step} step
   * @param {number} n
   * @returns {WaitSource}
   */
  #when(step, n) {
    assertInteger(n, 0, LW_COUNTER_MAX, 'n');
    return sourceOf({ step, words: this.words, wanted: n, all: true });
  }

  /**
   * Blocks until the value is at least n, or until the predicate is true of it.
   *
   * @param {number | ((value: number) => boolean)} wanted the value, 0 to 2^30 - 1, or the
   *   predicate, not async
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {RangeError} the value is out of range
   * @throws {TypeError} the predicate returned a promise
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  waitUntil(wanted, options) {
    if (typeof wanted !== 'function')
      return blockFor(this.whenAtLeast(wanted), options, 'waitUntil').what === LW_DONE;
    // Refuses to block also if the predicate is true: else it would only when it has to wait.
    const left = remaining(timeoutToBlock(options, 'waitUntil'));
    for (let { value } = this; !saidBy(wanted(value)); value = this.value) {
      if (blockFor(this.#when(counterChangeStep, value), left(), 'waitUntil').what !== LW_DONE)
        return false;
    }
    return true;
  }

  /**
   * The same, without blocking.
   *
   * @param {number | ((value: number) => boolean)} wanted the value, 0 to 2^30 - 1, or the
   *   predicate, not async
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   * @throws {RangeError} the value is out of range
   * @throws {TypeError} the predicate returned a promise
   */
  waitUntilAsync(wanted, options) {
    return typeof wanted === 'function'
      ? this.#untilAsync(wanted, options)
      : waitFor(() => this.whenAtLeast(wanted), options);
  }

  /**
   * @param {(value: number) => boolean} wanted
   * @param {number | WaitOptions | undefined} options
   */
  async #untilAsync(wanted, options) {
    const left = remaining(options);
    for (let { value } = this; !saidBy(wanted(value)); value = this.value) {
      if (!(await waitFor(() => this.#when(counterChangeStep, value), left()))) return false;
    }
    return true;
  }
}
