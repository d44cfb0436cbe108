/**
 * A count that only goes down, and opens at 0: the same as lw_latch in C
 * (include/lockword/latch.h).
 */

import { LW_DONE, LW_LATCH_MAX } from './core/constants.js';
import { latchCount, latchCountDownStep, latchWaitStep } from './core/latch.js';
import { checked } from './limits.js';
import { timeoutToBlock } from './options.js';
import { Primitive } from './primitive.js';
import { assertInteger, blockFor, refuse, sourceOf, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 */

/**
 * A latch, as C++20's std::latch: its count is set when it is made, 1 to 2^30 - 1, and only goes
 * down. It is used once: at 0 it is open, and stays open, as zeroed memory is. A wait sees what was
 * written before each count down. Any number of agents may wait.
 *
 * @extends {Primitive<'Latch'>}
 */
export class Latch extends Primitive {
  static BYTE_LENGTH = 8;
  /** @readonly @type {'Latch'} */
  static type = 'Latch';

  /**
   * Makes a latch in new memory.
   *
   * @param {number} count how much has to be counted down, 1 to 2^30 - 1
   * @throws {RangeError} count is out of range
   */
  static create(count) {
    return this.init(undefined, 0, count);
  }

  /**
   * Makes a latch in memory that no agent uses yet. Call it once, in one agent.
   *
   * @param {SharedMemory | undefined} memory
   * @param {number} byteOffset
   * @param {number} count how much has to be counted down, 1 to 2^30 - 1
   * @throws {RangeError} count is out of range
   */
  static init(memory, byteOffset, count) {
    assertInteger(count, 1, LW_LATCH_MAX, 'count');
    const latch = new this(memory, byteOffset);
    latch.words.set([count, 0]);
    return latch;
  }

  /** How much has yet to be counted down. */
  get count() {
    return latchCount(this.words);
  }

  /**
   * Takes n off the count; at 0, releases all waiters.
   *
   * @param {number} [n] 0 to 2^30 - 1
   * @throws {RangeError} the count was less; nothing was changed
   */
  countDown(n = 1) {
    assertInteger(n, 0, LW_LATCH_MAX, 'n');
    this.#countDown(n);
  }

  /**
   * Does not wait.
   *
   * @returns {boolean} whether the count is 0
   */
  tryWait() {
    return this.count === 0;
  }

  /**
   * A count of 0, as a source for `waitAny`.
   *
   * @returns {WaitSource}
   */
  when() {
    return sourceOf({ step: latchWaitStep, words: this.words, wanted: 0, all: true });
  }

  /**
   * Blocks until the count is 0.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  wait(options) {
    return blockFor(this.when(), options, 'wait').what === LW_DONE;
  }

  /**
   * Waits until the count is 0, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   */
  waitAsync(options) {
    return waitFor(() => this.when(), options);
  }

  /**
   * Takes 1 off the count, and blocks until it is 0. A caller whose time is up has counted all the
   * same.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {RangeError} the count was 0 before
   * @throws {BlockingError} this thread may not block: on a page's main thread, always; it has not
   *   counted
   */
  arriveAndWait(options) {
    const timeout = timeoutToBlock(options, 'arriveAndWait');
    return this.#countDown(1) || blockFor(this.when(), timeout, 'arriveAndWait').what === LW_DONE;
  }

  /**
   * Takes 1 off the count, and waits until it is 0, without blocking. A caller that gives up has
   * counted all the same, unless its signal was aborted before the call.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   * @throws {RangeError} the count was 0 before
   */
  async arriveAndWaitAsync(options) {
    // Not after the arrival.
    const left = checked(options);
    return this.#countDown(1) || this.waitAsync(left);
  }

  /**
   * @param {number} n
   * @returns {boolean} whether this has opened it: then the caller does not touch it again, for a
   *   waiter may have freed it
   */
  #countDown(n) {
    const before = latchCountDownStep(this.words, n);
    if (before < n) refuse(before - n, 0, LW_LATCH_MAX, 'count');
    return before === n;
  }
}
