/**
 * The driver of primitives that one caller has at a time, without blocking: the callers of an agent
 * are served in the order in which they came. Only the head of the line runs its step.
 *
 * @typedef {import('./line.js').Caller} Caller
 * @typedef {import('./line.js').Line} Line
 * @typedef {import('./line.js').Step} Step
 * @typedef {import('./line.js').Words} Words
 */

import { self } from './agent.js';
import { LW_DONE, LW_START, LW_WAIT } from './core/constants.js';
import { mutexOwner } from './core/mutex.js';
import { begin, isDone } from './limits.js';
import { advanceAfterTurn, join, lineAt, run, withdraw } from './line.js';

/** The key of the line's only queue. */
const ALL = 0;

/**
 * @param {Line} line
 * @returns {Caller | undefined}
 */
const headOf = (line) => line.queues.get(ALL)?.after;

/**
 * Runs the head's step, then that of each next head, until one has to wait or has the lock. If one
 * has the lock, the next head waits for it. Its step runs when this agent gives the lock back by a
 * driver (handOver), and in any case once the event loop has turned. Then it queues, so that other
 * agents' unlocks wake it, too.
 *
 * @param {Line} line
 * @param {number} why the reason for the first of them
 */
function advance(line, why) {
  for (let head; (head = headOf(line)); why = LW_START) {
    const what = run(head, why);
    if (what === LW_DONE) return advanceAfterTurn(line);
    if (what >= LW_WAIT) return;
  }
}

/**
 * Runs a step to its end.
 *
 * @param {Step} step whose argument is the agent's id
 * @param {Words} words
 * @param {number | import('./options.js').WaitOptions} [options]
 * @param {Caller['toValue']} [toValue]
 * @param {number} [wanted] the agent's id
 * @returns {Promise<any>} rejects with what this throws, or the signal's reason
 */
export function enqueue(step, words, options, toValue = isDone, wanted = self) {
  return new Promise((resolve) =>
    begin(resolve, { step, words, wanted }, options, toValue, giveUp, start),
  );
}

/**
 * @param {Caller} caller
 * @param {import('./crowd.js').Operation} operation
 */
function start(caller, { words }) {
  const line = (caller.line = lineAt(words, advance));
  join(caller, ALL);
  // While this agent holds the lock, the head acts as if it had come after the holder.
  if (headOf(line) !== caller) return;
  if (mutexOwner(words) === caller.wanted) advanceAfterTurn(line);
  else advance(line, LW_START);
}

/**
 * Only the head has marks and claims to clear. Only the head may still succeed, if its time was up.
 *
 * @type {import('./limits.js').End}
 */
function giveUp(caller, why) {
  const { line } = caller;
  if (headOf(line) === caller) advance(line, why);
  else withdraw(caller);
}
