/**
 * How long and how often lockword waits, polls and looks again: docs/design.md, 'Constants'. They stand in a file without
 * imports, because bundlers inline the constants of such a file.
 */

/** How long a wait lasts before it re-checks, in ms: what it costs when a notify dies with the worker that it woke. */
export const SLICE = 1000;

/** The same where the lock was free, but kept for somebody who may be busy. */
export const BRIEF = 4;

/** Without Atomics.waitAsync: the longest pause between two looks at a lock, in ms. */
export const LONGEST_POLL = 32;

/**
 * How often the event loop turns at least while a call is pending, in ms. WebKitGTK's workers do not see otherwise that an
 * Atomics.waitAsync has timed out, and sometimes that it was notified.
 */
export const BEAT = 400;

/** The longest timer that there is, in ms. */
export const LONGEST_TIMER = 0x7fffffff;

/** For how long callers of one agent hand what they have to each other, by microtasks alone, before the event loop turns, ms. */
export const STRETCH = 8;

/**
 * How often a worker looks at a mutex before it sleeps, and the pauses before each time. Longer ones let the holder take many turns in a row, shorter ones find a mutex sooner
 * that is seldom free. Found by bench/js/tune.js: docs/design.md, 'Constants'.
 */
export const LOOKS = 100;
export const PAUSES = 10;

/**
 * How long a worker contends before it lets others have the CPU, in ms; and how long if nobody was there to have it last time. Without that, where
 * there are more workers than CPUs, those who run pass the mutex among themselves until the scheduler stops them, many milliseconds later.
 */
export const QUANTUM = 0.5;
export const QUANTUM_ALONE = 2;

/** How long it naps then, in ms: for less an engine may not. Who sleeps longer than that by far was not alone. */
export const NAP = 0.02;
export const LONG_NAP = 0.2;
