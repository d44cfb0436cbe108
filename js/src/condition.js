/**
 * Waits until a condition that a mutex guards becomes true: the same as lw_cond in C
 * (include/lockword/cond.h).
 */

import { condEnterStep, condNotifyStep, condWaitStep } from './core/cond.js';
import {
  LW_ALL,
  LW_CANCELLED,
  LW_COND_SEQUENCE,
  LW_DONE,
  LW_QUEUED,
  LW_SLICE,
  LW_START,
  LW_TIMED_OUT,
  LW_WAIT,
} from './core/constants.js';
import { SLICE } from './awake.js';
import { block } from './blocking.js';
import { OwnershipError } from './errors.js';
import { begin, checked } from './limits.js';
import { timeoutToBlock } from './options.js';
import { Primitive } from './primitive.js';
import { clearInterval, notify, setInterval, waitAsync } from './wait.js';
import { assertInteger, remaining, saidBy } from './waiting.js';

/**
 * @typedef {import('./mutex.js').Mutex} Mutex
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./rmutex.js').RecursiveMutex} RecursiveMutex
 * @typedef {import('./rmutex.js').TaskGuard} TaskGuard
 */

/**
 * A condition. To wait, hold the mutex. A wait gives the mutex up in such a way that no notify in
 * between is missed. The mutex is held again when the wait ends, whether by a notify, its timeout
 * or an abort; only that of a region may be lost meanwhile, and then the wait throws. Check the
 * condition in a loop, or let `waitFor` do it: wake-ups may be spurious.
 *
 * Waiters are woken in the order in which they came, or last re-checked, which blocked threads do
 * once a second. The next holder of the mutex sees what was written under it; a notify publishes
 * nothing by itself.
 *
 * Illegal: to wait on a condition with one mutex while other waiters use another mutex. This throws
 * no error, and damages no word, but wake-ups are lost: the holder of the other mutex can make the
 * predicate true, and notify, after a waiter has looked at it and before it has begun to wait. That
 * waiter sleeps until the next notify, or for ever. Once no waiter is left, the next one may use
 * another mutex.
 *
 * @extends {Primitive<'Condition'>}
 */
export class Condition extends Primitive {
  static BYTE_LENGTH = 8;
  /** @readonly @type {'Condition'} */
  static type = 'Condition';

  /**
   * Blocks until notified.
   *
   * @param {Mutex | RecursiveMutex} mutex held by this agent; a recursive one is given up whole
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {OwnershipError} this agent does not hold the mutex
   * @throws {AbandonedError} another holder has abandoned the region's mutex: it is not held
   * @throws {ClosedError} this thread has closed the mutex's region: it is not held
   * @throws {DeadlockError} a task of this thread holds the recursive mutex
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  wait(mutex, options) {
    const timeout = timeoutToBlock(options, 'wait');
    const [sequence, depth] = this.#enter(mutex, false);
    try {
      return block(condWaitStep, this.words, sequence, timeout).what === LW_DONE;
    } finally {
      for (let i = depth; i--;) mutex.lock();
    }
  }

  /**
   * Waits until notified, without blocking. The wait takes the mutex again whenever it ends. If its
   * promise is dropped, as that of the loser of a Promise.race, it keeps the mutex for good. Use
   * `timeout` and `signal`.
   *
   * @param {Mutex | TaskGuard} mutex held by this agent; of a recursive one, the guard of the task
   *   that holds it, which gives it up whole
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort, when
   *   the mutex is held again
   * @throws {OwnershipError} this agent, or the guard, does not hold the mutex
   * @throws {AbandonedError} another holder has abandoned the region's mutex: it is not held
   * @throws {ClosedError} this thread has closed the mutex's region: it is not held
   */
  waitAsync(mutex, options) {
    return new Promise((resolve) => {
      // Not once the mutex has been given up: then it is too late for what options throw.
      const limits = checked(options);
      const { words } = this;
      let [wanted, depth] = this.#enter(mutex, true);
      /** @type {import('./line.js').Caller['toValue']} */
      const toValue = ({ phase }, _, { signal }) =>
        mutex.lockAsync().then(() => {
          while (--depth) mutex.lock();
          if (phase === LW_CANCELLED) throw signal.reason;
          return !phase;
        });
      begin(resolve, { step: condWaitStep, words, wanted }, limits, toValue, look, start);
    });
  }

  /**
   * Blocks until the predicate is true. The predicate is called with the mutex held.
   *
   * @param {Mutex | RecursiveMutex} mutex held by this agent
   * @param {() => boolean} predicate not async
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up, and the predicate was not true
   * @throws {OwnershipError} this agent does not hold the mutex
   * @throws {AbandonedError} another holder has abandoned the region's mutex: it is not held
   * @throws {ClosedError} this thread has closed the mutex's region: it is not held
   * @throws {DeadlockError} a task of this thread holds the recursive mutex
   * @throws {TypeError} the predicate returned a promise
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  waitFor(mutex, predicate, options) {
    // Refuses to block also if the predicate is true: else it would only when it has to wait.
    const left = remaining(timeoutToBlock(options, 'waitFor'));
    assertMine(mutex, false);
    while (!saidBy(predicate())) if (!this.wait(mutex, left())) return saidBy(predicate());
    return true;
  }

  /**
   * The same, without blocking.
   *
   * @param {Mutex | TaskGuard} mutex held by this agent, or the guard of the task that holds it
   * @param {() => boolean} predicate not async
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up, and the predicate was not true; rejects
   *   with `signal.reason` on abort
   * @throws {OwnershipError} this agent, or the guard, does not hold the mutex
   * @throws {AbandonedError} another holder has abandoned the region's mutex: it is not held
   * @throws {ClosedError} this thread has closed the mutex's region: it is not held
   * @throws {TypeError} the predicate returned a promise
   */
  async waitForAsync(mutex, predicate, options) {
    const left = remaining(options);
    assertMine(mutex, true);
    while (!saidBy(predicate()))
      if (!(await this.waitAsync(mutex, left()))) return saidBy(predicate());
    return true;
  }

