/**
 * Blocking for a mutex. Before it waits, a thread looks again for some 20 to 50 us at most, in the hope that the mutex is freed: falling asleep and
 * being woken takes as long, and costs the one who unlocks hundreds of short turns. It marks nothing meanwhile, so that whoever unlocks need not
 * notify anybody. And it naps now and then, for those who share its CPU; nobody notifies a nap.
 */

import { self } from './agent.js';
import { block } from './blocking.js';
import { LW_DONE, LW_MUTEX_RESERVED, LW_MUTEX_STATE, mutexLockStep, mutexTake } from './core.js';
import { nap } from './wait.js';

/** @typedef {import('./wait.js').Words} Words */

/**
 * How often to look, and the pauses before each time. Longer ones let the holder take many turns in a row, shorter ones find a mutex sooner
 * that is seldom free. Found by bench/js/tune.js: docs/design.md, 'Constants'.
 */
const LOOKS = 100;
const PAUSES = 10;

/** Chromium before 133, Node before 24 and Firefox before 137 have no Atomics.pause: then, something else that takes a moment. */
const pause = /** @type {any} */ (Atomics).pause ?? Math.random;

/**
 * How long a worker contends before it lets others have the CPU, in ms; and how long if nobody was there to have it last time. Without that, where
 * there are more workers than CPUs, those who run pass the mutex among themselves until the scheduler stops them, many milliseconds later.
 */
const QUANTUM = 0.5;
const QUANTUM_ALONE = 2;

/** How long it sleeps then, in ms: for less an engine may not. Who sleeps longer than that by far was not alone. */
const NAP = 0.02;
const LONG_NAP = 0.2;

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
