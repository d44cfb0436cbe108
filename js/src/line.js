/**
 * The callers of this agent that queue at one word. They share one pending wait, so that a caller
 * leaves without the engine knowing, and a thousand callers cost one waiter. turn.js and crowd.js
 * decide which steps run when the wait ends.
 *
 * A pending wait cannot be withdrawn. It may end when the line is empty. No other agent has missed
 * a notify by that, since each notify of the word is for all agents that wait there.
 *
 * @typedef {import('./wait.js').Words} Words
 * @typedef {import('./blocking.js').Answer} Answer
 * @typedef {import('./blocking.js').Step} Step
 *
 * @typedef {object} Caller a call that waits, and where its step left off
 * @property {Line} line
 * @property {Step} step
 * @property {number} wanted the step's argument: an agent's id, or a value
 * @property {number} phase
 * @property {Queue | undefined} queue the queue in which it stands, between these two:
 * @property {any} [before]
 * @property {any} [after]
 * @property {any} [place] crowd.js: the lower, the earlier it came
 * @property {(value: any) => void} resolve
 * @property {(answer: Answer, wanted: number, caller?: any) => any} toValue what the promise is
 *   resolved with; if it throws, the promise is rejected
 * @property {import('./limits.js').End} end
 * @property {(caller: Caller, answer: Answer) => void} settle called when it has
 *   left the line; of the caller's own copy of lockword
 * @property {AbortSignal | undefined} signal
 * @property {any} timer undefined: it does not wait yet; 0: it waits without a timeout
 *
 * @typedef {object} Queue a ring of callers, in the order in which they joined, and of itself. A
 *   Set would keep the holes that its deletions leave, and look for the first caller behind them
 * @property {number | string} key
 * @property {any} before the last caller
 * @property {any} after the first caller
 *
 * @typedef {(line: Line, why: number) => void} Advance runs the steps of callers whose turn it is
 *
 * @typedef {object} Line
 * @property {Words} words of the primitive
 * @property {Advance} advance
 * @property {Map<number | string, Queue>} queues of callers, by a key of their driver's; none is empty
 * @property {number} queued LW_QUEUED while a wait at the gate is pending, or 0
 * @property {number} idle how many waits there have been since a caller left the line
 * @property {boolean} [handing] whether a microtask is to run the steps
 * @property {boolean} runs whether the steps run once the event loop has turned
 * @property {number} turnsBy a turn of the event loop was asked for, and after this time only
 *   that turn runs the steps; NaN: none was asked for
 */

import { shared } from './agent.js';
import {
  LW_AGAIN,
  LW_ASYNC,
  LW_GAVE_UP,
  LW_QUEUE,
  LW_QUEUED,
  LW_SLICE,
  LW_START,
  LW_WAIT,
  LW_WAIT_BRIEF,
} from './core/constants.js';
import { HAND_OVER, LONG_BRIEF } from './awake.js';
import { pending } from './limits.js';
import { afterTurn, now, setTimeout, waitAsync } from './wait.js';

// A copy, since an engine reads what is imported more slowly.
const calls = pending;

/**
 * The lines in use, by buffer and address of the primitive. Callers of several copies of lockword
 * stand in them together. A caller's step, and what happens when it leaves, belong to its own copy.
 *
 * @type {WeakMap<SharedArrayBuffer, Map<number, Line>>}
 */
const linesOf = (shared.lines ??= new WeakMap());

/**
 * Returns the line at this primitive. The memory may have been another primitive's before, and that
 * one's last wait may still be pending: then its line becomes this primitive's.
 *
 * @param {Words} words
 * @param {Advance} advance
 * @returns {Line}
 */
export function lineAt(words, advance) {
  const lines = linesOf.get(words.buffer) ?? new Map();
  // All properties in the same order, since an engine compiles for one shape.
  const line = lines.get(words.byteOffset) ?? {
    idle: 0,
    queues: new Map(),
    turnsBy: NaN,
    runs: false,
    queued: 0,
  };
  if (!line.words) linesOf.set(words.buffer, lines.set(words.byteOffset, line));
  line.words = words;
  line.advance = advance;
  return line;
}

/** @param {Line} line */
function forgetIfUnused({ words, queues, queued, turnsBy }) {
  if (queues.size === 0 && !queued && !turnsBy) linesOf.get(words.buffer)?.delete(words.byteOffset);
}