  /**
   * Wakes up to n waiters, or all, if a `waitAsync` has given up since the last notify. Best called
   * after the condition was made true under the mutex, and the mutex unlocked.
   *
   * @param {number} [n] 0 to 2^31 - 1
   * @returns {number} how many were found asleep, at most n: not those about to fall asleep, but
   *   perhaps some that gave up just before
   * @throws {RangeError} n is out of range
   */
  notify(n = 1) {
    assertInteger(n, 0, 0x7fffffff, 'n');
    return condNotifyStep(this.words, n);
  }

  /**
   * Wakes all waiters.
   *
   * @returns {number} how many were found asleep, as `notify`
   */
  notifyAll() {
    return condNotifyStep(this.words, LW_ALL);
  }

  /**
   * Counts a waiter, and gives up the mutex.
   *
   * @param {Mutex | RecursiveMutex | TaskGuard} mutex
   * @param {boolean} async
   * @returns {[sequence: number, depth: number]} the sequence to wait with, and how often the mutex
   *   was held
   */
  #enter(mutex, async) {
    assertMine(mutex, async);
    const recursive = 'depth' in mutex;
    // This throws if a task holds the mutex: then the thread may not give it up.
    if (recursive && 'acquire' in mutex) mutex.acquire().unlock();
    const depth = recursive ? mutex.depth : 1;
    const sequence = condEnterStep(this.words);
    for (let i = depth; i--;) mutex.unlock();
    return [sequence, depth];
  }
}

/**
 * @param {Mutex | RecursiveMutex | TaskGuard} mutex what a wait is to give up
 * @param {boolean} async
 */
function assertMine(mutex, async) {
  const { isMine, unlock } = mutex ?? {};
  // A read-write lock is mine, but has no such method.
  if (!unlock || isMine === undefined || ('depth' in mutex && 'acquire' in mutex === async))
    throw new TypeError(`pass the Mutex or the ${async ? 'TaskGuard' : 'RecursiveMutex'}`);
  if (!isMine) throw new OwnershipError('not held by this thread');
}

/**
 * The callers whose waits are pending. They may be many, so one timer re-checks for all.
 *
 * @type {Set<import('./line.js').Caller>}
 */
const waits = new Set();
/** @type {any} In a browser it is a number. */
let timer;

/**
 * It waits, but stands in no line. If its time is up, it is to give up before it has a wait.
 *
 * @param {import('./line.js').Caller} caller
 * @param {any} operation
 * @param {number} timeout
 */
function start(caller, { words }, timeout) {
  caller.line = caller.queue = words;
  if (timeout) look(caller, LW_START);
}

/**
 * Runs the step of a caller that waits for a notify. Each has a wait of its own at the sequence,
 * since each notify is for one waiter. A waiter that gives up leaves its wait behind, and its step
 * marks that. The caller's phase counts its waits: the step has none.
 *
 * @param {import('./line.js').Caller} caller
 * @param {number} why
 * @returns {unknown} whether it still waits
 */
function look(caller, why) {
  const { queue: words, wanted } = /** @type {any} */ (caller);
  if (!words) return;
  if (why === LW_SLICE) {
    if (words[LW_COND_SEQUENCE] === wanted) return true;
    // Other waiters were notified. That ends this wait, too, and leaves the engine's behind.
    why = LW_TIMED_OUT;
  }
  const { what } = condWaitStep(words, wanted, caller.phase ? why | LW_QUEUED : why, 0);
  if (what < LW_WAIT) {
    caller.queue = undefined;
    // The phase: why it gave up, or 0.
    caller.settle(caller, /** @type {any} */ ({ what: LW_DONE, phase: what && why }));
  } else {
    if (waits.size === 0) {
      timer = setInterval(
        () =>
          waits.forEach(
            (/** @type {any} */ caller) =>
              look(caller, LW_SLICE) || notify(caller.line, LW_COND_SEQUENCE),
          ),
        SLICE,
      );
      timer.unref?.();
    }
    waits.add(caller);
    waitAsync(words, LW_COND_SEQUENCE, wanted, caller.phase++, ended, caller);
  }
}

/**
 * The wait has ended; or, with LW_SLICE, it goes on, and somebody else re-checks.
 *
 * @param {number} why
 * @param {import('./line.js').Caller} caller
 */
function ended(why, caller) {
  waits.delete(caller);
  if (waits.size === 0) clearInterval(timer);
  return look(caller, why);
}
