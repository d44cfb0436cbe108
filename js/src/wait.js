/**
 * The waiting domain: how this agent sleeps on a word, learns of a notify, and notifies. By default
 * these are the engine's own three calls. No other module of the package uses Atomics.wait,
 * waitAsync or notify.
 *
 * @typedef {Int32Array<SharedArrayBuffer>} Words a view of a primitive's own words
 * @typedef {'ok' | 'not-equal' | 'timed-out'} Woken
 */

import { LW_NOT_EQUAL, LW_OK, LW_SLICE } from './core/constants.js';
import { LONGEST_POLL, POLLS, SLICE } from './awake.js';

/**
 * The engine's own clock and timers, taken before a test replaces them by fake ones. A blocked
 * thread cannot move a fake clock on, and a fake timer does not keep a process alive. What users
 * limit by a timeout, without blocking, follows the fake ones: limits.js. An AudioWorklet has no
 * timers.
 */
export const { setTimeout, setInterval, clearInterval } = /** @type {any} */ (globalThis);
const clock = globalThis.performance ?? Date;
/** @type {() => number} ms */
export const now = clock.now.bind(clock);

/**
 * Sleeps while the word holds `expected`, at most `timeout` ms.
 *
 * @param {Words} words
 * @param {number} index
 * @param {number} expected
 * @param {number} timeout
 * @returns {Woken}
 */
export function wait(words, index, expected, timeout) {
  return Atomics.wait(words, index, expected, timeout);
}

/** @type {Words | undefined} A word that no agent notifies. */
let napWord;

/**
 * Gives this CPU to other threads for `ms` at least. Throws where a thread may not block.
 *
 * @param {number} ms
 */
export function nap(ms) {
  Atomics.wait((napWord ??= new Int32Array(new SharedArrayBuffer(4))), 0, 0, ms);
}

/**
 * Waits without blocking while the word holds `expected`: calls `look` with LW_OK once, after a
 * notify. While the wait goes on, it calls `look` with LW_SLICE once a second, and `look` returns
 * whether any caller still needs the wait. A wait cannot be withdrawn, and one that no caller needs
 * would keep its memory for ever. So a notify ends it, and with it all other waits at the word,
 * whose callers look and wait again.
 *
 * The engine's wait has no timeout, because V8 keeps the timer of a wait that was notified: after
 * 100,000 of them the event loop stops for seconds.
 *
 * An engine without Atomics.waitAsync polls: LW_NOT_EQUAL then means 'look again'. It, too, calls
 * `look` with LW_SLICE about once a second.
 *
 * @param {Words} words
 * @param {number} index
 * @param {number} expected
 * @param {number} idle how many such waits have been in vain before this one
 * @param {(why: number, of?: any) => unknown} look
 * @param {any} [of] what `look` is told, so that it need not be a closure. With it, the wait has no
 *   timer: the caller of this function re-checks
 */
export function waitAsync(words, index, expected, idle, look, of) {
  const waiter = Atomics.waitAsync?.(words, index, expected);
  if (waiter?.async) {
    const timer = of ? 0 : setInterval(() => look(LW_SLICE) || notify(words, index), SLICE);
    timer.unref?.();
    waiter.value.then(() => {
      clearInterval(timer);
      look(LW_OK, of);
    });
  } else {
    const poll = () => {
      if (idle % POLLS > POLLS - 2) look(LW_SLICE, of);
      look(LW_NOT_EQUAL, of);
    };
    setTimeout(poll, Math.min(2 ** idle, LONGEST_POLL));
  }
}

/** @type {(() => void)[]} what the messages that are on their way stand for */
const turns = [];

/** @type {any} One for all turns, since it takes many microseconds to make one. */
let channel;

/**
 * Calls back as soon as the event loop has turned. It uses no timer, since those of a page in the
 * background fire once a second. It uses no wait, since in Firefox a wait that its own thread
 * notifies ends before the loop turns. Node, Deno and Bun have setImmediate, which is taken here
 * before the fake timers of a test replace it. Jest's environment 'jsdom' has nothing but timers.
 *
 * @type {(callback: () => void) => void}
 */
export const afterTurn =
  /** @type {any} */ (globalThis).setImmediate ??
  (globalThis.MessageChannel
    ? (/** @type {() => void} */ callback) => {
        if (!channel) {
          channel = new MessageChannel();
          channel.port1.onmessage = () => turns.shift()?.();
          // A test that plays a page on Node ends, too.
          channel.port1.unref?.();
        }
        turns.push(callback);
        channel.port2.postMessage(0);
      }
    : setTimeout);

/**
 * Wakes up to `n` agents that wait on the word.
 *
 * @param {Words} words
 * @param {number} index
 * @param {number} [n] all, if it is left out
 * @returns {number} how many
 */
export function notify(words, index, n) {
  return Atomics.notify(words, index, n);
}
