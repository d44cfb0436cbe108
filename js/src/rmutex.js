/**
 * A mutex that its holder may take again: the same as lw_rmutex in C (include/lockword/rmutex.h).
 */

import {
  LW_DEADLOCK,
  LW_DONE,
  LW_REENTRY_NO,
  LW_REENTRY_OVERFLOW,
  LW_RMUTEX_DEPTH,
  LW_RMUTEX_TASK,
} from './core/constants.js';
import { mutexLockStep, mutexOwner, mutexTryStep } from './core/mutex.js';
import {
  rmutexDepth,
  rmutexEnteredStep,
  rmutexFree,
  rmutexReenterStep,
  rmutexTake,
  rmutexFreeStep,
} from './core/rmutex.js';
import { self, unchecked } from './agent.js';
import { DeadlockError, OwnershipError, TimeoutError } from './errors.js';
import { dispose, guardOf, runUnder } from './guard.js';
import { timeoutToBlock } from './options.js';
import { checked, pending } from './limits.js';
import { Primitive } from './primitive.js';
import { lockBlocking } from './blocking.js';
import { handOver } from './line.js';
import { enqueue } from './turn.js';

/** @typedef {import('./options.js').WaitOptions} WaitOptions */

/** What holds it for a task of this agent. */
const TASK = self | LW_RMUTEX_TASK;

/**
 * A recursive mutex. The blocking form, `lock`, re-enters by thread: code that holds it may call
 * code that locks it.
 *
 * Tasks of an event loop are not threads: two of them do NOT share it. `lockAsync` gives one task a
 * guard. Only that guard can take the mutex again, by `guard.lock()`, or wait at a condition. While
 * a task holds the mutex, `lock` by the task's own thread throws a DeadlockError.
 *
 * @extends {Primitive<'RecursiveMutex'>}
 */
export class RecursiveMutex extends Primitive {
  static BYTE_LENGTH = 16;
  /** @readonly @type {'RecursiveMutex'} */
  static type = 'RecursiveMutex';

  /** Whether an agent holds it. The answer may be old when you read it. */
  get isLocked() {
    return mutexOwner(this.words) !== 0;
  }

  /** Whether this agent holds it, as a thread or in a task. */
  get isMine() {
    return mutexOwner(this.words) === self;
  }

  /** How often its holder has taken it. */
  get depth() {
    return rmutexDepth(this.words) >>> 0;
  }

  /**
   * Takes it, or takes it again, blocking this thread until it gets it.
   *
   * @param {number | WaitOptions} [options] ms, or options; a signal is looked at once, before
   * @returns {boolean} false: the time was up
   * @throws {DeadlockError} a task of this thread holds it
   * @throws {BlockingError} this thread may not block: on a page's main thread, always
   * @throws {RangeError} it has been taken 2^31 times
   */
  lock(options) {
    if (options === unchecked && rmutexTake(this.words, self)) return true;
    return this.#lock(options, 'lock');
  }

  /**
   * @param {number | WaitOptions | undefined} options
   * @param {string} call what the user called
   */
  #lock(options, call) {
    const timeout = timeoutToBlock(options, call);
    if (take(this.words)) return true;
    const what = lockBlocking(this.words, self, timeout);
    if (what === LW_DEADLOCK) throw new DeadlockError('held by a task of this thread');
    if (what === LW_DONE) rmutexEnteredStep(this.words, self, 0);
    return what === LW_DONE;
  }

  /**
   * Takes it, or takes it again, if it need not wait for that.
   *
   * @returns {boolean} whether it did
   * @throws {RangeError} it has been taken 2^31 times
   */
  tryLock() {
    if (take(this.words)) return true;
    const taken = mutexTryStep(this.words, self);
    if (taken) rmutexEnteredStep(this.words, self, 0);
    return taken;
  }

  /**
   * Unlocks it once.
   *
   * @throws {OwnershipError} this thread does not hold it
   */
  unlock() {
    unlock(this.words, self);
  }

  /**
   * Takes it for one task, without blocking.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<TaskGuard | undefined>} undefined: the time was up; rejects with
   *   `signal.reason` on abort
   */
  lockAsync(options) {
    return enqueue(lockTask, this.words, options, ({ what }) =>
      what === LW_DONE ? new TaskGuard(this.words) : undefined,
    );
  }

  /**
   * `lock`, as a guard: `using guard = mutex.acquire()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @throws {TimeoutError} the time was up; and what `lock` throws
   */
  acquire(options) {
    return guardOf(this.#lock(options, 'acquire'), () => this.unlock());
  }

  /**
   * `lockAsync`, with an error when the time is up: `using guard = await mutex.acquireAsync()`.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<TaskGuard>}
   * @throws {TimeoutError} the time was up; rejects with `signal.reason` on abort
   */
  acquireAsync(options) {
    return enqueue(lockTask, this.words, options, ({ what }) => {
      if (what !== LW_DONE) throw new TimeoutError('timed out');
      return new TaskGuard(this.words);
    });
  }

  /**
   * Calls `fn` with the guard, and releases it all when what `fn` returns has settled, or when it
   * throws.
   *
   * @template T
   * @param {(guard: TaskGuard) => T | PromiseLike<T>} fn
   * @param {number | WaitOptions} [options] of the lock: ms, or options; rejects with
   *   `signal.reason` on abort
   * @returns {Promise<T>} what `fn` returns
   * @throws {TimeoutError} the time was up, and `fn` was not called
   */
  runExclusive(fn, options) {
    return runUnder(this.acquireAsync(options), fn);
  }
}

