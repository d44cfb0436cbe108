/*
 * robust.c: the robust mutex's steps for the dead. The meaning of the words is in core/robust.h;
 * locking is lw_mutex_lock_step.
 *
 * Printed by `make core` from src/core/robust.c and include/lockword/core/robust.h: do not edit.
 */

import { mutexBuryStep, mutexFree, mutexOwner, mutexUnlockStep } from './mutex.js';
import { LW_ROBUST_ABANDONED, LW_ROBUST_OWNER_DIED } from './constants.js';

/**
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * Returns the fate. The caller holds the mutex; if not, the result may be outdated.
 *
 * @param {Words} robust
 * @returns {number}
 */
export function robustFate(robust) {
  const LW_ROBUST_FATE = 2;

  return Atomics.load(robust, LW_ROBUST_FATE);
}

/**
 * Sets the fate. The caller holds the mutex.
 *
 * @param {Words} robust
 * @param {number} fate
 */
export function robustDecide(robust, fate) {
  const LW_ROBUST_FATE = 2;

  Atomics.store(robust, LW_ROBUST_FATE, fate);
}

/**
 * Frees the mutex if self holds it, notifies, and returns true: then the data is declared sound,
 * unless it is abandoned. Returns false, with nothing changed, if self does not hold the mutex.
 * Should the caller die between the two operations, it is buried as the holder.
 *
 * @param {Words} robust
 * @param {number} self
 * @returns {boolean}
 */
export function robustUnlock(robust, self) {
  const LW_ROBUST_OWNER_DIED = 0x00000001;

  const fate = robustFate(robust);
  if (fate & LW_ROBUST_OWNER_DIED) {
    if (mutexOwner(robust) !== self) return false;
    robustDecide(robust, fate & ~LW_ROBUST_OWNER_DIED);
  }
  return mutexFree(robust, self) || mutexUnlockStep(robust, self);
}

/**
 * Notes that the holder has died, while no agent can take the mutex.
 *
 * @param {Words} robust
 */
export function robustMourn(robust) {
  const fate = robustFate(robust);
  if (!(fate & LW_ROBUST_ABANDONED)) robustDecide(robust, fate | LW_ROBUST_OWNER_DIED);
}

/**
 * mutexBuryStep, which also notes that the holder has died. If the agent that buries dies in
 * the middle, another one buries again. Illegal while another live agent buries the same agent.
 *
 * @param {Words} robust
 * @param {number} dead
 */
export function robustBury(robust, dead) {
  if (mutexOwner(robust) === dead) robustMourn(robust);
  mutexBuryStep(robust, dead);
}
