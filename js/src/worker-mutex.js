/**
 * `lockword/worker-mutex`: the interface of npm's package worker-mutex, on lockword's recursive
 * mutex. Programs for that package run on this one with the import changed. It shares its words
 * with `lw_rmutex` in C and with RecursiveMutex: a holder by one of them excludes the others.
 *
 * In that package a mutex has other words, and three of them: all threads must use the same
 * package, and its `createSharedBuffer`.
 *
 * The word that is exchanged holds the owner as `threadId + 1`. A thread knows its own id from the
 * start, and those of its workers, so it can tell from a word what a dead worker held. No two
 * threads of a process have the same id. None is 0, which means free. None is the id of an agent of
 * lockword's other classes, which all have bit 28 set. A program that imports this file and
 * requires its CommonJS twin is still one thread.
 */

import { threadId } from 'node:worker_threads';

import { LW_DONE, LW_REENTRY_OVERFLOW, LW_REENTRY_YES, LW_RMUTEX_WORDS } from './core/constants.js';
import { mutexBuryStep, mutexLockStep, mutexOwner } from './core/mutex.js';
import { rmutexEnteredStep, rmutexFree, rmutexReenterStep, rmutexFreeStep } from './core/rmutex.js';
import { self } from './agent.js';
import { block } from './blocking.js';
import { handOver } from './line.js';
import { enqueue } from './turn.js';

/**
 * @typedef {object} WorkerMutexOptions
 * @property {SharedArrayBuffer} [handle] made by `createSharedBuffer`
 * @property {SharedArrayBuffer} [sharedBuffer] the same, as the package's versions 1.0.2 and 1.0.3
 *   call it
 * @property {number} [index] which of its mutexes; 0 by default
 *
 * @typedef {object} WorkerLike a Worker of node:worker_threads
 * @property {number} threadId
 * @property {(event: 'exit', listener: () => void) => unknown} once
 * @property {(event: 'exit', listener: () => void) => unknown} [removeListener]
 * @property {number | null} [exitCode] a number once it has ended, where it is told
 */

/** The globals that only some runtimes have. */
const { process, WorkerGlobalScope } = /** @type {any} */ (globalThis);

const BYTES = 4 * LW_RMUTEX_WORDS;
const MAX_COUNT = Math.floor(Number.MAX_SAFE_INTEGER / BYTES);

/** @param {number} id */
const ownerOf = (id) => id + 1;

/**
 * This thread's id. Deno gives all its web workers the id 0: there each is an agent of its own, as
 * in the rest of lockword.
 */
const me = threadId === 0 && WorkerGlobalScope ? self : ownerOf(threadId);

let hasWarned = false;

/** As in the package, the first blocking call warns, whether or not it has to wait. */
function warnOnMainThread() {
  if (hasWarned || me !== ownerOf(0)) return;
  hasWarned = true;
  process.emitWarning('WORKER_MUTEX_LOCK_ON_MAIN_THREAD_BLOCKS_EVENT_LOOP');
}

/** What this file throws. The message is the code, too. */
export class WorkerMutexError extends Error {
  name = 'WorkerMutexError';

  /** @param {string} code */
  constructor(code) {
    super(code);
    this.code = code;
  }
}

/**
 * A mutex that threads share, and that a thread may take again. It belongs to the thread, not to a
 * task of it: a thread that holds the mutex gets it again at once, by `lock` and by `lockAsync`,
 * and must unlock it as often. So tasks of one thread that `lockAsync` do NOT exclude each other
 * while it is held. For that, use lockword's Mutex or RecursiveMutex.
 */
export class WorkerMutex {
  #words;
  #index;

  /**
   * Makes memory for new mutexes.
   *
   * @param {number} [count] how many
   * @returns {SharedArrayBuffer}
   */
  static createSharedBuffer(count = 1) {
    assert(Number.isSafeInteger(count) && count > 0, 'COUNT_MUST_BE_A_POSITIVE_SAFE_INTEGER');
    assert(count <= MAX_COUNT, 'COUNT_EXCEEDS_MAX_SUPPORTED_VALUE');
    return new SharedArrayBuffer(BYTES * count);
  }

  /**
   * From now on, the mutexes of this buffer that the worker holds when it ends, however it ends,
   * are released then, and their waiters go on. The data that a mutex guards may be half changed:
   * the program has to know.
   *
   * It needs the event loop of the thread that calls this: a thread that blocks in `lock` never
   * hears that the holder died. Call it before the worker can have ended. In Deno, `terminate`
   * reports the end of a worker that may still run for some hundred ms.
   *
   * @param {WorkerLike} worker
   * @param {SharedArrayBuffer} sharedBuffer
   * @returns {() => void} undoes it
   */
  static bindWorkerExit(worker, sharedBuffer) {
    assert(typeof worker?.once === 'function', 'WORKER_INSTANCE_MUST_SUPPORT_EXIT_EVENT');
    // A worker that has ended does not know its id any more, so ask it now.
    const { threadId } = worker;
    assert(threadId !== -1 && typeof worker.exitCode !== 'number', 'WORKER_IS_ALREADY_EXITED');
    assert(
      Number.isSafeInteger(threadId) && threadId > 0,
      'WORKER_THREAD_ID_MUST_BE_A_POSITIVE_INTEGER',
    );
    assertShared(sharedBuffer);
    const count = sharedBuffer.byteLength / BYTES;
    assert(Number.isInteger(count) && count > 0, 'MUTEX_BUFFER_SIZE_MUST_MATCH_SINGLE_MUTEX');

    // The worker's thread has stopped by then: it makes no step any more. How deep it was does not
    // matter, for the next holder writes the depth.
    let isBound = true;
    const release = () => {
      if (!isBound) return;
      for (let index = 0; index < count; index++)
        mutexBuryStep(wordsAt(sharedBuffer, index), ownerOf(threadId));
    };
    worker.once('exit', release);
    return () => {
      isBound = false;
      worker.removeListener?.('exit', release);
    };
  }