/**
 * A recursive mutex that one task holds: what its `lockAsync` and `acquireAsync` return. `using`
 * unlocks it.
 */
export class TaskGuard {
  #words;
  /** Whether the task holds it: the words say how often, but not which of this agent's tasks. */
  #isMine = true;
  #disposed = false;

  /**
   * @internal
   * @param {import('./wait.js').Words} words
   */
  constructor(words) {
    this.#words = words;
  }

  /** How often the task has taken it; 0: it has unlocked it. */
  get depth() {
    return this.#isMine ? this.#words[LW_RMUTEX_DEPTH] + 1 : 0;
  }

  /** Whether the task holds it. */
  get isMine() {
    return this.#isMine;
  }

  /**
   * Takes it again. Never waits.
   *
   * @throws {OwnershipError} the task has given it back
   * @throws {RangeError} it has been taken 2^31 times
   */
  lock() {
    if (!this.#isMine || !reenter(this.#words, TASK))
      throw new OwnershipError('not held by this task');
  }

  /**
   * Takes it again, or waits for it if the task has unlocked it. One call at a time: a second call
   * waits until the first one's lock is unlocked.
   *
   * @param {number | WaitOptions} [options] ms, or options
   * @returns {Promise<boolean>} false: the time was up; rejects with `signal.reason` on abort
   * @throws {OwnershipError} the task's block has ended, perhaps while this waited: nobody would
   *   give it back
   * @throws {RangeError} it has been taken 2^31 times
   */
  async lockAsync(options) {
    if (this.#isMine) {
      checked(options);
      this.lock();
      return true;
    }
    if (!(await enqueue(lockTask, this.#words, options))) return false;
    this.#isMine = true;
    if (this.#disposed) {
      this.unlock();
      this.lock(); // refused
    }
    return true;
  }

  /** Unlocks it once; does nothing if the task does not hold it any more. */
  unlock() {
    if (!this.#isMine) return;
    // Before the unlock: after the last one the depth is the next holder's.
    if (this.#words[LW_RMUTEX_DEPTH] === 0) this.#isMine = false;
    unlock(this.#words, TASK);
  }

  /** Unlocks it as often as the task took it, for good: at the end of a `using` block. */
  [dispose]() {
    this.#disposed = true;
    while (this.#isMine) this.unlock();
  }
}

/**
 * The step of a task that locks: says in the same moment that a task holds it, before anything else
 * of this thread can run and re-enter.
 *
 * @type {import('./blocking.js').Step}
 */
function lockTask(words, wanted, why, phase) {
  const answer = mutexLockStep(words, wanted, why, phase);
  if (answer.what === LW_DONE) rmutexEnteredStep(words, TASK, 0);
  return answer;
}

/**
 * Takes the mutex for this thread if it need not wait for that.
 *
 * @param {import('./wait.js').Words} words
 */
const take = (words) => rmutexTake(words, self) || reenter(words, self);

/**
 * @param {import('./wait.js').Words} words
 * @param {number} holder `self` or TASK
 * @returns {boolean}
 */
function reenter(words, holder) {
  const reentry = rmutexReenterStep(words, holder);
  if (reentry === LW_REENTRY_OVERFLOW) throw new RangeError('locked 2^31 times');
  return reentry !== LW_REENTRY_NO;
}

/**
 * @param {import('./wait.js').Words} words
 * @param {number} holder `self` or TASK
 */
function unlock(words, holder) {
  if (rmutexFree(words, holder)) {
    // Here, too: an engine inlines so much at most.
    if (pending.count) handOver(words);
  } else if (!rmutexFreeStep(words, holder)) throw new OwnershipError('not held by this thread');
}
