/*
 * rmutex.c: the recursive mutex's steps. The meaning of the words is in core/rmutex.h; locking is
 * lw_mutex_lock_step.
 *
 * The depth needs no memory order of its own: only the holder changes it, and the mutex orders one
 * holder after another. An agent that does not hold the mutex learns nothing from the depth. The
 * holder reads what it wrote itself.
 *
 * Printed by `make core` from src/core/rmutex.c and include/lockword/core/rmutex.h: do not edit.
 */

import { mutexFree, mutexOwner, mutexUnlockStep } from './mutex.js';
import {
  LW_MUTEX_OWNER,
  LW_MUTEX_STATE,
  LW_REENTRY_NO,
  LW_REENTRY_OVERFLOW,
  LW_REENTRY_YES,
  LW_RMUTEX_AGAIN,
  LW_RMUTEX_DEPTH,
  LW_RMUTEX_TASK,
} from './constants.js';

/**
 * @typedef {import('../wait.js').Words} Words
 */

/**
 * @param {Words} rmutex
 * @returns {number}
 */
function depthOf(rmutex) {
  return rmutex[LW_RMUTEX_DEPTH];
}

/**
 * Any agent may ask: only its own operations make it the holder, or end that.
 *
 * @param {Words} rmutex
 * @param {number} self
 * @returns {boolean}
 */
function isMine(rmutex, self) {
  return (rmutex[LW_MUTEX_STATE] & LW_MUTEX_OWNER) === self;
}

/**
 * @param {number} depth
 * @param {number} task
 * @returns {boolean}
 */
function isHeldAs(depth, task) {
  return (depth & LW_RMUTEX_TASK) === task;
}

/**
 * Returns how often its holder has it; 0: no agent holds it.
 *
 * @param {Words} rmutex
 * @returns {number}
 */
export function rmutexDepth(rmutex) {
  return mutexOwner(rmutex)
    ? ((Atomics.load(rmutex, LW_RMUTEX_DEPTH) & LW_RMUTEX_AGAIN) + 1) | 0
    : 0;
}

/**
 * Takes the mutex once more if self holds it in the same way: `task` is 0 for the thread,
 * LW_RMUTEX_TASK for a task.
 *
 * @param {Words} rmutex
 * @param {number} self
 * @param {number} task
 * @returns {number}
 */
export function rmutexReenterStep(rmutex, self, task) {
  if (!isMine(rmutex, self)) return LW_REENTRY_NO;
  const depth = depthOf(rmutex);
  if (!isHeldAs(depth, task)) return LW_REENTRY_NO;
  if ((depth & LW_RMUTEX_AGAIN) === LW_RMUTEX_AGAIN) return LW_REENTRY_OVERFLOW;
  rmutex[LW_RMUTEX_DEPTH] = depth + 1;
  return LW_REENTRY_YES;
}

/**
 * Call this just after locking the mutex, with `depth` telling in which way it is held, and how
 * often besides the first time: LW_RMUTEX_TASK plus LW_RMUTEX_AGAIN. Also call it, with 0, before a
 * holder that has the mutex more than once frees it at once.
 *
 * @param {Words} rmutex
 * @param {number} depth
 */
export function rmutexEnteredStep(rmutex, depth) {
  if (depthOf(rmutex) !== depth) rmutex[LW_RMUTEX_DEPTH] = depth;
}

/**
 * Gives the mutex back once. Returns false, with nothing changed, if self does not hold it in this
 * way.
 *
 * @param {Words} rmutex
 * @param {number} self
 * @param {number} task
 * @returns {boolean}
 */
export function rmutexUnlockStep(rmutex, self, task) {
  const depth = depthOf(rmutex);
  // The mutex was taken once. If self does not hold it, the depth was another agent's, and
  // freeing the mutex fails.
  if (depth === task) return mutexFree(rmutex, self) || mutexUnlockStep(rmutex, self);
  if (!isMine(rmutex, self) || !isHeldAs(depth, task)) return false;
  rmutex[LW_RMUTEX_DEPTH] = depth - 1;
  return true;
}
