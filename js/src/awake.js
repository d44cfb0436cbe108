/**
 * The waiting policy: how long an agent spins before it sleeps, how it spares those that run
 * meanwhile, how long a sleep lasts, and how long its callers keep the event loop. Nothing but time
 * depends on it. Its words are those of src/wait/awake.h, and its numbers are explained in
 * docs/experiments.md, 'Constants'.
 *
 * It has no imports, because bundlers inline the constants of such a file.
 */

/**
 * How long a sleep lasts before the sleeper looks again, in ms. It bounds what is lost when a
 * worker is terminated that has consumed a notify.
 */
export const SLICE = 1000;

/** The same for a lock that is free, but reserved for a waiter that may be busy. */
export const BRIEF = 0.5;

/**
 * The same where that waiter may poll, because its first look comes after 1 ms or later. An event
 * loop that gives way always waits this long, because its timers take 1 ms or more.
 */
export const LONG_BRIEF = 4;

/**
 * Without Atomics.waitAsync an agent polls: after 1 ms, then after twice as long each time, up to
 * this, in ms.
 */
export const LONGEST_POLL = 32;

/** How many polls of the longest kind take about as long as a slice. */
export const POLLS = 32;

/**
 * How often the event loop turns at least while a call is pending, in ms. WebKitGTK's workers do
 * not see otherwise that an Atomics.waitAsync has timed out, and sometimes that it was notified.
 */
export const BEAT = 400;

/** The longest timer that there is, in ms. */
export const LONGEST_TIMER = 0x7fffffff;

/**
 * For how long callers of one agent hand over to each other, by microtasks alone, before the event
 * loop turns, in ms.
 */
export const HAND_OVER = 8;

/**
 * How often a worker tries before it sleeps, and how many pauses it makes before each try. With
 * more pauses the holder takes many turns in a row. With fewer a worker is sooner to find a mutex
 * that is seldom free. bench/js/tune.js.
 */
const TRIES = 100;
const PAUSES = 10;

/**
 * How long a worker contends before it yields, in ms; and how long if no other thread wanted the
 * CPU when it last yielded. If workers never yielded, and there were more of them than CPUs, those
 * that run would pass the mutex among themselves until the scheduler stops them, many milliseconds
 * later.
 */
const QUANTUM = 0.5;
const QUANTUM_ALONE = 2;

/**
 * JavaScript cannot yield. A worker naps instead, so long, in ms: an engine may skip a shorter
 * sleep. If a nap lasts much longer, another thread had the CPU.
 */
const NAP = 0.02;
const LONG_NAP = 0.2;

/**
 * Chromium before 133, Node before 24 and Firefox before 137 have no Atomics.pause: then it is
 * something else that takes a moment.
 */
const pause = /** @type {any} */ (Atomics).pause ?? Math.random;

/** The time from which on this worker yields before it spins, in ms. */
let yieldsAt = 0;

/**
 * For a thread that blocks. Returns whether to try once more before it sleeps. It pauses first, and
 * yields if that is due.
 *
 * Spinning lasts for some 20 to 50 us: to fall asleep and be woken takes as long, and costs the
 * agent that unlocks hundreds of short turns. A thread that spins has marked nothing, so no unlock
 * has to notify it.
 *
 * @param {number} tries how many there have been
 * @param {(ms: number) => void} nap lets other threads have this CPU for so long at least
 */
export function mayTryAgain(tries, nap) {
  if (tries === 0) {
    const before = performance.now();
    if (before >= yieldsAt) {
      nap(NAP);
      const now = performance.now();
      yieldsAt = now + (now - before > LONG_NAP ? QUANTUM : QUANTUM_ALONE);
    }
  }
  for (let i = 0; i < PAUSES; i++) pause();
  return tries < TRIES;
}
