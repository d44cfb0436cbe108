/** What ends a wait from outside: its time being up, and its signal. */

import { shared } from './agent.js';
import { LW_CANCELLED, LW_TIMED_OUT } from './core.js';

/**
 * How long a timer is set for at once, ms: while a call is pending, the event loop turns now and then. WebKitGTK's workers do not see otherwise
 * that an Atomics.waitAsync has timed out, and sometimes that it was notified.
 */
const LONGEST_TIMER = 400;

/**
 * Calls back later, once this many ms have passed, never earlier, unless stopped. However long that is, or for ever, there is a timer, which
 * keeps the process alive meanwhile: a pending Atomics.waitAsync does not.
 *
 * @param {number} ms
 * @param {() => void} callback
 * @returns {() => void} stops it
 */
function after(ms, callback) {
  const deadline = performance.now() + ms;
  const look = () => {
    const left = deadline - performance.now();
    if (left > 0) timer = setTimeout(look, Math.min(left, LONGEST_TIMER));
    else callback();
  };
  let timer = setTimeout(look, Math.min(ms, LONGEST_TIMER));
  return () => clearTimeout(timer);
}

/**
 * What to call for each signal. A signal gets one listener, however many wait under it: Node takes more than ten for a leak, and says so.
 *
 * @type {WeakMap<AbortSignal, Set<() => void>>}
 */
const callbacksOf = new WeakMap();

/**
 * Calls back when the signal is aborted, unless stopped.
 *
 * @param {AbortSignal | undefined} signal
 * @param {() => void} callback
 * @returns {() => void} stops it
 */
function onAbort(signal, callback) {
  if (!signal) return () => {};
  let callbacks = callbacksOf.get(signal);
  if (!callbacks) {
    callbacksOf.set(signal, (callbacks = new Set()));
    signal.addEventListener('abort', () => callbacksOf.get(signal)?.forEach((call) => call()));
  }
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

/** How many calls of this agent are pending. */
shared.pending ??= 0;

export function nothingPends() {
  return shared.pending === 0;
}

/**
 * Bounds a wait, and keeps the process alive for it.
 *
 * @param {number} timeout ms
 * @param {AbortSignal | undefined} signal not aborted yet
 * @param {(why: number) => void} end called with LW_TIMED_OUT or LW_CANCELLED
 * @returns {() => void} to be called when the wait has ended
 */
export function bound(timeout, signal, end) {
  const stopTimer = after(timeout, () => end(LW_TIMED_OUT));
  const stopListening = onAbort(signal, () => end(LW_CANCELLED));
  shared.pending++;
  return () => {
    stopTimer();
    stopListening();
    shared.pending--;
  };
}
