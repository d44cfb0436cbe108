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
import { LW_CANCELLED, LW_GAVE_UP, LW_START, LW_TIMED_OUT, LW_WAIT } from './core.js';
import { bound, lift, onAbort } from './limits.js';
import { join, leave, lineAt, run } from './line.js';

/** The key of their only queue. */
const ALL = 0;

/**
 * @param {Line} line
 * @returns {Caller | undefined}
 */
const headOf = (line) => line.queues.get(ALL)?.after;

/**
 * Runs the head's step, then that of each next head, until one has to wait.
 *
 * @param {Line} line
 * @param {number} why the reason for the first of them
 */
function advance(line, why) {
  for (let head; (head = headOf(line));) {
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
  const isHead = caller === headOf(line);
  leave(line, caller, isHead ? run(line, caller, why) : LW_GAVE_UP);
  if (isHead) advance(line, LW_START);
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
    /** @param {number} why */
    const end = (why) => giveUp(line, caller, why);
    // This may throw, and the rest may not.
    const stopListening = onAbort(signal, () => end(LW_CANCELLED));
    const line = lineAt(words, gate, advance);
    /** @type {Caller} */
    const caller = { step, wanted: self, phase: 0, left: resolve };
    join(line, caller, ALL);
    if (headOf(line) === caller) advance(line, LW_START);
    if (timeout === 0 && caller.queue) end(LW_TIMED_OUT);
    if (!caller.queue) return stopListening();

    const limit = bound(timeout, end);
    caller.left = (what) => {
      lift(limit);
      stopListening();
      // A step that succeeds though it is cancelled has been granted what it wanted, and keeps it.
      if (what === LW_GAVE_UP && signal?.aborted) reject(signal.reason);
      else resolve(what);
    };
  });
}
