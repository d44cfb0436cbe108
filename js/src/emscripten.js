/**
 * What a wasm module imports whose C uses lockword/emscripten.h, which is the manual of these
 * functions.
 */

import { LW_DONE } from './core/constants.js';
import { Condition } from './condition.js';
import { DeadlockError, OwnershipError } from './errors.js';
import { Mutex } from './mutex.js';
import { Semaphore } from './semaphore.js';
import { waitFor } from './waiting.js';
import { imports as importsOfWasm } from './wasm.js';

/** ATOMICS_WAIT_OK and ATOMICS_WAIT_TIMED_OUT. */
const [OK, TIMED_OUT] = [0, 2];

/** Tokens are negative, and not those that Emscripten itself gives, which go down from 0. */
const FIRST_TOKEN = -0x80000000;

/** The misuse that C cannot return: enum misuse in src/wasm/emscripten.c. */
const MISUSES = [
  () => new DeadlockError('held by this worker already'),
  () => new OwnershipError('not held by this worker'),
  () => new RangeError('a number is negative, or beyond its limit'),
];

/**
 * Spread it into the imports of every instance, as with 'lockword/wasm', whose imports these
 * include. Callbacks are looked up in the instance's table, which the linker exports as
 * `__indirect_function_table` if told to `--export-table`.
 *
 *     const imported = { env: { memory }, ...imports(memory, () => exports.__indirect_function_table) };
 *     const { exports } = await WebAssembly.instantiate(module, imported);
 *
 * @param {{ readonly buffer: ArrayBufferLike, grow(pages: number): number }} memory the instance's
 *   WebAssembly.Memory, shared
 * @param {() => { get(index: number): any }} table returns the instance's WebAssembly.Table
 */
export function imports(memory, table) {
  /**
   * What can be cancelled, by token.
   *
   * @type {Map<number, { address: number, abort: () => void }>}
   */
  const pending = new Map();
  let nextToken = FIRST_TOKEN;
  const end = new AbortController();

  /**
   * Waits, beginning from the event loop, so that the caller may still use the lock, and then calls
   * back.
   *
   * @param {number} callback
   * @param {number} address
   * @param {number} userData
   * @param {number} ms
   * @param {(options: import('./options.js').WaitOptions) => Promise<number>} wait returns the
   *   callback's value; -1: the time is up
   */
  const later = (callback, address, userData, ms, wait) => {
    const deadline = performance.now() + limitOf(ms);
    const { signal } = end;
    setTimeout(() => {
      const waiting = wait({ timeout: Math.max(deadline - performance.now(), 0), signal });
      // Rejected if the program has ended.
      waiting.then(
        (value) => table().get(callback)(address, value, value < 0 ? TIMED_OUT : OK, userData),
        () => {},
      );
    }, 0);
  };

  /** @param {number} token */
  const cancel = (token) => {
    pending.get(token)?.abort();
    return pending.delete(token);
  };

  /** @type {Record<string, (...args: any[]) => any>} */
  const functions = {
    ...importsOfWasm().lockword,

    /** @param {number} misuse */
    lw_emscripten_refuse(misuse) {
      throw MISUSES[misuse]();
    },

    /**
     * @param {number} lock
     * @param {number} callback
     * @param {number} userData
     * @param {number} ms
     */
    lw_emscripten_lock_async_acquire(lock, callback, userData, ms) {
      const mutex = new Mutex(memory, lock >>> 0);
      later(callback, lock, userData, ms, async (options) =>
        (await mutex.lockAsync(options)) ? 0 : -1,
      );
    },

    /**
     * @param {number} sem
     * @param {number} num
     * @param {number} callback
     * @param {number} userData
     * @param {number} ms
     */
    lw_emscripten_semaphore_async_acquire(sem, num, callback, userData, ms) {
      const permits = new Semaphore(memory, sem >>> 0).when(num);
      later(callback, sem, userData, ms, (options) =>
        waitFor(
          () => permits,
          options,
          ({ what, expected }) => (what === LW_DONE ? expected : -1),
        ),
      );
    },

    /**
     * @param {number} condvar
     * @param {number} lock
     * @param {number} callback
     * @param {number} userData
     * @param {number} ms
     */
    lw_emscripten_condvar_wait_async(condvar, lock, callback, userData, ms) {
      const condition = new Condition(memory, condvar >>> 0);
      const mutex = new Mutex(memory, lock >>> 0);
      if (!mutex.isMine) throw MISUSES[1]();
      const sequence = new Int32Array(memory.buffer, condvar >>> 0, 1)[0];
      // The callback is called without the lock, so the wait gets another to take again. It has
      // begun when waitAsync returns.
      const stand = new Mutex();
      stand.tryLock();
      const controller = new AbortController();
      const waiting = condition.waitAsync(stand, {
        timeout: limitOf(ms),
        signal: controller.signal,
      });
      mutex.unlock();

      const token = nextToken;
      nextToken = token + 1 < 0 ? token + 1 : FIRST_TOKEN;
      pending.set(token, { address: condvar, abort: () => controller.abort() });
      const finish = (/** @type {boolean} */ signaled) => {
        if (pending.delete(token))
          table().get(callback)(condvar, sequence, signaled ? OK : TIMED_OUT, userData);
        // Cancelled, but signaled before: the signal goes to another waiter.
        else if (signaled) condition.notify();
      };
      waiting.then(finish, () => {});
      return token;
    },

    lw_emscripten_cancel: cancel,

    /** @param {number} address 0: any */
    lw_emscripten_cancel_all(address) {
      const chosen = [...pending].filter(([, wait]) => !address || wait.address === address);
      for (const [token] of chosen) cancel(token);
      return chosen.length;
    },

    /**
     * For a program that exits: ends all pending calls without calling back, and so lets the
     * process end, which a pending call would keep alive. C does not import it; Emscripten's `exit`
     * and `emscripten_force_exit` call it.
     */
    lw_emscripten_end() {
      end.abort();
      functions.lw_emscripten_cancel_all(0);
    },
  };
  return { lockword: functions };
}

/**
 * How long that is, as C means it: not a number is for ever, as in Atomics.waitAsync.
 *
 * @param {number} ms
 */
function limitOf(ms) {
  return Number.isNaN(ms) ? Infinity : Math.max(ms, 0);
}
