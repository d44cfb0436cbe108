/// <reference lib="esnext.disposable" preserve="true" />
/** A mutex of a region in one engine: region.js. Its words are those of core/robust.h. */

import { self } from './agent.js';
import { lockBlocking } from './blocking.js';
import {
  LW_DEADLOCK,
  LW_DONE,
  LW_GAVE_UP,
  LW_ROBUST_ABANDONED,
  LW_ROBUST_OWNER_DIED,
} from './core/constants.js';
import {
  mutexFree,
  mutexLockStep,
  mutexOwner,
  mutexTake,
  mutexTryStep,
  mutexUnlockStep,
} from './core/mutex.js';
import { DeadlockError, OwnershipError, TimeoutError } from './errors.js';
import { RegionGuard, runGuarded } from './region-guard.js';
import { isDone } from './limits.js';
import { handOver } from './line.js';
import { timeoutToBlock } from './options.js';
import { AbandonedError } from './region-errors.js';
import { robustDecide, robustFate, robustUnlock } from './core/robust.js';
import { enqueue } from './turn.js';

/** @typedef {import('./options.js').WaitOptions} WaitOptions */

/** The words of a record from its mutex on, which only the mutex's holder writes. */
const ACQUISITIONS = 4;
const CONTENDED = 5;

/**
 * A mutex of a region. It has at most one holder: an agent, that is a thread.
 *
 * If its holder ends and is watched, the mutex becomes free, and the next holder is told:
 * `ownerDied`. What the mutex guards may be half written then. The holder mends it, and declares it
 * sound by `unlock`; or it calls `abandon`, and nobody gets the mutex until a `reset`.
 *
 * Made by `region.mutex(name)`. Other threads call that, too: there is nothing to post to them.
 */
export class RegionMutex {
  /** @type {import('./region.js').Region} */
  #region;
  #words;

  /** @readonly Its name in the region. */
  name;

  /**
   * @internal
   * @param {import('./region.js').Region} region
   * @param {string} name
   * @param {import('./wait.js').Words} words
   */
  constructor(region, name, words) {
    this.#region = region;
    this.#words = words;
    this.name = name;
  }

