/// <reference lib="esnext.disposable" preserve="true" />
/** A lock that is held, as a value that releases it, at the latest at the end of its scope. */

import { TimeoutError } from './errors.js';

/**
 * Symbol.dispose, or what transpilers use in its stead where an engine has none: `using` needs them
 * to be the same.
 *
 * @type {typeof Symbol.dispose}
 */
export const dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');

/**
 * A lock that is held: a mutex, a side of a read-write lock, or permits of a semaphore. `using
 * guard = mutex.acquire()` releases it at the end of the block, however that ends, and so does
 * `using guard = await mutex.acquireAsync()`.
 *
 * A guard releases the lock that this agent holds at that time. An agent holds a lock, not a task.
 * If another task of the agent has unlocked it meanwhile, the guard throws an OwnershipError; if a
 * task has locked it again since, the guard releases that lock.
 */
export class Guard {
  /** @type {(() => void) | undefined} */
  #unlock;

  /**
   * @internal
   * @param {() => void} unlock
   */
  constructor(unlock) {
    this.#unlock = unlock;
  }

  /**
   * Releases what is held, the first time. Further calls do nothing.
   *
   * @throws {OwnershipError} it was released by other means, such as `mutex.unlock()`
   */
  unlock() {
    const unlock = this.#unlock;
    this.#unlock = undefined;
    unlock?.();
  }

  /** The same as `unlock()`, called at the end of a `using` block. */
  [dispose]() {
    this.unlock();
  }
}

/**
 * Calls `fn` with the guard, and releases when what `fn` returns has settled, or when it throws. It
 * is no async function: a thousand calls that wait would keep the state of one each.
 *
 * @internal
 * @template T, G
 * @param {Promise<G>} acquired the guard
 * @param {(guard: G) => T | PromiseLike<T>} fn
 * @returns {Promise<T>}
 */
export function runUnder(acquired, fn) {
  return acquired.then((/** @type {any} */ guard) => {
    let isLater;
    try {
      const result = /** @type {any} */ (fn(guard));
      isLater = result?.then;
      return isLater ? releaseAfter(result, guard) : result;
    } finally {
      if (!isLater) guard[dispose]();
    }
  });
}

/**
 * @param {PromiseLike<unknown>} result
 * @param {any} guard
 */
async function releaseAfter(result, guard) {
  try {
    return await result;
  } finally {
    guard[dispose]();
  }
}

/**
 * @internal
 * @param {boolean} held
 * @param {() => void} unlock
 */
export function guardOf(held, unlock) {
  if (!held) throw new TimeoutError('timed out');
  return new Guard(unlock);
}
