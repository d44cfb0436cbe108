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
 * @property {object} [names] an object with the names of its options, if not those of most calls
 * @property {boolean} [later] whether a caller that has to queue does so once the event loop has
 *   turned. This agent's own callers mostly give permits back before that, and the call needs no
 *   wait of the engine's. To others it is as if it came a turn later: it has changed nothing yet
 * @property {typeof start} [start] of a source: the drivers of the copy of lockword that made it
 * @property {typeof giveUp} [giveUp]
 * @property {unknown} [all] whether it lets all through that wait: a newcomer takes nothing from them
 */

import { shared } from './agent.js';
import { LW_DONE, LW_QUEUE, LW_START, LW_WAIT } from './core/constants.js';
import { advanceAfterTurn, join, lineAt, part, run } from './line.js';
import { now } from './wait.js';

/** How many steps have a number. */
shared.numbers ??= 0;

/**
 * Returns a caller's key. What its step returns depends only on the words, the reason and this key,
 * for a Map to find it. It is a number, unless many copies of lockword have numbered their steps:
 * numbers beyond 2^53 would be the same for several callers.
 *
 * @param {any} caller
 * @returns {number | string}
 */
function keyOf({ step, wanted, phase }) {
  step.number ??= shared.numbers++;
  const state = step.number * 2 ** 16 + phase;
  return state < 2 ** 21 ? state * 2 ** 32 + (wanted >>> 0) : `${state} ${wanted}`;
}

/** How many callers have come, which is the next one's place. */
shared.places ??= 0;

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
  /** @type {unknown} */
  let later = line.turnsBy;
  queues.sort((a, b) => a.after.place - b.after.place);
  for (let i = 0; i < queues.length;) {
    const queue = queues[i++];
    const { after } = queue;
    if (after === queue) continue;
    const what = run(after, why, later);
    if (what === LW_QUEUE) advanceAfterTurn(line);
    if (what === LW_DONE) later = true;
    if (what >= LW_WAIT) waiting.push(after);
    else {
      // The caller that is first now may have come later than the first ones of other queues. All
      // of these may be served: to sort them again for each would take the square of their number.
      let at = i;
      for (let end = queues.length; at < end;) {
        const middle = (at + end) >> 1;
        if (queues[middle].after.place < queue.after.place) at = middle + 1;
        else end = middle;
      }
      queues.splice(at, 0, queue);
    }
  }
  // A step may have changed its phase, and with it the key. A caller changes its queue only at the
  // end of the round, so that its step does not run twice. Some of the other queue may have come
  // later.
  for (const caller of waiting) {
    const key = keyOf(caller);
    if (caller.queue && caller.queue.key !== key) {
      part(caller);
      /** @type {any} */
      let after = line.queues.get(key);
      while (after?.before.place > caller.place) after = after.before;
      join(caller, key, after);
    }
  }
}

/**
 * A caller begins to wait, or ends at once: `begin` of limits.js calls this. If others stand in
 * line, and have to wait until the event loop has turned, it comes after them: else a task that
 * gives back and takes again by microtasks alone would keep the loop from turning. What lets all
 * through is there for it at once: `waitAny` returns the first source that is.
 *
 * @param {Caller} caller
 * @param {{ words: Words, later?: boolean, all?: unknown }} operation
 */
export function start(caller, { words, later, all }) {
  const line = (caller.line = lineAt(words, advance));
  const what =
    line.queues.size && !all && now() > line.turnsBy
      ? LW_QUEUE
      : run(caller, LW_START, later || line.turnsBy);
  if (what < LW_WAIT) return;
  caller.place = shared.places++;
  join(caller, keyOf(caller));
  if (what === LW_QUEUE) advanceAfterTurn(line);
}

/**
 * What ends such a caller.
 *
 * @type {import('./limits.js').End}
 */
export function giveUp(caller, why) {
  const { line, queue } = caller;
  const isFirst = queue?.after === caller;
  run(caller, why);
  // The callers behind it had not run their steps: it waited for them, too.
  if (isFirst) advance(line, LW_START, [queue]);
}
