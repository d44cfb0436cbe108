/** A condition of a region. */

import { Condition } from '../../../js/src/condition.js';
import { LW_COND_WAITERS, LW_WAITERS_GATE } from '../../../js/src/core/constants.js';
import { notify } from './wait.js';

/**
 * @typedef {import('lockword').WaitOptions} WaitOptions
 * @typedef {import('./mutex.js').RegionMutex} RegionMutex
 * @typedef {import('./rmutex.js').RegionRecursiveMutex} RegionRecursiveMutex
 * @typedef {import('./rmutex.js').RegionTaskGuard} RegionTaskGuard
 *
 * @typedef {object} OnMutexes the waits, with the mutexes of a region. A wait unlocks the mutex, and
 *   so declares that what it guards is sound. It throws an AbandonedError if another holder has
 *   abandoned the mutex meanwhile, a RemovedError if its name was removed, and a ClosedError if this
 *   thread has closed the region: then the mutex is not held
 * @property {(mutex: RegionMutex | RegionRecursiveMutex, options?: number | WaitOptions) => boolean}
 *   wait
 * @property {(
 *   mutex: RegionMutex | RegionTaskGuard,
 *   options?: number | WaitOptions,
 * ) => Promise<boolean>} waitAsync
 * @property {(
 *   mutex: RegionMutex | RegionRecursiveMutex,
 *   predicate: () => boolean,
 *   options?: number | WaitOptions,
 * ) => boolean} waitFor
 * @property {(
 *   mutex: RegionMutex | RegionTaskGuard,
 *   predicate: () => boolean,
 *   options?: number | WaitOptions,
 * ) => Promise<boolean>} waitForAsync
 *
 * @typedef {Omit<Condition, keyof OnMutexes> & OnMutexes} ConditionOfRegion
 */

/**
 * Threads sleep at the condition's word, in the kernel. Event loops learn of a notify by the
 * region's bell, all of them.
 *
 * When a wait ends, it locks the mutex again, by the mutex's own `lock` or `lockAsync`, and throws
 * what that throws. Before, it has called `unlock`.
 */
export class RegionCondition extends Condition {
  /** @param {number} [n] */
  notify(n) {
    return this.#ring(() => super.notify(n));
  }

  notifyAll() {
    return this.#ring(() => super.notifyAll());
  }

  /** @param {() => number} tell */
  #ring(tell) {
    const { words } = this;
    const waiters = Atomics.load(words, LW_COND_WAITERS);
    const found = tell();
    if (waiters) notify(words, LW_WAITERS_GATE, 0);
    return found;
  }
}
