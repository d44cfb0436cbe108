/** A counting semaphore: the same as lw_sem in C (include/lockword/sem.h). */

import { LW_DONE, LW_SEM_GATE, LW_SEM_MAX, semAcquireStep, semPermits, semReleaseStep, semTryStep } from './core.js';
import { Primitive } from './primitive.js';
import { assertInteger, blockFor, waitFor } from './waiting.js';

/** @typedef {import('./options.js').WaitOptions} WaitOptions */

/**
 * A semaphore of up to 2^30 - 1 permits. Any number may be asked for at once; all are had at once, or none. A release wakes all who wait,
 * and whoever finds enough takes it: nobody sleeps beside permits that would do. What was done before a release is seen by whoever acquires
 * after it. Any number may wait.
 */
export class Semaphore extends Primitive {
  static BYTE_LENGTH = 8;
  static type = 'Semaphore';

  /**
   * Makes a semaphore in new memory.
   *
   * @param {number} permits to begin with
   */
  static create(permits) {
    return this.init(undefined, 0, permits);
  }

  /**
   * Makes a semaphore of memory that nobody uses yet. To be called once, by one agent; in zeroed memory there is one without permits.
   *
   * @param {SharedArrayBuffer | WebAssembly.Memory | undefined} memory
   * @param {number} byteOffset
   * @param {number} permits to begin with
   */
  static init(memory, byteOffset, permits) {
    assertInteger(permits, 0, LW_SEM_MAX, 'permits');
    const semaphore = new this(memory, byteOffset);
    semaphore.words.set([permits, 0]);
    return semaphore;
  }

  /** How many permits are to be had right now. */
  get permits() {
    return semPermits(this.words);
  }

  /** n permits being acquired, as something for `waitAny`. */
  when(n = 1) {
    assertInteger(n, 0, LW_SEM_MAX, 'n');
    return { step: semAcquireStep, words: this.words, gate: LW_SEM_GATE, wanted: n };
  }

  /**
   * Takes n permits, blocking until they are to be had.
   *
   * @param {number} [n]
   * @param {number | WaitOptions} [options]
   * @returns {boolean} false: the time was up
   */
  acquire(n = 1, options) {
    return blockFor(this.when(n), options, 'acquire').what === LW_DONE;
  }

  /**
   * Takes n permits, without blocking.
   *
   * @param {number} [n]
   * @param {number | WaitOptions} [options]
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   */
  async acquireAsync(n = 1, options) {
    return (await waitFor(this.when(n), options)).what === LW_DONE;
  }

  /**
   * Takes n permits if they are to be had.
   *
   * @param {number} [n]
   * @returns {boolean} whether it did
   */
  tryAcquire(n = 1) {
    assertInteger(n, 0, LW_SEM_MAX, 'n');
    return semTryStep(this.words, n);
  }

  /**
   * Gives n permits, and wakes.
   *
   * @param {number} [n]
   * @throws {RangeError} there would be more than 2^30 - 1; nothing was changed
   */
  release(n = 1) {
    assertInteger(n, 0, LW_SEM_MAX, 'n');
    if (!semReleaseStep(this.words, n)) throw new RangeError('too many');
  }
}
