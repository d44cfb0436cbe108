/**
 * Waits until all of a number of things are done: the same as lw_waitgroup in C
 * (include/lockword/waitgroup.h).
 */

import { LW_DONE, LW_WAITGROUP_MAX } from './core/constants.js';
import {
  waitgroupAddStep,
  waitgroupCount,
  waitgroupDoneStep,
  waitgroupState,
  waitgroupWaitStep,
} from './core/waitgroup.js';
import { Primitive } from './primitive.js';
import { assertInteger, blockFor, refuse, sourceOf, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 */

/**
 * A wait group, as in Go, with a count of up to 2^22 - 1. It can be used again as soon as its count
 * has come to 0. A wait sees what was written before each `done`. Any number of agents may wait; a
 * waiter that sleeps through exactly 256 rounds waits for the end of the next one, too.
 *
 * @extends {Primitive<'WaitGroup'>}
 */
export class WaitGroup extends Primitive {
  static BYTE_LENGTH = 8;
  /** @readonly @type {'WaitGroup'} */
  static type = 'WaitGroup';

  /** The count: what is not done yet. */
  get count() {
    return waitgroupCount(this.words);
  }

  /**
   * Adds n to the count.
   *
   * @param {number} [n] 0 to 2^22 - 1
   * @throws {RangeError} there would be more than 2^22 - 1; nothing was changed
   */
  add(n = 1) {
    assertInteger(n, 0, LW_WAITGROUP_MAX, 'n');
    if (!waitgroupAddStep(this.words, n)) refuse(this.count + n, 0, LW_WAITGROUP_MAX, 'count');
  }

  /**
   * Takes n off the count; at 0, releases all waiters.
   *
   * @param {number} [n] 0 to 2^22 - 1
   * @throws {RangeError} the count was less; nothing was changed
   */
  done(n = 1) {
    assertInteger(n, 0, LW_WAITGROUP_MAX, 'n');
    if (!waitgroupDoneStep(this.words, n)) refuse(this.count - n, 0, LW_WAITGROUP_MAX, 'count');
  }

  /**
   * A count of 0, from now on, as a source for `waitAny`.
   *
   * @returns {WaitSource}
   */
  when() {
    return sourceOf({
      step: waitgroupWaitStep,
      words: this.words,
      wanted: waitgroupState(this.words),
      all: true,
    });
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
  waitAsync(options) {
    return waitFor(() => this.when(), options);
  }
}
