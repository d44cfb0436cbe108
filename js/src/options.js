/**
 * What every call that may wait accepts as its last argument: a number of milliseconds, or `{
 * timeout, signal }`. What a call must be told besides, such as a mutex, a function or a value to
 * wait for, comes before that. Any other property is a TypeError: a misspelt `timeout` would wait
 * for ever. Read without allocating, before any word is touched.
 *
 * @typedef {object} WaitOptions
 * @property {number | undefined} [timeout] how long to wait at most, in ms; 0, or less, tries once;
 *   Infinity, the default, waits as long as it takes
 * @property {Signal | undefined} [signal] ends the wait when aborted, by throwing `signal.reason`.
 *   A blocked thread cannot be told: a blocking call only looks at it first
 *
 * @typedef {object} WaitSource what `waitAny` waits for: made by `when()` of events, semaphores,
 *   permits, wait groups and latches, and by `whenAtLeast()` and `whenAtMost()` of counters. It
 *   stands for one wait, from that call on
 * @property {'WaitSource'} kind for the compiler alone
 *
 * @typedef {object} Signal an AbortSignal, for compilers that do not know the DOM's
 * @property {boolean} aborted
 * @property {any} reason
 * @property {(type: 'abort', listener: () => void) => void} addEventListener
 * @property {(type: 'abort', listener: () => void) => void} removeEventListener
 */

import { assertMayBlock, unchecked } from './agent.js';
import { LW_CANCELLED } from './core/constants.js';

/** The names of the options of most calls. */
const OPTIONS = { timeout: 0, signal: 0 };

/**
 * A name that is no option's is refused, for a misspelt `timeout` or `signal` would wait for ever.
 * So is a bare signal.
 *
 * @internal
 * @param {number | object | undefined} options
 * @param {object} names an object with the names of all options
 * @returns {number} ms
 */
export function timeoutOf(options, names = OPTIONS) {
  /** @type {any} */
  let timeout = options;
  if (options && typeof options === 'object') {
    const given = timeout;
    ({ timeout } = given);
    // What a page adds to Object.prototype is in both. An AbortSignal says what it is.
    for (const name in given)
      if (!(name in names))
        throw new TypeError(
          `pass { ${Object.keys(names).join(', ')} }, not ${given[Symbol.toStringTag] ?? name}`,
        );
  }
  if (timeout === undefined) return Infinity;
  if (typeof timeout !== 'number')
    throw new TypeError(
      `timeout must be a number of ms, not ${timeout === null ? timeout : typeof timeout}`,
    );
  if (isNaN(timeout)) throw new RangeError('timeout is NaN');
  return Math.max(timeout, 0);
}

/**
 * Refuses what are no options of a call without a timeout.
 *
 * @internal
 * @param {object | undefined} options
 * @param {object} names an object with the names of all options
 */
export function assertOptions(options, names) {
  if (options !== undefined && Object(options) !== options)
    throw new TypeError(
      `pass { ${Object.keys(names).join(', ')} }, not ${options === null ? options : typeof options}`,
    );
  timeoutOf(options, names);
}

/**
 * The signal to obey, if any. Throws its reason if it has been aborted, and a TypeError if it is
 * none.
 *
 * @internal
 * @param {number | WaitOptions | undefined} options
 * @returns {AbortSignal | undefined}
 */
export function signalOf(options) {
  const signal = /** @type {AbortSignal | undefined} */ (
    /** @type {WaitOptions | undefined} */ (options)?.signal
  );
  if (signal === undefined || signal === null) return;
  if (!signal.addEventListener || !signal.removeEventListener)
    throw new TypeError('signal must be an AbortSignal');
  // Not by throwIfAborted, which Jest's environment 'jsdom' lacks.
  if (signal.aborted) throw signal.reason;
  return signal;
}

/**
 * The callers to end when a signal is aborted. While there are any, the signal has one listener,
 * however many callers there are: Node warns of a leak at more than ten. Afterwards it has none,
 * since a listener keeps a composite signal, or one with a timeout, alive as long as what it is
 * made of. A signal that is not the engine's own may call its listener as a mere function.
 *
 * @type {WeakMap<AbortSignal, any>} A Set, with the listener that ends its callers.
 */
const callersOf = new WeakMap();

/**
 * Registers a caller, which ends when its signal is aborted, or takes it off again. Throws what a
 * signal throws that is not the engine's own.
 *
 * @internal
 * @template {{ signal?: AbortSignal, end: (caller: any, why: number) => void }} C
 * @param {C} caller
 * @param {boolean} on
 */
export function listen(caller, on) {
  const { signal } = caller;
  if (!signal) return;
  const callers = callersOf.get(signal) ?? new Set();
  callers.abort ??= () =>
    callers.forEach((/** @type {any} */ caller) => caller.end(caller, LW_CANCELLED));
  if (callers.size === 0) signal.addEventListener('abort', callers.abort);
  callersOf.set(signal, callers.add(caller));
  if (on) return;
  callers.delete(caller);
  if (callers.size === 0) signal.removeEventListener('abort', callers.abort);
}

/**
 * The timeout of a call that may block, after all that it refuses: wrong options, an aborted
 * signal, a thread that may not block.
 *
 * @internal
 * @param {number | WaitOptions | undefined} options
 * @param {string} call what the user called; the same with 'Async' never blocks
 * @param {object} [names] an object with the names of all options
 * @returns {number} ms
 */
export function timeoutToBlock(options, call, names) {
  if (options === unchecked) return Infinity;
  const timeout = timeoutOf(options, names);
  signalOf(options);
  assertMayBlock(call);
  return timeout;
}
