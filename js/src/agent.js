/** Who is asking, and whether it may block. An agent is one thread of JavaScript: a worker, or the main thread. */

import { BlockingError } from './errors.js';
import { nap } from './wait.js';

/** The globals, some of which only some engines have. */
const { crypto, process, WorkerGlobalScope } = /** @type {any} */ (globalThis);

/**
 * This agent's id: bit 28 set, so that no thread id of an operating system equals it, and 28 random bits. Never `threadId`,
 * which is 0 on the main thread and repeats in every process. Ids need to differ, not to be unpredictable, so Math.random will do
 * where there is no crypto: Node 18 has it behind a flag.
 */
export const self = 0x10000000 | ((crypto?.getRandomValues(new Int32Array(1))[0] ?? Math.random() * 2 ** 28) & 0x0fffffff);

/** @type {boolean | undefined} */
let mayBlock;

/**
 * Throws where a call may not block, before any word is touched. On the main thread of Node, Deno and Bun it may, and is told once
 * that its event loop stands still meanwhile.
 *
 * @param {string} call what was called
 * @param {string} instead what never blocks
 */
export function assertMayBlock(call, instead) {
  if (mayBlock) return;
  const message = `${call}() blocks this thread's event loop: use ${instead}()`;
  try {
    nap(0);
  } catch {
    throw new BlockingError(message);
  }
  mayBlock = true;
  // Node before 20.16 has no getBuiltinModule, but marks what a worker may not call. Deno's web workers pass for main threads.
  if (WorkerGlobalScope) return;
  if (process?.getBuiltinModule?.('worker_threads').isMainThread ?? (process?.chdir && !process.chdir.disabled)) {
    process.emitWarning?.(message, { type: 'LockwordWarning', code: 'LOCKWORD_MAIN_THREAD' });
  }
}
