/** Says that something has happened: the same event as lw_event in C (include/lockword/event.h). */

import { LW_DONE, LW_EVENT_AUTO, LW_EVENT_SET } from './core/constants.js';
import { eventResetStep, eventSetStep, eventState, eventWaitStep } from './core/event.js';
import { handOver } from './line.js';
import { assertOptions } from './options.js';
import { Primitive } from './primitive.js';
import { blockFor, sourceOf, waitersOf, waitFor } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 */

/**
 * An event. A manual one, the default, stays set until it is reset. It releases all waiters, even
 * if it is reset at once. An automatic event releases one waiter, which resets it. A set before a
 * wait is never lost. A released waiter sees what was written before the set. Any number of agents
 * may wait; to miss a set, a waiter would have to sleep through 2^28 of them while it wakes up.
 *
 * @extends {Primitive<'Event'>}
 */
export class Event extends Primitive {
  static BYTE_LENGTH = 8;
  /** @readonly @type {'Event'} */
  static type = 'Event';

  /**
   * Makes an event in new memory.
   *
   * @param {{ autoReset?: boolean | undefined }} [options] autoReset: it is an automatic one
   */
  static create(options) {
    return this.init(undefined, 0, options);
  }

  /**
   * Makes an unset event in memory that no agent uses yet. Call it once, in one agent; a manual
   * event in zeroed memory does not need it.
   *
   * @param {SharedMemory | undefined} memory
   * @param {number} byteOffset
   * @param {{ autoReset?: boolean | undefined }} [options] autoReset: it is an automatic one
   */
  static init(memory, byteOffset, options) {
    assertOptions(options, { autoReset: 0 });
    const event = new this(memory, byteOffset);
    event.words.set([options?.autoReset ? LW_EVENT_AUTO : 0, 0]);
    return event;
  }

  /** Whether it is set right now. */
  get isSet() {
    return (eventState(this.words) & LW_EVENT_SET) !== 0;
  }

  /** Sets it, and releases waiters. */
  set() {
    const waiters = waitersOf(this.words);
    eventSetStep(this.words);
    handOver(this.words, waiters);
  }

  /**
   * Resets it.
   *
   * @returns {boolean} whether it was set
   */
  reset() {
    return eventResetStep(this.words);
  }

  /**
   * That it is set, now or later, as a source for one `waitAny`. After a reset, make a new one.
   *
   * @returns {WaitSource}
   */
  when() {
    const { words } = this;
    const state = eventState(words);
    return sourceOf({
      step: eventWaitStep,
      words,
      // All that wait for an automatic event stand in one queue, whenever they came.
      wanted: state & LW_EVENT_AUTO ? 0 : state,
      all: ~state & LW_EVENT_AUTO,
    });
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
  waitAsync(options) {
    return waitFor(() => this.when(), options);
  }
}
