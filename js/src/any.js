/**
 * Waits for the first of several things: the same as lw_wait_any in C (include/lockword/any.h),
 * without blocking.
 */

import { LW_CANCELLED, LW_DONE } from './core/constants.js';
import { begin } from './limits.js';
import { run, withdraw } from './line.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 */

/**
 * Waits for one of several things. Only the source whose index is returned happens: a permit is
 * acquired, or an automatic event reset, for that source alone. Of sources that are ready at the
 * call, the first is returned; of those that become ready later, the one that this thread notices
 * first. No waiter stays behind at the others. A source that waits for several permits claims them
 * until the wait ends. So take one source of each semaphore: beside another one, its claim may keep
 * the wait itself from a free permit.
 *
 * A source stands for one wait, from the call on that made it: make new ones for each `waitAny`, as
 * in a loop. One of an event that was set and reset since then is ready at once.
 *
 *     switch (await waitAny([stop.when(), jobs.when(1), size.whenAtLeast(100)], 500)) { … }
 *
 * @param {readonly WaitSource[]} sources what `when` of events, semaphores, permits, wait groups and
 *   latches returns, and `whenAtLeast` and `whenAtMost` of counters
 * @param {number | WaitOptions} [options] ms, or options
 * @returns {Promise<number>} its index; -1: the time was up; rejects with `signal.reason` on abort,
 *   with a RangeError if there are none, and with a TypeError, before anything is touched, if one
 *   of them is something else
 */
export function waitAny(sources, options) {
  return new Promise((resolve) => {
    // The user may change the array meanwhile.
    sources = [...sources];
    let waiting = sources.length;
    if (!waiting) throw new RangeError('nothing to wait for');
    /** @type {any[]} One for each source, once its wait has begun; [] would have room for 17. */
    const callers = Array(waiting);
    sources.forEach((/** @type {any} */ source, index) => {
      if (!source?.step)
        throw new TypeError(`sources[${index}]: write .when(), .whenAtLeast() or .whenAtMost()`);
    });
    /** @type {import('./line.js').Caller['toValue']} */
    const toValue = (answer, _, caller) => {
      // A caller that gives up leaves the others their last attempt.
      if (answer.what !== LW_DONE) return --waiting === 0 ? -1 : undefined;
      const index = callers.indexOf(caller);
      /** @type {any} */ (sources)[index].take?.(answer);
      return index;
    };
    // The steps of the others are not run, since these might take what they wanted, too. A caller
    // that remembers something is cancelled: it may have claimed what it waits for.
    /** @param {unknown} value */
    const end = (value) => {
      if (value === undefined || waiting < 0) return;
      resolve(/** @type {any} */ (value));
      waiting = -1;
      for (const caller of callers)
        if (caller?.queue) caller.phase ? run(caller, LW_CANCELLED) : withdraw(caller);
    };
    try {
      // None queues later: what a source claims is claimed when this function returns. A copy, since
      // its getters may throw; and a source has no options.
      sources.forEach((/** @type {any} */ source, k) => {
        if (waiting > 0)
          begin(
            end,
            { ...source, names: undefined },
            options,
            toValue,
            source.giveUp,
            (caller, { words, all }) => source.start((callers[k] = caller), { words, all }),
          );
      });
    } catch (error) {
      end(Promise.reject(error));
    }
  });
}
