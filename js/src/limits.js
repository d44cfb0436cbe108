/** What ends a wait from outside: its time being up, and its signal. */

import { shared } from './agent.js';
import { LW_TIMED_OUT } from './core.js';

/**
 * How long a timer is set for at once, ms: while a call is pending, the event loop turns now and then.
 * WebKitGTK's workers do not see otherwise that an Atomics.waitAsync has timed out, and sometimes that
 * it was notified.
 */
const LONGEST_TIMER = 400;

/**
 * @typedef {object} Limit
 * @property {number} deadline as performance.now() tells it
 * @property {(why: number) => void} end
 * @property {ReturnType<typeof setTimeout>} [timer] its own, shortly before the deadline
 */

/**
 * The pending calls of this agent: how many there are, those whose deadline is far away, and a timer that
 * runs while there are any. It keeps the process alive, which a pending Atomics.waitAsync does not.
 *
 * @type {{ count: number, far: Set<Limit>, timer: ReturnType<typeof setTimeout> | undefined }}
 */
const pending = (shared.pending ??= { count: 0, far: new Set(), timer: undefined });

export function nothingPends() {
  return pending.count === 0;
}

/**
 * Ends a call if its time is up, never earlier, or looks again.
 *
 * @param {Limit} limit
 */
function look(limit) {
  const left = limit.deadline - performance.now();
  if (left > 0) limit.timer = setTimeout(look, Math.min(left, LONGEST_TIMER), limit);
  else limit.end(LW_TIMED_OUT);
}

/** Gives those a timer of their own whose time may be up before the next round, or soon after. */
function lookAtAll() {
  pending.timer = setTimeout(lookAtAll, LONGEST_TIMER);
  const soon = performance.now() + 2 * LONGEST_TIMER;
  for (const limit of pending.far) {
    if (limit.deadline > soon) continue;
    pending.far.delete(limit);
    look(limit);
  }
}

/**
 * Bounds a wait, and keeps the process alive for it.
 *
 * @param {number} timeout ms, more than 0
 * @param {(why: number) => void} end called with LW_TIMED_OUT
 * @returns {Limit} to be lifted when the wait has ended
 */
export function bound(timeout, end) {
  /** @type {Limit} */
  const limit = { deadline: performance.now() + timeout, end };
  if (pending.count++ === 0) pending.timer = setTimeout(lookAtAll, LONGEST_TIMER);
  if (timeout <= LONGEST_TIMER) look(limit);
  else if (timeout < Infinity) pending.far.add(limit);
  return limit;
}

/** @param {Limit} limit */
export function lift(limit) {
  pending.far.delete(limit);
  clearTimeout(limit.timer);
  if (--pending.count === 0) clearTimeout(pending.timer);
}

/**
 * Whom to tell of each signal's abort. While calls wait under a signal, it has one listener, however
 * many they are: Node takes more than ten for a leak, and says so. Afterwards it has none, since a
 * listener keeps a composite signal, or one with a timeout, alive as long as what it is made of.
 *
 * @type {WeakMap<AbortSignal, Set<() => void> & EventListenerObject>}
 */
const listeners = new WeakMap();

const nothing = () => {};

/**
 * Calls back when the signal is aborted, unless stopped. Throws what a signal throws that is not the
 * engine's own: to be called before the wait leaves any trace.
 *
 * @param {AbortSignal | undefined} signal
 * @param {() => void} callback
 * @returns {() => void} stops it
 */
export function onAbort(signal, callback) {
  if (!signal) return nothing;
  let listener = listeners.get(signal);
  if (!listener) {
    listener = Object.assign(new Set(), {
      /** @this {Set<() => void>} */
      handleEvent() {
        this.forEach((call) => call());
      },
    });
    signal.addEventListener('abort', listener);
    listeners.set(signal, listener);
  }
  const callbacks = listener;
  callbacks.add(callback);
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return;
    listeners.delete(signal);
    signal.removeEventListener('abort', callbacks);
  };
}