  /** Whether an agent holds it. The answer may be old when you read it. */
  get isLocked() {
    return mutexOwner(this.#words) !== 0;
  }

  /** Whether this agent holds it, in whichever of its tasks. */
  get isMine() {
    return mutexOwner(this.#words) === self;
  }

  /**
   * Whether this agent holds it, and a holder has died, and none has unlocked the mutex since: what
   * it guards may be half written.
   */
  get ownerDied() {
    return this.isMine && this.isTold;
  }

  /** @internal */
  get isTold() {
    return (robustFate(this.#words) & LW_ROBUST_OWNER_DIED) !== 0;
  }

  /**
   * Takes the mutex, blocking this thread until it gets it. Look at `ownerDied` then.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} this agent holds it already
   * @throws {AbandonedError} a holder has abandoned it
   * @throws {ClosedError} this thread has not joined the region, or has closed it
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  lock(options) {
    return this.#lock(options, 'lock', this.#accept);
  }

  /**
   * Takes the mutex without ever blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort, and
   *   with what `lock` throws
   */
  lockAsync(options) {
    return this.#ask(options, isDone, this.#accept);
  }

  /**
   * Takes the mutex if it is free. Never waits, and never queues.
   *
   * @returns {boolean} false: an agent holds it, perhaps this one
   * @throws {AbandonedError} a holder has abandoned it
   * @throws {ClosedError} this thread has not joined the region, or has closed it
   */
  tryLock() {
    this.#region.assertJoined();
    return mutexTryStep(this.#words, self) && this.#accept();
  }

  /**
   * Frees the mutex, and declares that what it guards is sound. Never waits.
   *
   * @throws {OwnershipError} this agent does not hold it
   */
  unlock() {
    if (!(robustFate(this.#words) & LW_ROBUST_OWNER_DIED) && mutexFree(this.#words, self))
      handOver(this.#words);
    else if (!robustUnlock(this.#words, self)) throw new OwnershipError('not held by this thread');
  }

  /**
   * Frees the mutex, and declares that what it guards is lost: nobody gets the mutex from now on,
   * before `reset`.
   *
   * @throws {OwnershipError} this agent does not hold it
   */
  abandon() {
    this.condemn();
    this.unlock();
  }

  /**
   * Declares that what it guards is lost, if this agent holds it.
   *
   * @internal
   */
  condemn() {
    if (this.isMine)
      robustDecide(
        this.#words,
        (robustFate(this.#words) & ~LW_ROBUST_OWNER_DIED) | LW_ROBUST_ABANDONED,
      );
  }

  /**
   * Takes an abandoned mutex, blocking this thread until it gets it, so that the caller can make
   * anew what the mutex guards. `unlock` makes known that this is done.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} true: held, and no longer abandoned; false: not held, since it was not
   *   abandoned, or the time was up
   * @throws {DeadlockError} this agent holds it already
   * @throws {ClosedError} this thread has not joined the region, or has closed it
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   */
  reset(options) {
    return this.#lock(options, 'reset', this.#renew);
  }

  /**
   * `reset`, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} what `reset` returns; rejects with `signal.reason` on abort, and
   *   with what `reset` throws
   */
  resetAsync(options) {
    return this.#ask(options, isDone, this.#renew);
  }

  /**
   * `lock`, as a guard: `using guard = mutex.acquire()`.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {RegionGuard}
   * @throws {TimeoutError} the time was up; and what `lock` throws
   */
  acquire(options) {
    return this.#guard(this.#lock(options, 'acquire', this.#accept));
  }

  /**
   * `lockAsync`, as a guard: `using guard = await mutex.acquireAsync()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<RegionGuard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  acquireAsync(options) {
    return this.#ask(options, (answer) => this.#guard(isDone(answer)), this.#accept);
  }

  /**
   * Calls `fn` under the lock, and releases it when what `fn` returns has settled, or when it
   * throws. If it throws after a holder had died, then nobody has declared the data sound, and the
   * next holder is told, too.
   *
   * @template T
   * @param {(guard: RegionGuard) => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] of the lock: ms, or options; rejects with
   *   `signal.reason` on abort
   * @returns {Promise<T>} what `fn` returns
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  runExclusive(fn, options) {
    return runGuarded(this.acquireAsync(options), fn, (died) =>
      died ? this.leave() : this.unlock(),
    );
  }

  /** What is known of it: who holds it, and how it has been used. */
  describe() {
    return /** @type {import('./region.js').Description} */ (this.#region.describe(this.name));
  }

  /** Its state in words, which console.log shows, too. */
  toString() {
    const { holder, state, held } = this.describe();
    const say = [holder ? `held by ${holder.name || `agent ${holder.id.toString(16)}`}` : 'free'];
    if (held) say[0] = `${held} read`;
    if (state !== 'sound') say.push(state === 'abandoned' ? 'abandoned' : 'a holder has died');
    return `RegionMutex '${this.name}' { ${say.join(', ')} }`;
  }

  [Symbol.for('nodejs.util.inspect.custom')]() {
    return this.toString();
  }

  /**
   * @param {number | WaitOptions | undefined} options
   * @param {string} call what the user called
   * @param {() => boolean} accept
   */
  #lock(options, call, accept) {
    const timeout = timeoutToBlock(options, call);
    this.#region.assertJoined();
    if (!mutexTake(this.#words, self)) {
      const what = lockBlocking(this.#words, self, timeout);
      if (what === LW_DEADLOCK) throw new DeadlockError('held by this thread already');
      if (what !== LW_DONE) return false;
      this.#words[CONTENDED]++;
    }
    return accept.call(this);
  }

  /**
   * @param {number | WaitOptions | undefined} options
   * @param {(answer: { what: number }) => any} toValue
   * @param {() => boolean} accept
   * @returns {Promise<any>}
   */
  async #ask(options, toValue, accept) {
    this.#region.assertJoined();
    return enqueue(mutexLockStep, this.#words, options, ({ what }) => {
      this.#region.assertJoined();
      return toValue({ what: what === LW_DONE && !accept.call(this) ? LW_GAVE_UP : what });
    });
  }

  /**
   * Frees the mutex, and says nothing of what it guards.
   *
   * @internal
   */
  leave() {
    if (!mutexUnlockStep(this.#words, self)) throw new OwnershipError('not held by this thread');
  }

  /** The mutex is held: keeps it, unless it is abandoned. */
  #accept() {
    if (robustFate(this.#words) & LW_ROBUST_ABANDONED) {
      this.leave();
      throw new AbandonedError(`a holder has abandoned what '${this.name}' guards`);
    }
    this.#words[ACQUISITIONS]++;
    return true;
  }

  /** The same for a reset. From here on a death of the holder is told, too. */
  #renew() {
    const fate = robustFate(this.#words);
    if (fate & LW_ROBUST_ABANDONED)
      robustDecide(this.#words, (fate & ~LW_ROBUST_ABANDONED) | LW_ROBUST_OWNER_DIED);
    else this.leave();
    return (fate & LW_ROBUST_ABANDONED) !== 0;
  }

  /** @param {boolean} held */
  #guard(held) {
    if (!held) throw new TimeoutError('timed out');
    return new RegionGuard(this, this.ownerDied);
  }
}
