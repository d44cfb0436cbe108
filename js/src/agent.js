/**
 * The agent's id, and whether it may block. An agent is one thread of JavaScript: a worker, or the
 * main thread.
 */

import { LW_MUTEX_IN_AN_ENGINE } from './core/constants.js';
import { BlockingError } from './errors.js';
import { nap, now } from './wait.js';

/** Globals that only some engines have. */
const { process, WorkerGlobalScope } = /** @type {any} */ (globalThis);

/**
 * Names what the copies of lockword in one realm share, whatever their versions: the agent's id.
 */
const AGENT = Symbol.for('lockword.agent');

/** @type {{ self: number, [version: string]: any }} */
const agent = /** @type {any} */ (globalThis)[AGENT] ?? {
  self:
    LW_MUTEX_IN_AN_ENGINE |
    (((Math.random() * 2 ** 28) ^ (process?.hrtime?.()[1] ?? now() * 1e6)) &
      (LW_MUTEX_IN_AN_ENGINE - 1)),
};
Reflect.set(globalThis, AGENT, agent);

/**
 * This agent's id, as it stands in the locks that it holds: for `nameAgent` of lockword/inspect,
 * and `once.abandon`.
 *
 * LW_MUTEX_IN_AN_ENGINE is set, so that no thread id of an operating system equals it, and 28 bits
 * are random. Never `threadId`, which is 0 on the main thread and repeats in every process. Ids
 * need to differ, not to be unpredictable, and naming `crypto` has Node load it, for milliseconds
 * in each thread. So they come from Math.random; and from the time in ns, for a seed or a mock
 * makes Math.random the same in all threads.
 *
 * A realm is one agent, however many copies of lockword it loads. A second realm of the same
 * thread, such as another frame of a page or a `vm` context, is an agent of its own.
 */
export const self = agent.self;

/**
 * What the copies of this very version share, such as the ES modules and the CommonJS of one
 * package: the lines of callers, so that all tasks of the agent queue in one line. Copies of two
 * versions do not share them, since neither knows what the other keeps. Each queues in a line of
 * its own, as two agents would. That is as safe, but tasks of one copy may overtake those of the
 * other. The same holds for a copy whose properties a tool has renamed, as esbuild does if told to,
 * which also renames this version's name.
 *
 * @internal
 * @type {any}
 */
export const shared = (agent[`0.2.0 ${Object.keys({ callers: 0, queued: 0 })}`] ??= {});

/**
 * The options of a blocking call that has nothing to check: undefined, once it is known that this
 * thread may block. Until then no options are equal to it.
 *
 * @internal
 * @type {any}
 */
export let unchecked = NaN;

/**
 * Throws where a call may not block, before any word is touched. The main thread of Node, Deno and
 * Bun may block, and gets one warning that its event loop stands still meanwhile.
 *
 * @internal
 * @param {string} call what the user called; the same with 'Async' never blocks
 */
export function assertMayBlock(call) {
  if (unchecked === undefined) return;
  const message = `${call}() blocks this thread's event loop: use ${call}Async()`;
  try {
    nap(0);
  } catch {
    throw new BlockingError(message);
  }
  unchecked = undefined;
  // Node before 20.16 has no getBuiltinModule, but marks what a worker may not call. Deno's web
  // workers pass for main threads.
  if (WorkerGlobalScope) return;
  if (
    process?.getBuiltinModule?.('worker_threads').isMainThread ??
    (process?.chdir && !process.chdir.disabled)
  ) {
    process.emitWarning?.(message, { type: 'LockwordWarning', code: 'LOCKWORD_MAIN_THREAD' });
  }
}
