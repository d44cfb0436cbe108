/*
 * rmutex.c: the recursive mutex's steps. The meaning of the words is in core/rmutex.h; locking is
 * lw_mutex_lock_step.
 *
 * The depth and the holder need no memory order of their own: only the holder changes them, and the
 * mutex orders one holder after another. An agent that does not hold the mutex learns from them
 * only that it does not. The holder reads what it wrote itself.
 *
 * Printed by `make core` from src/core/rmutex.c and include/lockword/core/rmutex.h: do not edit.
 */

import { mutexOwner, mutexUnlockStep } from './mutex.js';
import { LW_RMUTEX_DEPTH } from './constants.js';

/**
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * The fast paths of lock and unlock, if no agent waits. They return false, with nothing changed, if
 * a step has to be called. A `holder` is the caller's id, plus LW_RMUTEX_TASK for a task. A task
 * cannot lock by the first one, which takes the mutex once more if the thread has it.
 *
 * The depth and the holder need no order: an agent reads what it wrote itself, or what another one
 * wrote, which is not its id.
 *
 * @param {Words} rmutex
 * @param {number} self
 * @returns {boolean}
 */
export function rmutexTake(rmutex, self) {
  const LW_MUTEX_STATE = 0;
  const LW_RMUTEX_DEPTH = 2;
  const LW_RMUTEX_HOLDER = 3;
  const LW_RMUTEX_AGAIN = 0x7fffffff;

  if (rmutex[LW_RMUTEX_HOLDER] === self) {
    const depth = rmutex[LW_RMUTEX_DEPTH];
    if (depth === LW_RMUTEX_AGAIN) return false;
    rmutex[LW_RMUTEX_DEPTH] = depth + 1;
    return true;
  }
  if (Atomics.compareExchange(rmutex, LW_MUTEX_STATE, 0, self) !== 0) return false;
  // A holder that died may have left another depth.
  rmutex[LW_RMUTEX_DEPTH] = 0;
  rmutex[LW_RMUTEX_HOLDER] = self;
  return true;
}

/**
 * @param {Words} rmutex
 * @param {number} holder
 * @returns {boolean}
 */
export function rmutexFree(rmutex, holder) {
  const LW_MUTEX_STATE = 0;
  const LW_MUTEX_OWNER = 0x1fffffff;
  const LW_RMUTEX_DEPTH = 2;
  const LW_RMUTEX_HOLDER = 3;

  if (rmutex[LW_RMUTEX_HOLDER] !== holder) return false;
  const depth = rmutex[LW_RMUTEX_DEPTH];
  if (depth !== 0) {
    rmutex[LW_RMUTEX_DEPTH] = depth - 1;
    return true;
  }
  // Before the mutex is free: after that, the next holder may come.
  const self = holder & LW_MUTEX_OWNER;
  rmutex[LW_RMUTEX_HOLDER] = 0;
  if (Atomics.compareExchange(rmutex, LW_MUTEX_STATE, self, 0) === self) return true;
  rmutex[LW_RMUTEX_HOLDER] = holder;
  return false;
}

/**
 * Returns how often its holder has it; 0: no agent holds it.
 *
 * @param {Words} rmutex
 * @returns {number}
 */
export function rmutexDepth(rmutex) {
  return mutexOwner(rmutex) ? (Atomics.load(rmutex, LW_RMUTEX_DEPTH) + 1) | 0 : 0;
}

/**
 * Takes the mutex once more if the caller holds it.
 *
 * @param {Words} rmutex
 * @param {number} holder
 * @returns {number}
 */
export function rmutexReenterStep(rmutex, holder) {
  const LW_RMUTEX_DEPTH = 2;
  const LW_RMUTEX_HOLDER = 3;
  const LW_RMUTEX_AGAIN = 0x7fffffff;
  const LW_REENTRY_NO = 0;
  const LW_REENTRY_YES = 1;
  const LW_REENTRY_OVERFLOW = 2;

  if (rmutex[LW_RMUTEX_HOLDER] !== holder) return LW_REENTRY_NO;
  const depth = rmutex[LW_RMUTEX_DEPTH];
  if (depth === LW_RMUTEX_AGAIN) return LW_REENTRY_OVERFLOW;
  rmutex[LW_RMUTEX_DEPTH] = depth + 1;
  return LW_REENTRY_YES;
}

/**
 * Call this just after locking the mutex, with how often the caller has it besides the first time.
 * Also call it, with 0 and 0, before a holder frees at once what it has more than once.
 *
 * @param {Words} rmutex
 * @param {number} holder
 * @param {number} depth
 */
export function rmutexEnteredStep(rmutex, holder, depth) {
  const LW_RMUTEX_DEPTH = 2;
  const LW_RMUTEX_HOLDER = 3;

  rmutex[LW_RMUTEX_DEPTH] = depth;
  rmutex[LW_RMUTEX_HOLDER] = holder;
}

/**
 * Frees the mutex, and wakes. Call this if rmutexFree has returned false. Returns false, with
 * nothing changed, if the caller does not hold it in this way.
 *
 * @param {Words} rmutex
 * @param {number} holder
 * @returns {boolean}
 */
export function rmutexFreeStep(rmutex, holder) {
  const LW_MUTEX_OWNER = 0x1fffffff;
  const LW_RMUTEX_HOLDER = 3;

  if (rmutex[LW_RMUTEX_HOLDER] !== holder) return false;
  rmutex[LW_RMUTEX_HOLDER] = 0;
  return mutexUnlockStep(rmutex, holder & LW_MUTEX_OWNER);
}
