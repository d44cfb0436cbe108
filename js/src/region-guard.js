/// <reference lib="esnext.disposable" preserve="true" />
/**
 * What the locks of regions give, here and in lockword-region. Apart from guard.js, since bundlers
 * keep a class that has a computed name.
 */

import { OwnershipError } from './errors.js';
import { dispose } from './guard.js';

/**
 * A lock of a region that is held, as a value that releases it: `using guard = mutex.acquire()`, or
 * `using guard = await mutex.acquireAsync()`.
 */
export class RegionGuard {
  /** @type {{ unlock(): void, abandon?: (() => void) | undefined } | undefined} */
  #lock;

  /**
   * @readonly Whether a holder has died, and none has unlocked since: what the lock guards may be
   *   half written.
   */
  ownerDied;

  /**
   * @internal
   * @param {{ unlock(): void, abandon?: (() => void) | undefined }} lock a reader's cannot be
   *   abandoned
   * @param {boolean} ownerDied
   */
  constructor(lock, ownerDied) {
    this.#lock = lock;
    this.ownerDied = ownerDied;
  }

  /**
   * Releases the lock, the first time, and declares that what it guards is sound. Further calls do
   * nothing. A reader's guard declares nothing.
   *
   * @throws {OwnershipError} it was released by other means, such as `mutex.unlock()`
   */
  unlock() {
    const lock = this.#lock;
    this.end(() => lock?.unlock());
  }

  /**
   * Releases the lock, the first time, and declares that what it guards is lost.
   *
   * @throws {OwnershipError} it was released by other means; or it is held for reading, and still
   *   is
   */
  abandon() {
    const lock = this.#lock;
    if (lock && !lock.abandon) throw new OwnershipError('held for reading');
    this.end(() => lock?.abandon?.());
  }

  /** The same as `unlock()`, called at the end of a `using` block. */
  [dispose]() {
    this.unlock();
  }

  /**
   * @internal
   * @param {(ownerDied: boolean) => void} release
   */
  end(release) {
    if (!this.#lock) return;
    this.#lock = undefined;
    release(this.ownerDied);
  }
}

/**
 * Calls `fn` with the guard, and releases when what `fn` returns has settled. If `fn` throws,
 * `failed` releases instead.
 *
 * @internal
 * @template T
 * @template {{ end(release: (ownerDied: boolean) => void): void, unlock(): void }} G
 * @param {Promise<G>} acquired the guard
 * @param {(guard: G) => T | PromiseLike<T>} fn
 * @param {(ownerDied: boolean) => void} failed
 * @returns {Promise<T>}
 */
export async function runGuarded(acquired, fn, failed) {
  const guard = await acquired;
  let result;
  try {
    result = await fn(guard);
  } catch (error) {
    try {
      guard.end(failed);
    } catch {
      // It is not held any more. What `fn` threw says more.
    }
    throw error;
  }
  /** @type {any} */ (guard)[dispose]();
  return result;
}
