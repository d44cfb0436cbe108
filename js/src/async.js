/**
 * The driver of everything that waits without blocking.
 *
 * An agent queues at a word once, however many of its callers want what is to be had there: they stand in line behind one pending wait,
 * first come, first served, and only the head of the line runs its step. So a caller leaves the line without the engine knowing, and a
 * thousand callers cost one waiter.
 *
 * A pending wait cannot be withdrawn. When it fires and the line has gone, the notify that it took was meant for somebody else: it is
 * passed on.
 */

import { LW_AGAIN, LW_ASYNC, LW_CANCELLED, LW_DONE, LW_NOT_EQUAL, LW_OK, LW_QUEUE, LW_QUEUED } from './core.js';
import { LW_SLICE, LW_START, LW_TIMED_OUT, LW_WAIT, LW_WAIT_BRIEF } from './core.js';
import { self } from './agent.js';
import { after, keepAlive, onAbort } from './limits.js';
import { notify, waitAsync } from './wait.js';

/**
 * @typedef {import('./wait.js').Heap} Heap
 * @typedef {import('./blocking.js').Step} Step
 *
 * @typedef {object} Caller one promise, and where its step left off
 * @property {Step} step
 * @property {number} words the address of the primitive
 * @property {number} phase
 * @property {(done: boolean) => void} resolve
 * @property {() => void} [left] called when it leaves the line
 */

const WHY = { ok: LW_OK, 'not-equal': LW_NOT_EQUAL, 'timed-out': LW_SLICE };

/** The callers of this agent that queue at one word. */
class Line {
  /**
   * In the order in which they came.
   *
   * @type {Set<Caller>}
   */
  callers = new Set();
  /** Whether a wait at the word is pending. */
  queued = false;
  /** How many waits in a row have been in vain. */
  idle = 0;

  /**
   * @param {Map<number, Line>} lines where it is found while it is of use
   * @param {Heap} heap
   * @param {number} index of the word
   */
  constructor(lines, heap, index) {
    this.lines = lines;
    this.heap = heap;
    this.index = index;
    lines.set(index, this);
  }

  /** @param {Caller} caller */
  join(caller) {
    this.callers.add(caller);
    if (this.callers.size === 1) this.advance(LW_START);
  }

  /**
   * A caller gives up. Only the head has left traces to clear away, and only the head may still succeed, if its time was up.
   *
   * @param {Caller} caller
   * @param {number} why LW_TIMED_OUT or LW_CANCELLED
   */
  giveUp(caller, why) {
    const [head] = this.callers;
    const done = caller === head && this.run(caller, why) === LW_DONE;
    this.leave(caller, done);
    if (caller === head) this.advance(LW_START);
  }

  /**
   * Runs the head's step, then that of each next head, until one has to wait.
   *
   * @param {number} why the reason for the first of them
   */
  advance(why) {
    for (const head of this.callers) {
      const what = this.run(head, why);
      if (what === LW_WAIT || what === LW_WAIT_BRIEF) return;
      this.leave(head, what === LW_DONE);
      why = LW_START;
    }
  }

  /**
   * @param {Caller} caller
   * @param {number} why
   * @returns {number} what its step says, other than LW_QUEUE
   */
  run(caller, why) {
    for (;;) {
      const answer = caller.step(this.heap, caller.words, self, why | LW_ASYNC | (this.queued ? LW_QUEUED : 0), caller.phase);
      caller.phase = answer >>> 16;
      const what = answer & 0xff;
      if (what !== LW_QUEUE) return what;
      this.queue();
      why = LW_AGAIN;
    }
  }

  queue() {
    this.queued = true;
    waitAsync(this.heap, this.index, this.idle, (woken) => {
      this.queued = false;
      this.idle = woken === 'ok' ? 0 : this.idle + 1;
      if (this.callers.size > 0) this.advance(WHY[woken]);
      else if (woken === 'ok') notify(this.heap, this.index, 1);
      this.forget();
    });
  }

  /**
   * @param {Caller} caller
   * @param {boolean} done
   */
  leave(caller, done) {
    this.callers.delete(caller);
    this.idle = 0;
    caller.left?.();
    caller.resolve(done);
    this.forget();
  }

  forget() {
    if (this.callers.size === 0 && !this.queued) this.lines.delete(this.index);
  }
}

/**
 * The lines of this agent, by buffer and word.
 *
 * @type {WeakMap<SharedArrayBuffer, Map<number, Line>>}
 */
const linesOf = new WeakMap();

/**
 * @param {Heap} heap
 * @param {number} index
 */
function lineAt(heap, index) {
  let lines = linesOf.get(heap.buffer);
  if (!lines) linesOf.set(heap.buffer, (lines = new Map()));
  return lines.get(index) ?? new Line(lines, heap, index);
}

/**
 * Runs a step to its end without ever blocking.
 *
 * @param {Step} step
 * @param {Heap} heap
 * @param {number} words the address of the primitive
 * @param {number} gate the word, of its words, at which async waiters queue
 * @param {number} timeout ms
 * @param {AbortSignal | undefined} signal not aborted yet
 * @returns {Promise<boolean>} whether it succeeded; rejects with the signal's reason
 */
export function enqueue(step, heap, words, gate, timeout, signal) {
  return new Promise((resolve, reject) => {
    const line = lineAt(heap, (words >>> 2) + gate);
    /** @type {Caller} */
    const caller = { step, words, phase: 0, resolve };
    line.join(caller);
    if (timeout === 0 && line.callers.has(caller)) line.giveUp(caller, LW_TIMED_OUT);
    if (!line.callers.has(caller)) return;

    const stopTimer = after(timeout, () => line.giveUp(caller, LW_TIMED_OUT));
    const stopListening = onAbort(signal, () => {
      reject(signal?.reason);
      line.giveUp(caller, LW_CANCELLED);
    });
    keepAlive(1);
    caller.left = () => {
      stopTimer();
      stopListening();
      keepAlive(-1);
    };
  });
}
