/** Calls that wait: their promises, and what ends them from outside, a timeout or a signal. */

import { shared } from './agent.js';
import { LW_DONE, LW_GAVE_UP, LW_TIMED_OUT } from './core/constants.js';
import { BEAT, LONGEST_TIMER } from './awake.js';
import { listen, signalOf, timeoutOf } from './options.js';
import { clearInterval, setInterval } from './wait.js';

/**
 * @typedef {import('./blocking.js').Answer} Answer
 * @typedef {import('./line.js').Caller} Caller
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 *
 * @typedef {(caller: Caller, why: number) => void} End for LW_TIMED_OUT or LW_CANCELLED: the caller
 *   gives up, or succeeds at the last moment
 */

/**
 * The pending calls of this agent: how many there are, and a timer that runs while there are any.
 * It keeps the process alive, which a pending Atomics.waitAsync does not.
 *
 * @type {{ count: number, timer?: any }}
 */
export const pending = (shared.pending ??= { count: 0 });

/** @param {{ what: number }} answer */
export const isDone = ({ what }) => what === LW_DONE;

/**
 * Begins a call that waits. A hundred thousand of them may wait at once. So there is one object,
 * without closures; its promise is the user's own, with no async function in between.
 *
 * @param {Caller['resolve']} resolve
 * @param {import('./crowd.js').Operation} operation
 * @param {number | WaitOptions | undefined} options
 * @param {Caller['toValue']} toValue
 * @param {End} end
 * @param {(caller: Caller, operation: import('./crowd.js').Operation, timeout: number) => void} start
 *   may settle it
 */
export function begin(resolve, operation, options, toValue, end, start) {
  const { step, wanted, names } = operation;
  const timeout = timeoutOf(options, names);
  const signal = signalOf(options);
  /** @type {Caller} */
  const caller = {
    step,
    wanted,
    phase: 0,
    line: /** @type {any} */ (undefined),
    queue: undefined,
    before: undefined,
    after: undefined,
    place: 0,
    resolve,
    toValue,
    end,
    settle,
    signal,
    timer: undefined,
  };
  // These may throw; what follows may not. An AudioWorklet has no timers.
  clearInterval();
  listen(caller, true);
  start(caller, operation, timeout);
  if (timeout === 0 && caller.queue) end(caller, LW_TIMED_OUT);
  if (!caller.queue) return;
  caller.timer = 0;
  if (pending.count++ === 0) pending.timer = setInterval(Boolean, BEAT);
  if (timeout < Infinity) look(caller, performance.now() + timeout);
}

/**
 * A timer may fire a little early, a short one by a millisecond. One that fires much too early is a
 * fake one, of a test that has left the clock alone: then the time is up. And one may fire when its
 * call has ended: fake timers do not clear the engine's own.
 *
 * @param {Caller} caller
 * @param {number} deadline
 * @param {number} [most] how much may be left after the timer; none has fired if it is left out
 */
function look(caller, deadline, most) {
  if (!caller.queue) return;
  const remaining = deadline - performance.now();
  // Engines drop the fraction.
  const ms = Math.min(Math.ceil(remaining), LONGEST_TIMER);
  if (remaining > 0 && !(remaining > /** @type {any} */ (most)))
    caller.timer = setTimeout(
      look,
      ms,
      caller,
      deadline,
      remaining - ms + Math.min(4, (ms + 1) / 2),
    );
  else caller.end(caller, LW_TIMED_OUT);
}

/** @type {Caller['settle']} */
function settle(caller, answer) {
  const { signal, timer } = caller;
  listen(caller, false);
  if (timer !== undefined && --pending.count === 0) clearInterval(pending.timer);
  clearTimeout(timer);
  try {
    // A call that succeeds although it is cancelled keeps what it took.
    if (answer.what === LW_GAVE_UP && signal?.aborted) throw signal.reason;
    caller.resolve(caller.toValue(answer, caller.wanted, caller));
  } catch (error) {
    // Not a promise, which would be unhandled if nobody asks any more.
    caller.resolve({ then: (/** @type {any} */ _, /** @type {any} */ reject) => reject(error) });
  }
}

/**
 * Checks options before what cannot be undone: throws all that `begin` throws of them.
 *
 * @param {number | WaitOptions | undefined} options
 * @returns {{ timeout: number, signal: AbortSignal | undefined }}
 */
export function checked(options) {
  const limits = { timeout: timeoutOf(options), signal: signalOf(options) };
  clearInterval();
  listen(/** @type {any} */ (limits), false);
  return limits;
}
