/** Ends a wait from outside: when its time is up, or its signal is aborted. */

import { shared } from './agent.js';
import { LW_CANCELLED, LW_TIMED_OUT } from './core/constants.js';
import { BEAT, LONGEST_TIMER } from './awake.js';

/**
 * The pending calls of this agent: how many there are, and a timer that runs while there are any.
 * It keeps the process alive, which a pending Atomics.waitAsync does not.
 *
 * @type {{ count: number, timer?: ReturnType<typeof setInterval> }}
 */
const pending = (shared.pending ??= { count: 0 });

export function nothingPends() {
  return pending.count === 0;
}

function nothing() {}

/**
 * Bounds a wait, and keeps the process alive for it.
 *
 * @param {number} timeout ms, more than 0
 * @param {(why: number) => void} end called with LW_TIMED_OUT when the time is up, never earlier
 * @param {() => void} stopListening
 * @returns {() => void} call this when the wait has ended; it stops listening, too
 */
export function bound(timeout, end, stopListening) {
  const deadline = performance.now() + timeout;
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  /** @param {number} remaining */
  const look = (remaining) => {
    if (remaining <= 0) end(LW_TIMED_OUT);
    else if (remaining < Infinity)
      timer = setTimeout(
        () => look(deadline - performance.now()),
        Math.min(remaining, LONGEST_TIMER),
      );
  };
  look(timeout);
  if (pending.count++ === 0) pending.timer = setInterval(nothing, BEAT);
  return () => {
    clearTimeout(timer);
    if (--pending.count === 0) clearInterval(pending.timer);
    stopListening();
  };
}

/**
 * The calls to end when a signal is aborted. While there are any, the signal has one listener,
 * however many calls there are: Node warns of a leak at more than ten. Afterwards it has none,
 * since a listener keeps a composite signal, or one with a timeout, alive as long as what it is
 * made of.
 *
 * @type {WeakMap<AbortSignal, Set<(why: number) => void>>}
 */
const endsOf = new WeakMap();

/** @this {AbortSignal} */
function abort() {
  endsOf.get(this)?.forEach((end) => end(LW_CANCELLED));
}

/**
 * Ends a wait when the signal is aborted, unless stopped. Throws what a signal throws that is not
 * the engine's own, so call it before the wait changes anything.
 *
 * @param {AbortSignal | undefined} signal
 * @param {(why: number) => void} end called with LW_CANCELLED
 * @returns {() => void} stops it
 */
export function onAbort(signal, end) {
  if (!signal) return nothing;
  const ends = endsOf.get(signal) ?? new Set();
  if (ends.size === 0) signal.addEventListener('abort', abort);
  endsOf.set(signal, ends.add(end));
  return () => {
    if (ends.delete(end) && ends.size === 0) signal.removeEventListener('abort', abort);
  };
}
