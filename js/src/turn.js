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
import { LW_DONE, LW_GAVE_UP, LW_START, LW_TIMED_OUT, LW_WAIT } from './core/constants.js';
import { mutexOwner } from './core/mutex.js';
import { bound, nothingPends, onAbort } from './limits.js';
import { findLine, forgetIfUnused, join, leave, lineAt, run } from './line.js';
import { HAND_OVER } from './awake.js';
import { afterTurn } from './wait.js';

/** The key of their only queue. */
const ALL = 0;

/**
 * @param {Line} line
 * @returns {Caller | undefined}
 */
const headOf = (line) => line.queues.get(ALL)?.after;

/**
 * Runs the head's step, then that of each next head, until one has to wait or has what it wanted. Then the next has to wait for this one: it is told
 * when that gives back what it has (handOver), and queues when the event loop has turned, to be told by others, too.
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
 * To be called after something was given back that no agent waits for, not even this one: a microtask lets the head try. If others do
 * wait, the head does as they do: it hears of a notify, or tries when the event loop has turned.
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
 * @param {Step} step which wants to know who asks
 * @param {Words} words
 * @param {number} timeout ms
 * @param {AbortSignal | undefined} signal not aborted yet
 * @returns {Promise<boolean>} whether it succeeded; rejects with the signal's reason
 */
export function enqueue(step, words, timeout, signal) {
  return new Promise((resolve, reject) => {
    /**
     * The caller gives up. Only the head has left traces to clear away, and only the head may still succeed, if its time was up.
     *
     * @param {number} why LW_TIMED_OUT or LW_CANCELLED
     */
    const end = (why) => (headOf(line) === caller ? advance(line, why) : leave(caller, { what: LW_GAVE_UP, expected: 0 }));
    // This may throw, and the rest may not.
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
        // A step that succeeds though it is cancelled has been granted what it wanted, and keeps it.
        if (what === LW_GAVE_UP && signal?.aborted) reject(signal.reason);
        else resolve(what === LW_DONE);
      },
    };
    join(caller, ALL);
    // While this agent holds it, as if the head had come after the one who does.
    if (headOf(line) === caller) (mutexOwner(words) === self ? advanceAfterTurn : advance)(line, LW_START);
    if (timeout === 0 && caller.queue) end(LW_TIMED_OUT);
    if (caller.queue) stop = bound(timeout, end, stop);
  });
}
