/** Something has happened: the same event as lw_event in C (include/lockword/event.h). */

import { eventResetStep, eventSetStep, eventState, eventWaitStep, LW_DONE, LW_EVENT_AUTO, LW_EVENT_SET } from './core.js';
import { Primitive } from './primitive.js';
import { blockFor, sourceOf, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 */

/**
 * An event. A manual one, the default, stays set until it is reset, and releases everybody who waits, even if it is reset at once. An automatic
 * one releases one waiter and is reset by that. A set before a wait is never lost. What was written before the set is seen by whoever it
 * releases. Any number may wait; it would have to be set 2^28 times while a waiter wakes up for that one to miss them.
 *
 * @extends {Primitive<'Event'>}
 */
export class Event extends Primitive {
  static BYTE_LENGTH = 8;
  /**
   * @readonly @type {'Event'} */
  static type = 'Event';

  /**
   * Makes an event in new memory.
   *
   * @param {{ autoReset?: boolean }} [options] autoReset: it is an automatic one
   */
  static create(options) {
    return this.init(undefined, 0, options);
  }

  /**
   * Makes an unset event of memory that nobody uses yet. To be called once, by one agent; a manual event in zeroed memory does not need it.
   *
   * @param {SharedMemory | undefined} memory
   * @param {number} byteOffset
   * @param {{ autoReset?: boolean }} [options] autoReset: it is an automatic one
   */
  static init(memory, byteOffset, { autoReset = false } = {}) {
    const event = new this(memory, byteOffset);
    event.words.set([autoReset ? LW_EVENT_AUTO : 0, 0]);
    return event;
  }

  /** Whether it is set right now. */
  get isSet() {
    return (eventState(this.words) & LW_EVENT_SET) !== 0;
  }

  /** Sets it, and releases those who wait. */
  set() {
    eventSetStep(this.words);
  }

  /**
   * Resets it.
   *
   * @returns {boolean} whether it was set
   */
  reset() {
    return eventResetStep(this.words);
  }

  /** Its being set, from now on, as something for `waitAny`.
   *
   * @returns {WaitSource}
   */
  when() {
    return sourceOf({ step: eventWaitStep, words: this.words, wanted: eventState(this.words) });
  }

  /**
   * Blocks until it is set.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  wait(options) {
    return blockFor(this.when(), options, 'wait').what === LW_DONE;
  }

  /**
   * Waits until it is set, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   */
  async waitAsync(options) {
    return (await waitFor(this.when(), options)).what === LW_DONE;
  }
}
