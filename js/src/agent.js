/** Who is asking, and whether it may block. An agent is one thread of JavaScript: a worker, or the main thread. */

import { BlockingError } from './errors.js';

/** The globals, some of which only some engines have. */
const host = /** @type {any} */ (globalThis);

/**
 * This agent's id: bit 28 set, so that no thread id of an operating system equals it, and 28 random bits. Never `threadId`, which is 0
 * on the main thread and repeats in every process.
 */
export const self = 0x10000000 | (random() & 0x0fffffff);

function random() {
  // Node 18 has the global only behind a flag. Ids need to differ, not to be unpredictable.
  const { crypto } = host;
  return crypto ? crypto.getRandomValues(new Int32Array(1))[0] : Math.random() * 2 ** 28;
}

/** @type {boolean | undefined} */
let mayBlock;

/**
 * Throws where a call may not block, before any word is touched. On the main thread of Node, Deno and Bun it may, and is told once that
 * its event loop stands still meanwhile.
 *
 * @param {string} call what was called
 * @param {string} instead what never blocks
 */
export function assertMayBlock(call, instead) {
  mayBlock ??= probe(call, instead);
  if (!mayBlock) throw new BlockingError(`${call}() may not block this thread: use ${instead}()`);
}

/**
 * @param {string} call
 * @param {string} instead
 */
function probe(call, instead) {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0);
  } catch {
    return false;
  }
  if (isMainThreadOfProcess()) {
    const message = `${call}() blocks the event loop of the main thread while it waits: prefer ${instead}()`;
    host.process.emitWarning?.(message, { type: 'LockwordWarning', code: 'LOCKWORD_MAIN_THREAD' });
  }
  return true;
}

function isMainThreadOfProcess() {
  const { process } = host;
  if (!process?.versions) return false;
  const threads = process.getBuiltinModule?.('node:worker_threads');
  if (threads) return threads.isMainThread;
  // Node before 20.16: what a worker may not call carries this mark there.
  return !process.chdir?.disabled;
}
