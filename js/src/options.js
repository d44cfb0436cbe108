/**
 * What every call that may wait accepts: milliseconds, or `{ timeout, signal }`. Read without allocating, before any word is touched.
 *
 * @typedef {object} WaitOptions
 * @property {number} [timeout] how long to wait at most, in ms; 0 tries once; Infinity, the default, waits as long as it takes
 * @property {AbortSignal} [signal] ends the wait when aborted, by throwing `signal.reason`. A blocked thread cannot be told: a
 *   blocking call only looks at it first
 */

/**
 * @param {number | WaitOptions | undefined} options
 * @returns {number} ms
 */
export function timeoutOf(options) {
  const timeout = typeof options === 'object' ? options.timeout : options;
  if (timeout === undefined) return Infinity;
  if (typeof timeout !== 'number') throw new TypeError(`timeout must be a number of milliseconds, not ${typeof timeout}`);
  if (!(timeout >= 0)) throw new RangeError(`timeout must not be negative or NaN: ${timeout}`);
  return timeout;
}

/**
 * The signal to obey, if any. Throws its reason if it has been aborted already.
 *
 * @param {number | WaitOptions | undefined} options
 * @returns {AbortSignal | undefined}
 */
export function signalOf(options) {
  const signal = typeof options === 'object' ? options.signal : undefined;
  if (signal === undefined) return undefined;
  if (typeof signal?.addEventListener !== 'function') throw new TypeError('signal must be an AbortSignal');
  if (signal.aborted) throw signal.reason;
  return signal;
}
