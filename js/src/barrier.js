/**
 * Makes a number of parties meet, again and again: the same as lw_barrier in C
 * (include/lockword/barrier.h).
 */

import {
  barrierArriveStep,
  barrierDropStep,
  barrierMakeStep,
  barrierResetStep,
  barrierState,
  barrierWaitStep,
} from './core/barrier.js';
import {
  LW_BARRIER_BROKE,
  LW_BARRIER_BROKEN,
  LW_BARRIER_LEADS,
  LW_BARRIER_MAX,
  LW_BARRIER_UNMADE,
  LW_BARRIER_WAITS,
  LW_DONE,
} from './core/constants.js';
import { BrokenBarrierError, TimeoutError } from './errors.js';
import { checked } from './limits.js';
import { timeoutToBlock } from './options.js';
import { Primitive } from './primitive.js';
import { block } from './blocking.js';
import { assertInteger, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 */

/**
 * A cyclic barrier of 1 to 4095 parties. A party that gives up breaks it for all, visibly, until it
 * is reset: otherwise they would wait for ever. After a wait each party sees what all of them wrote
 * before they arrived. If more callers arrive than there are parties, as many cycles may end before
 * the event loop turns: a waiter that sleeps through exactly 4096 waits for the end of the next
 * one, too.
 *
 * @extends {Primitive<'Barrier'>}
 */
export class Barrier extends Primitive {
  static BYTE_LENGTH = 12;
  /** @readonly @type {'Barrier'} */
  static type = 'Barrier';

  /**
   * Makes a barrier in new memory.
   *
   * @param {number} parties how many have to meet, 1 to 4095
   * @throws {RangeError} parties are not 1 to 4095
   */
  static create(parties) {
    return this.init(undefined, 0, parties);
  }

  /**
   * Makes a barrier in memory that no agent uses yet. Call it once, in one agent.
   *
   * @param {SharedMemory | undefined} memory
   * @param {number} byteOffset
   * @param {number} parties how many have to meet, 1 to 4095
   * @throws {RangeError} parties are not 1 to 4095
   */
  static init(memory, byteOffset, parties) {
    assertInteger(parties, 1, LW_BARRIER_MAX, 'parties');
    const barrier = new this(memory, byteOffset);
    barrierMakeStep(barrier.words, parties);
    return barrier;
  }

  /** Whether a party gave up, and it has not been reset since. */
  get isBroken() {
    return (barrierState(this.words) & LW_BARRIER_BROKEN) !== 0;
  }

  /**
   * Arrives, and blocks until all have.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} whether this party leads: it was the last to arrive
   * @throws {TimeoutError} the time was up, and the barrier is broken by that
   * @throws {BrokenBarrierError} another party gave up, or it was reset
   * @throws {RangeError} it has no parties: zeroed memory
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  wait(options) {
    const timeout = timeoutToBlock(options, 'wait');
    const { what, expected } = barrierArriveStep(this.words);
    if (what !== LW_BARRIER_WAITS) return leads(what);
    return ended(block(barrierWaitStep, this.words, expected, timeout));
  }

  /**
   * Arrives, and waits without blocking until all have. Aborting breaks the barrier.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} whether this party leads; rejects with `signal.reason` on abort
   * @throws {TimeoutError} the time was up, and the barrier is broken by that
   * @throws {BrokenBarrierError} another party gave up, or it was reset
   * @throws {RangeError} it has no parties: zeroed memory
   */
  async waitAsync(options) {
    // Not after the arrival.
    const left = checked(options);
    const { what, expected } = barrierArriveStep(this.words);
    if (what !== LW_BARRIER_WAITS) return leads(what);
    return waitFor(
      () => ({ step: barrierWaitStep, words: this.words, wanted: expected }),
      left,
      ended,
    );
  }

  /**
   * Arrives, does not wait, and removes one party from all cycles after this one, even if this one
   * is broken. Illegal at the same time as a reset, which would count the party in neither cycle.
   *
   * @returns {boolean} whether this party was the last to arrive
   * @throws {BrokenBarrierError} the barrier is broken
   * @throws {RangeError} it has no parties
   */
  arriveAndDrop() {
    barrierDropStep(this.words);
    return leads(barrierArriveStep(this.words).what);
  }

  /** Begins a new cycle, with all parties missing. Waiters get a BrokenBarrierError. */
  reset() {
    barrierResetStep(this.words);
  }
}

/**
 * @param {number} outcome of an arrival, or of a wait
 * @returns {boolean} whether the party was the last to arrive
 */
function leads(outcome) {
  if (outcome === LW_BARRIER_UNMADE) throw new RangeError('the barrier has no parties');
  if (outcome === LW_BARRIER_BROKE) throw new BrokenBarrierError('the barrier is broken');
  return outcome === LW_BARRIER_LEADS;
}

/** @param {{ what: number, expected: number }} answer of the step that waited */
function ended({ what, expected }) {
  if (what !== LW_DONE) throw new TimeoutError('timed out');
  return leads(expected);
}
