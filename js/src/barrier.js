/**
 * Makes a number of parties meet, again and again: the same as lw_barrier in C
 * (include/lockword/barrier.h).
 */

import {
  barrierArriveStep,
  barrierDropStep,
  barrierMakeStep,
  barrierBroke,
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
  LW_DONE,
} from './core/constants.js';
import { BrokenBarrierError, TimeoutError } from './errors.js';
import { assertListens } from './limits.js';
import { signalOf, timeoutOf, timeoutToBlock } from './options.js';
import { Primitive } from './primitive.js';
import { assertInteger, blockFor, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 */

/**
 * A cyclic barrier of 1 to 4095 parties. A party that gives up breaks it for all, visibly, until it
 * is reset: otherwise they would wait for ever. After a wait each party sees what all of them wrote
 * before they arrived.
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
   * @throws {RangeError} there are to be fewer or more
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
   * @throws {RangeError} there are to be fewer or more
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
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  wait(options) {
    const timeout = timeoutToBlock(options, 'wait');
    const [leads, state] = this.#arrive();
    return leads || this.#end(state, blockFor(this.#operation(state), timeout, 'wait'));
  }

  /**
   * Arrives, and waits without blocking until all have. Aborting breaks the barrier.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} whether this party leads; rejects with `signal.reason` on abort
   * @throws {TimeoutError} the time was up, and the barrier is broken by that
   * @throws {BrokenBarrierError} another party gave up, or it was reset
   */
  async waitAsync(options) {
    const timeout = timeoutOf(options);
    const signal = signalOf(options);
    // It may throw, and not after the arrival.
    assertListens(signal);
    const [leads, state] = this.#arrive();
    return (
      leads ||
      this.#end(state, await waitFor(() => this.#operation(state), { timeout, signal }, Object))
    );
  }

  /**
   * Arrives, does not wait, and removes one party from all cycles after this one, even if this one
   * is broken. Illegal at the same time as a reset, which would count the party in neither cycle.
   *
   * @returns {boolean} whether this party was the last to arrive
   * @throws {BrokenBarrierError} the barrier is broken
   */
  arriveAndDrop() {
    barrierDropStep(this.words);
    return this.#arrive()[0];
  }

  /** Begins a new cycle, with all parties missing. Waiters get a BrokenBarrierError. */
  reset() {
    barrierResetStep(this.words);
  }

  /** @returns {[leads: boolean, state: number]} whether all have arrived by that, and in which cycle */
  #arrive() {
    let state;
    let outcome;
    do {
      state = barrierState(this.words);
      outcome = barrierArriveStep(this.words, state);
      // Where there are more agents than parties, others may end a cycle between the look and the
      // arrival.
    } while (outcome === LW_BARRIER_BROKE && !this.isBroken);
    if (outcome === LW_BARRIER_UNMADE) throw new RangeError('the barrier has no parties');
    if (outcome === LW_BARRIER_BROKE) throw new BrokenBarrierError('the barrier is broken');
    return [outcome === LW_BARRIER_LEADS, state];
  }

  /** @param {number} state */
  #operation(state) {
    return { step: barrierWaitStep, words: this.words, wanted: state };
  }

  /**
   * @param {number} state
   * @param {{ what: number, expected: number }} outcome
   */
  #end(state, { what, expected }) {
    if (what !== LW_DONE) throw new TimeoutError('timed out');
    if (barrierBroke(state, expected)) throw new BrokenBarrierError('the barrier is broken');
    return false;
  }
}
