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
import { LW_DONE, LW_GAVE_UP, LW_START, LW_TIMED_OUT, LW_WAIT } from './core/constants.js';
import { mutexOwner } from './core/mutex.js';
import { bound, nothingPends, onAbort } from './limits.js';
import { findLine, forgetIfUnused, join, leave, lineAt, run } from './line.js';
import { HAND_OVER } from './awake.js';
import { afterTurn } from './wait.js';

/** The key of the line's only queue. */
const ALL = 0;

/**
 * @param {Line} line
 * @returns {Caller | undefined}
 */
const headOf = (line) => line.queues.get(ALL)?.after;

/**
 * Runs the head's step, then that of each next head, until one has to wait or has the lock. In the
 * latter case the next head has to wait for that caller. It is told when the caller gives the lock
 * back (handOver). It also queues once the event loop has turned, so that other agents tell it,
 * too.
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

/** @param {Line} line */
function advanceAfterTurn(line) {
  if (line.turnsBy || !headOf(line)) return;
  line.turnsBy = performance.now() + HAND_OVER;
  afterTurn(() => {
    line.turnsBy = 0;
    advance(line, LW_START);
    forgetIfUnused(line);
  });
}

/**
 * Call this after giving back a lock for which no agent waits, not even this one: a microtask lets
 * the head try. If other agents do wait, the head does as they do: it learns of a notify, or tries
 * when the event loop has turned.
 *
 * @param {Words} words
 */
export function handOver(words) {
  const line = nothingPends() ? undefined : findLine(words);
  if (!line || line.handing || (line.turnsBy && performance.now() > line.turnsBy)) return;
  line.handing = true;
  queueMicrotask(() => {
    line.handing = false;
    advance(line, LW_START);
  });
}

/**
 * Runs a step to its end.
 *
 * @param {Step} step whose argument is the agent's id
 * @param {Words} words
 * @param {number} timeout ms
 * @param {AbortSignal | undefined} signal not aborted yet
 * @returns {Promise<boolean>} whether it succeeded; rejects with the signal's reason
 */
export function enqueue(step, words, timeout, signal) {
  return new Promise((resolve, reject) => {
    /**
     * The caller gives up. Only the head has marks and claims to clear. Only the head may still
     * succeed, if its time was up.
     *
     * @param {number} why LW_TIMED_OUT or LW_CANCELLED
     */
    const end = (why) =>
      headOf(line) === caller
        ? advance(line, why)
        : leave(caller, { what: LW_GAVE_UP, expected: 0 });
    // onAbort may throw; what follows may not.
    let stop = onAbort(signal, end);
    const line = lineAt(words, advance);
    /** @type {Caller} */
    const caller = {
      line,
      step,
      wanted: self,
      phase: 0,
      onLeave({ what }) {
        stop();
        // A step that succeeds although it is cancelled keeps what it took.
        if (what === LW_GAVE_UP && signal?.aborted) reject(signal.reason);
        else resolve(what === LW_DONE);
      },
    };
    join(caller, ALL);
    // While this agent holds the lock, the head acts as if it had come after the holder.
    if (headOf(line) === caller)
      (mutexOwner(words) === self ? advanceAfterTurn : advance)(line, LW_START);
    if (timeout === 0 && caller.queue) end(LW_TIMED_OUT);
    if (caller.queue) stop = bound(timeout, end, stop);
  });
}
