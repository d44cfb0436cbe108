/**
 * The driver of everything that waits without blocking.
 *
 * An agent queues at a word once, however many of its callers want what is to be had there: they stand in line behind one pending wait,
 * first come, first served, and only the head of the line runs its step. So a caller leaves the line without the engine knowing,
 * and a thousand callers cost one waiter.
 *
 * A pending wait cannot be withdrawn. When it fires and the line has gone, the notify that it took was meant for somebody else: it is
 * passed on.
 */

import { LW_AGAIN, LW_ASYNC, LW_CANCELLED, LW_DONE, LW_NOT_EQUAL, LW_OK, LW_QUEUE, LW_QUEUED } from './core.js';
import { LW_SLICE, LW_START, LW_TIMED_OUT, LW_WAIT } from './core.js';
import { self } from './agent.js';
import { after, keepAlive, onAbort } from './limits.js';
import { notify, waitAsync } from './wait.js';

/**
 * @typedef {import('./wait.js').Heap} Heap
 * @typedef {import('./blocking.js').Step} Step
 *
 * @typedef {object} Caller one promise, and where its step left off
 * @property {Step} step
 * @property {number} phase
 * @property {(done: boolean) => void} resolve
 * @property {() => void} [left] called when it leaves the line
 *
 * @typedef {object} Line those callers of this agent that queue at one word
 * @property {Heap} words of the primitive
 * @property {number} index of the word among them
 * @property {Set<Caller>} callers in the order in which they came
 * @property {boolean} [queued] whether a wait at the word is pending
 * @property {number} idle how many waits in a row have been in vain
 */

/**
 * The lines of this agent that are of use, by buffer and address of the word.
 *
 * @type {WeakMap<SharedArrayBuffer, Map<number, Line>>}
 */
const linesOf = new WeakMap();

/**
 * @param {Heap} words
 * @param {number} index
 * @returns {Line}
 */
function lineAt(words, index) {
  let lines = linesOf.get(words.buffer);
  if (!lines) linesOf.set(words.buffer, (lines = new Map()));
  const address = words.byteOffset + 4 * index;
  let line = lines.get(address);
  if (!line) lines.set(address, (line = { words, index, callers: new Set(), idle: 0 }));
  return line;
}

/** @param {Line} line */
function forgetIfUnused({ words, index, callers, queued }) {
  if (callers.size === 0 && !queued) linesOf.get(words.buffer)?.delete(words.byteOffset + 4 * index);
}

/**
 * Has a wait pending at the word of the line.
 *
 * @param {Line} line
 */
function queue(line) {
  line.queued = true;
  waitAsync(line.words, line.index, line.idle, (woken) => {
    line.queued = false;
    line.idle = woken === 'ok' ? 0 : line.idle + 1;
    if (line.callers.size > 0) advance(line, woken === 'ok' ? LW_OK : woken === 'timed-out' ? LW_SLICE : LW_NOT_EQUAL);
    else if (woken === 'ok') notify(line.words, line.index, 1);
    forgetIfUnused(line);
  });
}

/**
 * @param {Line} line
 * @param {Caller} caller
 * @param {number} why
 * @returns {number} what its step says, other than LW_QUEUE
 */
function run(line, caller, why) {
  for (;;) {
    const answer = caller.step(line.words, 0, self, why | LW_ASYNC | (line.queued ? LW_QUEUED : 0), caller.phase);
    caller.phase = answer >>> 16;
    const what = answer & 0xff;
    if (what !== LW_QUEUE) return what;
    queue(line);
    why = LW_AGAIN;
  }
}

/**
 * @param {Line} line
 * @param {Caller} caller
 * @param {number} what
 */
function leave(line, caller, what) {
  line.callers.delete(caller);
  line.idle = 0;
  caller.left?.();
  caller.resolve(what === LW_DONE);
  forgetIfUnused(line);
}

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
 * A caller gives up, if it still waits. Only the head has left traces to clear away, and only the head may still succeed, if its time was up.
 *
 * @param {Line} line
 * @param {Caller} caller
 * @param {number} why LW_TIMED_OUT or LW_CANCELLED
 */
function giveUp(line, caller, why) {
  const [head] = line.callers;
  leave(line, caller, caller === head ? run(line, caller, why) : -1);
  if (caller === head) advance(line, LW_START);
}

/**
 * Runs a step to its end without ever blocking.
 *
 * @param {Step} step
 * @param {Heap} words of the primitive
 * @param {number} gate the one among them at which async waiters queue
 * @param {number} timeout ms
 * @param {AbortSignal | undefined} signal not aborted yet
 * @returns {Promise<boolean>} whether it succeeded; rejects with the signal's reason
 */
export function enqueue(step, words, gate, timeout, signal) {
  return new Promise((resolve, reject) => {
    const line = lineAt(words, gate);
    /** @type {Caller} */
    const caller = { step, phase: 0, resolve };
    const { callers } = line;
    callers.add(caller);
    if (callers.size === 1) advance(line, LW_START);
    if (timeout === 0 && callers.has(caller)) giveUp(line, caller, LW_TIMED_OUT);
    if (!callers.has(caller)) return;

    const stopTimer = after(timeout, () => giveUp(line, caller, LW_TIMED_OUT));
    const stopListening = onAbort(signal, () => {
      reject(signal?.reason);
      giveUp(line, caller, LW_CANCELLED);
    });
    keepAlive(1);
    caller.left = () => {
      stopTimer();
      stopListening();
      keepAlive(-1);
    };
  });
}