  /**
   * Attaches to a mutex.
   *
   * @param {WorkerMutexOptions | SharedArrayBuffer} options or the buffer of a single mutex
   */
  constructor(options) {
    if (isShared(options)) {
      assert(options.byteLength === BYTES, 'MUTEX_BUFFER_SIZE_MUST_MATCH_SINGLE_MUTEX');
      options = { handle: options };
    }
    const handle = options?.handle ?? options?.sharedBuffer;
    const index = options?.index ?? 0;
    assert(Number.isSafeInteger(index) && index >= 0, 'VALUE_MUST_BE_AN_UNSIGNED_INTEGER');
    assertShared(handle);
    assert(handle.byteLength % 4 === 0, 'HANDLE_BYTE_LENGTH_IS_NOT_INT32_ALIGNED');
    assert((index + 1) * BYTES <= handle.byteLength, 'MUTEX_INDEX_OUT_OF_RANGE');
    this.#words = wordsAt(handle, index);
    this.#index = index;
  }

  /** The memory that it lives in. */
  get buffer() {
    return this.#words.buffer;
  }

  /** The same. */
  get sharedBuffer() {
    return this.#words.buffer;
  }

  /** Which of the buffer's mutexes it is. */
  get index() {
    return this.#index;
  }

  /** Takes the mutex, or takes it again, blocking this thread until it gets it. */
  lock() {
    warnOnMainThread();
    if (!reenter(this.#words)) block(lockStep, this.#words, me, Infinity);
  }

  /**
   * The same, without blocking. Calls that have to wait are served in order, each when the one
   * before it has unlocked.
   */
  async lockAsync() {
    if (!reenter(this.#words)) await enqueue(lockStep, this.#words);
  }

  /** Unlocks it once. */
  unlock() {
    if (rmutexFree(this.#words, me)) return handOver(this.#words);
    if (rmutexFreeStep(this.#words, me)) return;
    assert(mutexOwner(this.#words) === me, 'MUTEX_IS_NOT_OWNED_BY_CURRENT_THREAD');
    throw new WorkerMutexError('MUTEX_RECURSION_COUNT_UNDERFLOW');
  }
}

/**
 * @param {boolean} condition
 * @param {string} code
 * @returns {asserts condition}
 */
function assert(condition, code) {
  if (!condition) throw new WorkerMutexError(code);
}

/**
 * @param {any} buffer perhaps of another realm, whose SharedArrayBuffer is another class
 * @returns {buffer is SharedArrayBuffer}
 */
function isShared(buffer) {
  return buffer?.[Symbol.toStringTag] === 'SharedArrayBuffer';
}

/**
 * @param {unknown} buffer
 * @returns {asserts buffer is SharedArrayBuffer}
 */
function assertShared(buffer) {
  assert(isShared(buffer), 'HANDLE_MUST_BE_A_SHARED_ARRAY_BUFFER');
}

/**
 * @param {SharedArrayBuffer} buffer
 * @param {number} index
 * @returns {import('./wait.js').Words}
 */
function wordsAt(buffer, index) {
  return new Int32Array(buffer, BYTES * index, LW_RMUTEX_WORDS);
}

/**
 * Takes the mutex once more if this thread holds it.
 *
 * @param {import('./wait.js').Words} words
 * @returns {boolean} false: this thread does not hold it
 */
function reenter(words) {
  const reentry = rmutexReenterStep(words, me);
  if (reentry === LW_REENTRY_YES) return true;
  assert(reentry !== LW_REENTRY_OVERFLOW, 'MUTEX_RECURSION_COUNT_OVERFLOW');
  // Nobody takes it in this thread's name for a task alone: somebody has spoilt the words.
  assert(mutexOwner(words) !== me, 'MUTEX_RECURSION_COUNT_UNDERFLOW');
  return false;
}

/**
 * The step of a thread that does not hold it yet. In the same moment it stores how often the mutex
 * is held.
 *
 * @type {import('./blocking.js').Step}
 */
function lockStep(words, _, why, phase) {
  const answer = mutexLockStep(words, me, why, phase);
  if (answer.what === LW_DONE) rmutexEnteredStep(words, me, 0);
  return answer;
}
