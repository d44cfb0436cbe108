/**
 * The driver of what releases many at once, without blocking: whenever the word changes, all callers of an agent run their steps.
 *
 * @typedef {import('./line.js').Caller} Caller
 * @typedef {import('./line.js').Line} Line
 * @typedef {import('./line.js').Step} Step
 * @typedef {import('./line.js').Words} Words
 *
 * @typedef {object} Operation
 * @property {Step} step
 * @property {Words} words
 * @property {number} gate the word among them at which async waiters queue
 * @property {number} wanted
 *
 * @typedef {object} Outcome
 * @property {number} what LW_DONE, or what else ended it
 * @property {number} result of the operation, if it has one
 * @property {number} index of the operation
 */

import { answerExpected, LW_GAVE_UP, LW_START, LW_TIMED_OUT, LW_WAIT } from './core.js';
import { bound } from './limits.js';
import { leave, lineAt, run } from './line.js';

/**
 * @param {Line} line
 * @param {Caller} caller
 * @param {number} why
 */
function attempt(line, caller, why) {
  const what = run(line, caller, why);
  if (what < LW_WAIT) leave(line, caller, what);
}

/**
 * @param {Line} line
 * @param {number} why
 */
function advance(line, why) {
  for (const caller of line.callers) attempt(line, caller, why);
}

/**
 * Runs operations until one of them has ended, and withdraws the others.
 *
 * @param {Operation[]} operations the first that can, ends
 * @param {number} timeout ms
 * @param {AbortSignal | undefined} signal not aborted yet
 * @returns {Promise<Outcome>} rejects with the signal's reason
 */
export function gather(operations, timeout, signal) {
  return new Promise((resolve, reject) => {
    let unbound = () => {};
    /** @type {[Line, Caller][]} */
    const places = [];
    /** @param {number} why */
    const giveUp = (why) => {
      for (const [line, caller] of places) if (line.callers.has(caller)) attempt(line, caller, why);
    };
    let waiting = operations.length;
    operations.every(({ step, words, gate, wanted }, index) => {
      const line = lineAt(words, gate, advance);
      /** @param {number} what */
      const left = (what) => {
        // One that gives up leaves the others their last attempt.
        if (what === LW_GAVE_UP && --waiting) return;
        waiting = 0;
        unbound();
        // A step that succeeds though it is cancelled has been granted what it wanted, and keeps it.
        if (what === LW_GAVE_UP && signal?.aborted) reject(signal.reason);
        else resolve({ what, result: answerExpected(), index });
        // Without running their steps, which might take what they wanted, too.
        for (const [line, caller] of places) line.callers.delete(caller);
      };
      const caller = { step, wanted, phase: 0, left };
      places.push([line, caller]);
      line.callers.add(caller);
      attempt(line, caller, LW_START);
      return waiting;
    });
    if (timeout === 0) giveUp(LW_TIMED_OUT);
    if (!waiting) return;
    unbound = bound(timeout, signal, giveUp);
  });
}
