/**
 * The waiting domain: how this agent sleeps on a word, is told of a notify, and notifies. By default the engine's own three calls; nothing
 * else in the package uses Atomics.wait, waitAsync or notify.
 *
 * @typedef {Int32Array<SharedArrayBuffer>} Heap
 * @typedef {'ok' | 'not-equal' | 'timed-out'} Woken
 */

/** How long a wait lasts before it re-checks, in ms: what it costs when a notify dies with the worker that it woke. */
export const SLICE = 1000;

/** The same where the lock was free, but kept for somebody who may be busy. */
export const BRIEF = 4;

/** Without Atomics.waitAsync: the longest pause between two looks at a lock, in ms, and how many looks make a slice. */
const LONGEST_POLL = 32;
const POLLS_PER_SLICE = 8;

/**
 * Sleeps while the word holds `expected`, at most `timeout` ms.
 *
 * @param {Heap} heap
 * @param {number} index
 * @param {number} expected
 * @param {number} timeout
 * @returns {Woken}
 */
export function wait(heap, index, expected, timeout) {
  return Atomics.wait(heap, index, expected, timeout);
}

/**
 * Waits without blocking on a word that is always 0, and calls `fired` once, later: 'ok' after a notify, 'timed-out' if none came for a
 * slice. Cannot be withdrawn: whoever is no longer interested must pass an 'ok' on.
 *
 * An engine without Atomics.waitAsync polls: 'not-equal' then means 'look again'.
 *
 * @param {Heap} heap
 * @param {number} index
 * @param {number} idle how many such waits have been in vain before this one
 * @param {(woken: Woken) => void} fired
 */
export function waitAsync(heap, index, idle, fired) {
  const waiter = Atomics.waitAsync?.(heap, index, 0, SLICE);
  if (waiter?.async) waiter.value.then(fired);
  else setTimeout(fired, Math.min(2 ** idle, LONGEST_POLL), (idle + 1) % POLLS_PER_SLICE ? 'not-equal' : 'timed-out');
}

/**
 * Wakes up to `n` of those who wait on the word.
 *
 * @param {Heap} heap
 * @param {number} index
 * @param {number} n
 * @returns {number} how many
 */
export function notify(heap, index, n) {
  return Atomics.notify(heap, index, n);
}
