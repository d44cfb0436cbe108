/**
 * Blocking for a mutex. Before it waits, a thread looks again for some 20 to 50 us at most, in the hope that the mutex is freed: falling asleep and
 * being woken takes as long, and costs the one who unlocks hundreds of short turns. It marks nothing meanwhile, so that whoever unlocks need not
 * notify anybody. And it naps now and then, for those who share its CPU; nobody notifies a nap.
 */

import { self } from './agent.js';
import { block } from './blocking.js';
import { LW_DONE, LW_MUTEX_RESERVED, LW_MUTEX_STATE, mutexLockStep, mutexTake } from './core.js';
import { LONG_NAP, LOOKS, NAP, PAUSES, QUANTUM, QUANTUM_ALONE } from './times.js';
import { nap } from './wait.js';

/** @typedef {import('./wait.js').Words} Words */

/** Chromium before 133, Node before 24 and Firefox before 137 have no Atomics.pause: then, something else that takes a moment. */
const pause = /** @type {any} */ (Atomics).pause ?? Math.random;

let mayRunUntil = 0;

/** Lets others have the CPU, if that is due. */
function rest() {
  const before = performance.now();
  if (before < mayRunUntil) return;
  nap(NAP);
  const now = performance.now();
  mayRunUntil = now + (now - before > LONG_NAP ? QUANTUM : QUANTUM_ALONE);
}

/**
 * Takes a mutex if it becomes free soon, unless it is kept for those who wait.
 *
 * @param {Words} words
 * @returns {boolean}
 */
function takeSoon(words) {
  rest();
  for (let left = LOOKS; left > 0; left--) {
    for (let k = 0; k < PAUSES; k++) pause();
    if (mutexTake(words, self)) return true;
    if (Atomics.load(words, LW_MUTEX_STATE) & LW_MUTEX_RESERVED) return false;
  }
  return false;
}

/**
 * Takes a mutex, blocking this thread until it is to be had.
 *
 * @param {Words} words
 * @param {number} timeout ms; 0 looks once
 * @returns {number} LW_DONE, LW_GAVE_UP or LW_DEADLOCK
 */
export function lockBlocking(words, timeout) {
  return timeout > 0 && takeSoon(words) ? LW_DONE : block(mutexLockStep, words, self, timeout);
}
