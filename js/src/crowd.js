/**
 * The driver of primitives that release many waiters at once, without blocking: whenever the word
 * changes, the callers of an agent run their steps, except those for which the change makes no
 * difference.
 *
 * @typedef {import('./line.js').Caller} Caller
 * @typedef {import('./line.js').Line} Line
 * @typedef {import('./line.js').Step} Step
 * @typedef {import('./line.js').Words} Words
 *
 * @typedef {object} Operation
 * @property {Step} step
 * @property {Words} words
 * @property {number} wanted
 *
 * @typedef {object} Outcome
 * @property {number} what LW_DONE, or the other code that ended it
 * @property {number} expected the result of the operation, if it has one
 * @property {number} index of the operation
 */

import { shared } from './agent.js';
import { LW_GAVE_UP, LW_START, LW_TIMED_OUT, LW_WAIT } from './core/constants.js';
import { bound, onAbort } from './limits.js';
import { join, lineAt, part, run } from './line.js';

/**
 * The steps, numbered.
 *
 * @type {Map<Step, number>}
 */
const numbers = (shared.numbers ??= new Map());

/**
 * Returns a caller's key. What its step returns depends only on the words, the reason and this key.
 *
 * @param {Caller} caller
 */
function keyOf({ step, wanted, phase }) {
  const number = numbers.get(step) ?? numbers.size;
  numbers.set(step, number);
  return (number * 2 ** 16 + phase) * 2 ** 32 + (wanted >>> 0);
}

shared.places ??= 0;

/**
 * Compares two queues for sorting. An empty queue comes last.
 *
 * @param {import('./line.js').Queue} a
 * @param {import('./line.js').Queue} b
 */
const latestFirst = (a, b) => (b.after.place ?? 0) - (a.after.place ?? 0);

/**
 * Runs the steps of the callers in line, in the order in which they came. If a caller has to wait,
 * the callers behind it with the same key would have to, too; their steps are not run before the
 * next change. So a change that serves k callers takes about k steps, however many wait.
 *
 * @param {Line} line
 * @param {number} why
 * @param {import('./line.js').Queue[]} [queues] of the callers
 */
function advance(line, why, queues = [...line.queues.values()]) {
  /** @type {Caller[]} */
  const waiting = [];
  queues.sort(latestFirst);
  for (let queue; (queue = queues.pop());) {
    const { after } = queue;
    if (after === queue) continue;
    if (run(after, why) >= LW_WAIT) waiting.push(after);
    else {
      // The caller that is first now may have come later than the first ones of other queues.
      queues.push(queue);
      queues.sort(latestFirst);
    }
  }
  // A step may have changed its phase, and with it the key. A caller changes its queue only at the
  // end of the round, so that its step does not run twice.
  for (const caller of waiting) {
    const key = keyOf(caller);
    if (caller.queue && caller.queue.key !== key) {
      part(caller);
      join(caller, key);
    }
  }
}

/**
 * Runs operations until one of them has ended, and withdraws the others.
 *
 * @param {Operation[]} operations if several can end, the first of them does
 * @param {number} timeout ms
 * @param {AbortSignal | undefined} signal not aborted yet
 * @returns {Promise<Outcome>} rejects with the signal's reason
 */
export function gather(operations, timeout, signal) {
  return new Promise((resolve, reject) => {
    /** @type {Caller[]} */
    const callers = [];
    /** @param {number} why */
    const giveUp = (why) => {
      for (const caller of callers) {
        const { line, queue } = caller;
        if (!queue) continue;
        const isFirst = queue.after === caller;
        run(caller, why);
        // The callers behind it had not run their steps: it waited for them, too.
        if (isFirst) advance(line, LW_START, [queue]);
      }
    };
    // onAbort may throw; what follows may not.
    let stop = onAbort(signal, giveUp);
    let waiting = operations.length;
    operations.every(({ step, words, wanted }, index) => {
      /** @type {Caller} */
      const caller = {
        line: lineAt(words, advance),
        step,
        wanted,
        phase: 0,
        place: shared.places++,
        onLeave({ what, expected }) {
          // A caller that gives up leaves the others their last attempt.
          if (what === LW_GAVE_UP && --waiting) return;
          waiting = 0;
          stop();
          // A step that succeeds although it is cancelled keeps what it took.
          if (what === LW_GAVE_UP && signal?.aborted) reject(signal.reason);
          else resolve({ what, expected, index });
          // Their steps are not run: these might take what they wanted, too.
          callers.forEach(part);
        },
      };
      callers.push(caller);
      if (run(caller, LW_START) >= LW_WAIT) join(caller, keyOf(caller));
      return waiting;
    });
    if (timeout === 0) giveUp(LW_TIMED_OUT);
    if (waiting) stop = bound(timeout, giveUp, stop);
  });
}
