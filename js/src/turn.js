/**
 * The driver of what is had by one at a time, without blocking: the callers of an agent are served in the order in which they came. Only the
 * head of the line runs its step.
 *
 * @typedef {import('./line.js').Caller} Caller
 * @typedef {import('./line.js').Line} Line
 * @typedef {import('./line.js').Step} Step
 * @typedef {import('./line.js').Words} Words
 */

import { self } from './agent.js';
import { LW_GAVE_UP, LW_START, LW_TIMED_OUT, LW_WAIT } from './core.js';
import { bound } from './limits.js';
import { leave, lineAt, run } from './line.js';

/**
 * Runs the head's step, then that of each next head, until one has to wait.
 *
 * @param {Line} line
 * @param {number} why the reason for the first of them
 */
function advance(line, why) {
  for (const head of line.callers) {
    const what = run(line, head, why);
    if (what >= LW_WAIT) return;
    leave(line, head, what);
    why = LW_START;
  }
}

/**
 * A caller gives up. Only the head has left traces to clear away, and only the head may still succeed, if its time was up.
 *
 * @param {Line} line
 * @param {Caller} caller
 * @param {number} why LW_TIMED_OUT or LW_CANCELLED
 */
function giveUp(line, caller, why) {
  const [head] = line.callers;
  leave(line, caller, caller === head ? run(line, caller, why) : LW_GAVE_UP);
  if (caller === head) advance(line, LW_START);
}

/**
 * Runs a step to its end.
 *
 * @param {Step} step which wants to know who asks
 * @param {Words} words
 * @param {number} gate the word among them at which async waiters queue
 * @param {number} timeout ms
 * @param {AbortSignal | undefined} signal not aborted yet
 * @returns {Promise<number>} what it said at last; rejects with the signal's reason
 */
export function enqueue(step, words, gate, timeout, signal) {
  return new Promise((resolve, reject) => {
    const line = lineAt(words, gate, advance);
    const { callers } = line;
    /** @type {Caller} */
    const caller = { step, wanted: self, phase: 0, left: resolve };
    callers.add(caller);
    if (callers.size === 1) advance(line, LW_START);
    if (timeout === 0 && callers.has(caller)) giveUp(line, caller, LW_TIMED_OUT);
    if (!callers.has(caller)) return;

    const unbound = bound(timeout, signal, (why) => giveUp(line, caller, why));
    caller.left = (what) => {
      unbound();
      // A step that succeeds though it is cancelled has been granted what it wanted, and keeps it.
      if (what === LW_GAVE_UP && signal?.aborted) reject(signal.reason);
      else resolve(what);
    };
  });
}