/**
 * Asks for a turn of the event loop, and runs the steps then.
 *
 * @param {Line} line
 * @param {boolean} [runs] whether it does; if not, the turn only ends what turnsBy says
 */
export function advanceAfterTurn(line, runs = true) {
  if (line.queues.size === 0) return;
  line.runs ||= runs;
  if (line.turnsBy) return;
  line.turnsBy = now() + HAND_OVER;
  afterTurn(() => {
    const { runs } = line;
    line.turnsBy = NaN;
    line.runs = false;
    if (runs) line.advance(line, LW_START);
    forgetIfUnused(line);
  });
}

/**
 * Call this after giving back something. If no agent waited for it, not even this one, a microtask
 * runs the steps. If other agents do wait, the callers do as they do: they learn of a notify, or
 * try when the event loop has turned.
 *
 * @param {Words} words
 * @param {number} [waiters] 0: none waited
 */
export function handOver(words, waiters) {
  if (!calls.count) return;
  const line = linesOf.get(words.buffer)?.get(words.byteOffset);
  if (!line) return;
  // Also beside other waiters: Firefox lets a wait that this thread notifies end without a turn.
  advanceAfterTurn(line, !waiters);
  if (waiters || line.handing || now() > line.turnsBy) return;
  line.handing = true;
  // In Node, queueMicrotask would cost twice as much.
  Promise.resolve().then(() => {
    line.handing = false;
    line.advance(line, LW_START);
  });
}

/**
 * Runs a caller's step. The caller leaves the line, unless it has to wait.
 *
 * @param {Caller} caller
 * @param {number} why
 * @param {unknown} [later] whether the caller is to queue later, if it has to
 * @returns {number} what the step returned, other than LW_RETRY; LW_QUEUE only if it is for later
 */
export function run(caller, why, later) {
  const { line } = caller;
  for (;;) {
    const answer = caller.step(
      line.words,
      caller.wanted,
      why | LW_ASYNC | line.queued,
      caller.phase,
    );
    const { what } = answer;
    caller.phase = answer.phase;
    // Only for this caller: callers that have come since then have not waited. If no wait is
    // pending, the caller waits for a turn of the event loop, after which its step begins anew.
    if (what === LW_WAIT_BRIEF)
      setTimeout(() => caller.queue && line.queued && line.advance(line, LW_SLICE), LONG_BRIEF);
    if (what < LW_WAIT) leave(caller, answer);
    if (what < LW_QUEUE || (what === LW_QUEUE && later)) return what;
    if (what === LW_QUEUE) {
      // This throws if the words are those of a region that was closed: then no wait is pending.
      waitAsync(line.words, answer.word, 0, line.idle, (why) => {
        if (why !== LW_SLICE) line.queued = 0;
        line.idle++;
        line.advance(line, why);
        forgetIfUnused(line);
        return line.queues.size;
      });
      line.queued = LW_QUEUED;
      why = LW_AGAIN;
    }
  }
}

/**
 * @param {Caller} caller in no queue
 * @param {number | string} key of the queue of its line that it joins
 * @param {Caller | Queue} [after] whom it joins in front of, in that queue; none: it is the last
 */
export function join(caller, key, after) {
  const { queues } = caller.line;
  const queue = queues.get(key) ?? /** @type {Queue} */ ({ key });
  const { before = queue } = (caller.after = after ?? queue);
  queues.set(key, queue);
  caller.queue = queue;
  caller.before = before;
  caller.after.before = before.after = caller;
}

/** @param {Caller} caller in a queue of its line, or in none */
export function part(caller) {
  const { before, after, queue } = caller;
  if (!queue) return;
  before.after = after;
  after.before = before;
  caller.queue = undefined;
  if (queue.after === queue) caller.line.queues.delete(queue.key);
}

/**
 * @param {Caller} caller
 * @param {Answer} answer how it ended
 */
function leave(caller, answer) {
  part(caller);
  caller.line.idle = 0;
  caller.settle(caller, answer);
  forgetIfUnused(caller.line);
}

/**
 * The caller leaves the line, and its step is not run.
 *
 * @param {Caller} caller
 */
export function withdraw(caller) {
  leave(caller, { what: LW_GAVE_UP, word: 0, phase: 0, expected: 0 });
}
