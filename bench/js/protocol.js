/**
 * How long it takes until a sleeping event loop knows: the words that the two sides of a hand-off
 * share.
 *
 * Told NEXT, the waker takes the lock and says HELD; the main thread asks for the lock, or for
 * whatever else will wake it, says ASKED, and goes idle; the waker lets it settle, notes the time,
 * and releases.
 */

import { performance } from 'node:perf_hooks';

export const STOP = 0;
export const NEXT = 1;
export const HELD = 2;
export const ASKED = 3;
export const SIGNAL = 4;
/** How many are about to block, and how many have had their turns: herd.js. */
export const ARRIVED = 5;
export const SERVED = 6;
export const CONTROL_WORDS = 7;

export const KINDS = { lock: 'lock', signal: 'signal', message: 'message' };

/** A peer that excludes no agent: its longest wait is how long the machine stopped a thread. */
export const NO_LOCK = 'no lock';

/** Long enough for the main thread to have gone to sleep. */
export const SPIN_MS = 0.15;

/** A clock that all workers read alike, ms. */
export const now = () => performance.timeOrigin + performance.now();

export function release(kind, control, lock, port) {
  if (kind === KINDS.lock) {
    lock.unlock();
  } else if (kind === KINDS.signal) {
    Atomics.store(control, SIGNAL, 1);
    Atomics.notify(control, SIGNAL);
  } else {
    port.postMessage({ woken: true });
  }
}
