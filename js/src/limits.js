/** What ends a wait from outside: its time being up, and its signal. */

/** The longest that a timer can be set for, ms. */
const LONGEST_TIMER = 0x7fffffff;

/**
 * Calls back later, once this many ms have passed, never earlier, unless stopped.
 *
 * @param {number} ms
 * @param {() => void} callback
 * @returns {() => void} stops it
 */
export function after(ms, callback) {
  if (ms === Infinity) return () => {};
  const deadline = performance.now() + ms;
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  const wait = (left = deadline - performance.now()) => {
    if (left > 0) timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMER));
    else callback();
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/**
 * What to call for each signal. A signal gets one listener, however many wait under it: Node takes more than ten for a leak, and says so.
 *
 * @type {WeakMap<AbortSignal, Set<() => void>>}
 */
const callbacksOf = new WeakMap();

/**
 * Calls back when the signal is aborted, unless stopped.
 *
 * @param {AbortSignal | undefined} signal
 * @param {() => void} callback
 * @returns {() => void} stops it
 */
export function onAbort(signal, callback) {
  if (!signal) return () => {};
  const callbacks = callbacksOf.get(signal) ?? listen(signal);
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

/** @param {AbortSignal} signal */
function listen(signal) {
  /** @type {Set<() => void>} */
  const callbacks = new Set();
  callbacksOf.set(signal, callbacks);
  signal.addEventListener('abort', () => callbacks.forEach((callback) => callback()), { once: true });
  return callbacks;
}

let pending = 0;
/** @type {ReturnType<typeof setInterval>} */
let alive;

/** Keeps the process alive while calls are pending, which a pending Atomics.waitAsync does not. `more` is how many came or, negative, went. */
export function keepAlive(/** @type {number} */ more) {
  if (pending === 0) alive = setInterval(() => {}, LONGEST_TIMER);
  pending += more;
  if (pending === 0) clearInterval(alive);
}

/** Whether no call of this agent is pending. */
export function nothingPends() {
  return pending === 0;
}
