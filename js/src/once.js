/** Runs something exactly once: the same as lw_once in C (include/lockword/once.h). */

import { LW_DEADLOCK, LW_GAVE_UP } from './core/constants.js';
import { onceBeginStep, onceEndStep, onceRan, onceRunner } from './core/once.js';
import { self } from './agent.js';
import { DeadlockError, OwnershipError, TimeoutError } from './errors.js';
import { checked } from './limits.js';
import { timeoutToBlock } from './options.js';
import { Primitive } from './primitive.js';
import { assertSync, blockFor, waitFor } from './waiting.js';

/** @typedef {import('./options.js').WaitOptions} WaitOptions */

/**
 * Runs something once, in the agent that needs it first; others wait meanwhile. If it throws, the
 * next agent tries. A runner that is terminated leaves the others waiting until an agent that knows
 * says so: `once.abandon(itsId)`. All agents that find it run see what the runner wrote. Any number
 * of agents may wait.
 *
 * @extends {Primitive<'Once'>}
 */
export class Once extends Primitive {
  static BYTE_LENGTH = 8;
  /** @readonly @type {'Once'} */
  static type = 'Once';

  /** Whether it has been run. */
  get done() {
    return onceRan(this.words);
  }

  /** The id of the agent that runs it right now; 0: none. */
  get runner() {
    return onceRunner(this.words);
  }

  /**
   * Returns when `fn` has been run, here or elsewhere; blocks while another runs it.
   *
   * @param {() => void} fn not async
   * @param {number | WaitOptions} [options] of the wait for another's run: ms, or options; a signal
   *   is looked at once, before
   * @returns {boolean} whether it was run here
   * @throws {DeadlockError} this agent is running it
   * @throws {TimeoutError} the time was up
   * @throws {OwnershipError} it was abandoned while `fn` ran
   * @throws {TypeError} `fn` returned a promise: it counts as failed, and the next agent tries
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  run(fn, options) {
    const timeout = timeoutToBlock(options, 'run');
    if (this.done || !this.#begins(blockFor(this.#operation(), timeout, 'run'))) return false;
    try {
      assertSync(fn(), 'fn is async: write runAsync(fn)');
    } catch (error) {
      onceEndStep(this.words, self, false);
      throw error;
    }
    this.#end(onceEndStep(this.words, self, true));
    return true;
  }

  /**
   * The same, without blocking; `fn` may be async. A task that calls it within its own `fn` waits
   * for itself, and gets no error.
   *
   * @param {() => unknown} fn
   * @param {number | WaitOptions} [options] of the wait for another's run: ms, or options
   * @returns {Promise<boolean>} whether it was run here; rejects with `signal.reason` on abort
   * @throws {TimeoutError} the time was up
   */
  async runAsync(fn, options) {
    checked(options);
    if (this.done || !(await waitFor(() => this.#operation(), options, this.#begins))) return false;
    try {
      await fn();
    } catch (error) {
      onceEndStep(this.words, self, false);
      throw error;
    }
    this.#end(onceEndStep(this.words, self, true));
    return true;
  }

  /**
   * Says that an agent was terminated while it ran it, so that the next agent tries. If that agent
   * is alive after all, its `run` throws an OwnershipError when `fn` has ended. But if another task
   * of that agent runs `fn` by then, the end of the first `fn` ends that run.
   *
   * @param {number} runner its id, as `runner` told
   * @throws {OwnershipError} that agent does not run it
   */
  abandon(runner) {
    this.#end(onceEndStep(this.words, runner, false));
  }

  /** @param {boolean} ended */
  #end(ended) {
    if (!ended) throw new OwnershipError('that agent does not run it');
  }

  #operation() {
    return { step: onceBeginStep, words: this.words, wanted: self };
  }

  /** @param {{ what: number, expected: number }} outcome */
  #begins({ what, expected }) {
    if (what === LW_DEADLOCK) throw new DeadlockError('this thread runs it already');
    if (what === LW_GAVE_UP) throw new TimeoutError('timed out');
    return expected !== 0;
  }
}
