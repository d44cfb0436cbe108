/** Waits until all of a number of things are done: the same as lw_waitgroup in C (include/lockword/waitgroup.h). */

import { LW_DONE, LW_WAITGROUP_MAX } from './core.js';
import { waitgroupAddStep, waitgroupDoneStep, waitgroupState, waitgroupWaitStep } from './core.js';
import { Primitive } from './primitive.js';
import { assertInteger, blockFor, sourceOf, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 */

/**
 * A wait group, as Go has it, of up to 2^22 - 1 things. It can be used again as soon as its count has come to 0. What was done before each `done`
 * is seen after the wait. Any number may wait; one that sleeps through exactly 256 rounds waits for the next one's end, too.
 *
 * @extends {Primitive<'WaitGroup'>}
 */
export class WaitGroup extends Primitive {
  static BYTE_LENGTH = 8;
  /**
   * @readonly @type {'WaitGroup'} */
  static type = 'WaitGroup';

  /** How much is not done yet. */
  get count() {
    return waitgroupState(this.words) & LW_WAITGROUP_MAX;
  }

  /**
   * Adds n things to do.
   *
   * @param {number} [n] 0 to 2^22 - 1
   * @throws {RangeError} there would be more than 2^22 - 1; nothing was changed
   */
  add(n = 1) {
    assertInteger(n, 0, LW_WAITGROUP_MAX, 'n');
    if (!waitgroupAddStep(this.words, n)) throw new RangeError('too many');
  }

  /**
   * n of them are done; with the last one everybody who waits is released.
   *
   * @param {number} [n] 0 to 2^22 - 1
   * @throws {RangeError} there were not so many; nothing was changed
   */
  done(n = 1) {
    assertInteger(n, 0, LW_WAITGROUP_MAX, 'n');
    if (!waitgroupDoneStep(this.words, n)) throw new RangeError('too few');
  }

  /** All being done, from now on, as something for `waitAny`.
   *
   * @returns {WaitSource}
   */
  when() {
    return sourceOf({ step: waitgroupWaitStep, words: this.words, wanted: waitgroupState(this.words) });
  }

  /**
   * Blocks until all are done.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  wait(options) {
    return blockFor(this.when(), options, 'wait').what === LW_DONE;
  }

  /**
   * Waits until all are done, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   */
  async waitAsync(options) {
    return (await waitFor(this.when(), options)).what === LW_DONE;
  }
}
