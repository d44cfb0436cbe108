/**
 * Those callers of this agent that queue at one word. They stand in line behind one pending wait, so that a caller leaves without the engine
 * knowing, and a thousand callers cost one waiter. Whose steps run when it fires is the business of turn.js and crowd.js.
 *
 * A pending wait cannot be withdrawn. When it fires and the line has gone, the notify that it took was meant for somebody else: it is
 * passed on.
 *
 * @typedef {import('./wait.js').Words} Words
 * @typedef {import('./blocking.js').Step} Step
 *
 * @typedef {object} Caller a call that waits, and where its step left off
 * @property {Step} step
 * @property {number} wanted who asks, or what for
 * @property {number} phase
 * @property {(what: number) => void} left called when it has left the line
 *
 * @typedef {(line: Line, why: number) => void} Advance runs the steps of those whose turn it is
 *
 * @typedef {object} Line
 * @property {Words} words of the primitive
 * @property {number} index of the word among them
 * @property {Advance} advance
 * @property {Set<Caller>} callers in the order in which they came
 * @property {boolean} [queued] whether a wait at the word is pending
 * @property {number} idle how many waits in a row have been in vain
 */

import { shared } from './agent.js';
import { LW_AGAIN, LW_ASYNC, LW_NOT_EQUAL, LW_OK, LW_QUEUE, LW_QUEUED, LW_SLICE, LW_WAIT_BRIEF } from './core.js';
import { BRIEF, notify, waitAsync } from './wait.js';

/**
 * The lines that are of use, by buffer and address of the word. Callers of several copies of lockword stand in them together: a
 * step, and what becomes of its caller, is of the caller's own copy.
 *
 * @type {WeakMap<SharedArrayBuffer, Map<number, Line>>}
 */
const linesOf = (shared.lines ??= new WeakMap());

/**
 * @param {Words} words
 * @param {number} index
 * @param {Advance} advance
 * @returns {Line}
 */
export function lineAt(words, index, advance) {
  let lines = linesOf.get(words.buffer);
  if (!lines) linesOf.set(words.buffer, (lines = new Map()));
  const address = words.byteOffset + 4 * index;
  let line = lines.get(address);
  if (!line) lines.set(address, (line = { words, index, advance, callers: new Set(), idle: 0 }));
  return line;
}

/** @param {Line} line */
function forgetIfUnused({ words, index, callers, queued }) {
  if (callers.size === 0 && !queued) linesOf.get(words.buffer)?.delete(words.byteOffset + 4 * index);
}

/**
 * Has a wait pending at the word.
 *
 * @param {Line} line
 */
function queue(line) {
  line.queued = true;
  waitAsync(line.words, line.index, 0, line.idle, (woken) => {
    line.queued = false;
    line.idle = woken === 'ok' ? 0 : line.idle + 1;
    if (line.callers.size > 0) line.advance(line, woken === 'ok' ? LW_OK : woken === 'timed-out' ? LW_SLICE : LW_NOT_EQUAL);
    else {
      if (woken === 'ok') notify(line.words, line.index, 1);
      forgetIfUnused(line);
    }
  });
}

/**
 * Runs a caller's step.
 *
 * @param {Line} line
 * @param {Caller} caller
 * @param {number} why
 * @returns {number} what it says, other than LW_QUEUE and LW_RETRY
 */
export function run(line, caller, why) {
  for (;;) {
    const answer = caller.step(line.words, caller.wanted, why | LW_ASYNC | (line.queued ? LW_QUEUED : 0), caller.phase);
    caller.phase = answer >>> 16;
    const what = answer & 0xff;
    // Those who have come since then have not waited.
    if (what === LW_WAIT_BRIEF) setTimeout(() => line.callers.has(caller) && line.advance(line, LW_SLICE), BRIEF);
    if (what < LW_QUEUE) return what;
    if (what === LW_QUEUE) {
      queue(line);
      why = LW_AGAIN;
    }
  }
}

/**
 * @param {Line} line
 * @param {Caller} caller
 * @param {number} what became of it
 */
export function leave(line, caller, what) {
  line.callers.delete(caller);
  line.idle = 0;
  caller.left(what);
  forgetIfUnused(line);
}
