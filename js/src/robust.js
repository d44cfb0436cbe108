/**
 * The steps of include/lockword/core/robust.h: a mutex, and what became of what it guards. Only the
 * holder writes the fate, or the agent that buries the holder, before it frees the mutex.
 */

import { mutexBuryStep, mutexFree, mutexOwner, mutexUnlockStep } from './core/mutex.js';

/** @typedef {import('./wait.js').Words} Words */

const FATE = 2;

export const OWNER_DIED = 1;
export const ABANDONED = 2;

/** @param {Words} words */
export const robustFate = (words) => Atomics.load(words, FATE);

/**
 * Sets the fate. The caller holds the mutex.
 *
 * @param {Words} words
 * @param {number} fate
 */
export function robustDecide(words, fate) {
  Atomics.store(words, FATE, fate);
}

/**
 * Frees the mutex and declares that what it guards is sound, unless it is abandoned.
 *
 * @param {Words} words
 * @param {number} self
 * @returns {boolean} false: self does not hold it, and nothing was changed
 */
export function robustUnlock(words, self) {
  const fate = robustFate(words);
  if (fate & OWNER_DIED) {
    if (mutexOwner(words) !== self) return false;
    robustDecide(words, fate & ~OWNER_DIED);
  }
  return mutexFree(words, self) || mutexUnlockStep(words, self);
}

/**
 * mutexBuryStep, which also notes that the holder has died. It may be done again if the agent that
 * buries dies in the middle, but not while another live agent buries the same one.
 *
 * @param {Words} words
 * @param {number} dead
 */
export function robustBury(words, dead) {
  if (mutexOwner(words) === dead) robustMourn(words);
  mutexBuryStep(words, dead);
}

/**
 * Notes that the holder has died. Nobody can take the mutex meanwhile.
 *
 * @param {Words} words
 */
export function robustMourn(words) {
  const fate = robustFate(words);
  if (!(fate & ABANDONED)) robustDecide(words, fate | OWNER_DIED);
}
