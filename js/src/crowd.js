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
 */

import { shared } from './agent.js';
import { LW_ASYNC, LW_DONE, LW_QUEUE, LW_START, LW_WAIT } from './core/constants.js';
import { begin, nothingPends } from './limits.js';
import { advanceAfterTurn, join, lineAt, part, run } from './line.js';
import { signalOf, timeoutOf } from './options.js';

/**
 * The steps, numbered, so that a caller's key is a number.
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

/** How many callers have come, which is the next one's place. */
shared.places ??= 0;

/**
 * Compares two queues for sorting, none of which is empty.
 *
 * @param {import('./line.js').Queue} a
 * @param {import('./line.js').Queue} b
 */
const latestFirst = (a, b) => b.after.place - a.after.place;

/**
 * Runs the steps of the callers in line, in the order in which they came. If a caller has to wait,
 * the callers behind it with the same key would have to, too; their steps are not run before the
 * next change. So a change that serves k callers takes about k steps, however many wait.
 *
 * If a caller was served, those behind it that have to queue at the gate do so once the event loop
 * has turned, as if they had come only then. Until it has turned this agent could not learn of a
 * notify anyway, and what the served caller gives back is handed over without one.
 *
 * @param {Line} line
 * @param {number} why
 * @param {import('./line.js').Queue[]} [queues] of the callers
 */
function advance(line, why, queues = [...line.queues.values()]) {
  /** @type {Caller[]} */
  const waiting = [];
  let later = Boolean(line.turnsBy);
  queues.sort(latestFirst);
  for (let queue; (queue = queues.pop());) {
    const { after } = queue;
    if (after === queue) continue;
    const what = run(after, why, later);
    if (what >= LW_WAIT) waiting.push(after);
    if (what === LW_QUEUE) advanceAfterTurn(line);
    if (what === LW_DONE) later = true;
    if (what < LW_WAIT && queue.after !== queue) {
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
 * Runs an operation until it has ended. If no call of this agent waits, and this one need not
 * either, it makes no caller.
 *
 * @param {() => Operation} make may throw
 * @param {number | import('./options.js').WaitOptions | undefined} options
 * @param {Caller['toValue']} toValue
 * @param {(caller: Caller) => void} [note] told its caller, if there is one
 * @returns {Promise<any>} rejects with what these throw, or the signal's reason
 */
export function gather(make, options, toValue, note) {
  try {
    const { step, words, wanted } = make();
    if (nothingPends()) {
      timeoutOf(options);
      signalOf(options);
      const answer = step(words, wanted, LW_ASYNC, 0);
      if (answer.what < LW_WAIT) return Promise.resolve(toValue(answer, wanted));
    }
  } catch (error) {
    return Promise.reject(error);
  }
  return new Promise((resolve) => ask(resolve, make, options, toValue, note));
}

/**
 * The same, but makes a caller in any case: `waitAny` has one for each source.
 *
 * @param {Caller['resolve']} resolve
 * @param {() => Operation} make may throw, and then this throws
 * @param {number | import('./options.js').WaitOptions | undefined} options
 * @param {Caller['toValue']} toValue
 * @param {(caller: Caller) => void} [note] told its caller, before it may end
 */
export function ask(resolve, make, options, toValue, note) {
  begin(resolve, make, options, toValue, giveUp, (caller, words) => {
    note?.(caller);
    caller.line = lineAt(words, advance);
    if (run(caller, LW_START, caller.line.turnsBy) < LW_WAIT) return;
    caller.place = shared.places++;
    join(caller, keyOf(caller));
  });
}

/** @type {import('./limits.js').End} */
function giveUp(caller, why) {
  const { line, queue } = caller;
  const isFirst = queue?.after === caller;
  run(caller, why);
  // The callers behind it had not run their steps: it waited for them, too.
  if (queue && isFirst) advance(line, LW_START, [queue]);
}
