/**
 * support.js: what tests and their agents share: waiting for a condition, and the mutex's words as
 * docs/layout.md has them.
 */
import { timers } from './modes.js';

export const OWNER = 0x1fffffff;
export const RESERVED = 0x20000000;
export const ASYNC = 0x40000000;
export const BLOCKED = 0x80000000 | 0;

/** An id that no library would choose: those of JavaScript agents have bit 28 set. */
export const STRANGER = 5;

export const sleep = (ms) => new Promise((resolve) => timers.setTimeout(resolve, ms));

/**
 * mocha's `it` for a test that blocks its own thread. No browser runs it on a page's main thread
 * (web.js).
 */
export const itBlocks = (title, test) => Object.assign(it(title, test), { blocks: true });

/** The same for a test that makes this call in its own thread, or calls of this form. */
export const itCalling = (call) => (call.endsWith('Async') ? it : itBlocks);

/** A file that interop.build.js wrote. In a browser, the server has it. */
export async function built(name) {
  if (globalThis.location) return new Uint8Array(await (await fetch(`/${name}`)).arrayBuffer());
  const { readFile } = await import('node:fs/promises');
  return readFile(new URL(`../../build/test-js/${name}`, import.meta.url));
}

/** Keeps this agent's event loop busy. */
export function spin(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Keeps this agent's event loop busy until the condition holds; returns whether it did. */
export function spinUntil(condition, ms = 10_000) {
  const end = performance.now() + ms;
  while (!condition()) if (performance.now() > end) return false;
  return true;
}

/** Waits, with the event loop running, until the condition holds. */
export async function until(condition, ms = 15_000) {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${condition}`);
    await sleep(1);
  }
}

/**
 * The promise's value, or an error after this long: a hang is reported by name rather than by the
 * whole suite's end.
 */
export async function within(ms, promise, what = 'it') {
  let timer;
  const late = new Promise((_, reject) => {
    timer = timers.setTimeout(
      () => reject(new Error(`${what} did not finish within ${ms} ms`)),
      ms,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timers.clearTimeout(timer);
  }
}

/** What became of a promise so far: 'pending', 'resolved' or 'rejected'. */
export async function stateOf(promise) {
  const pending = {};
  await sleep(0);
  return Promise.race([promise, pending]).then(
    (value) => (value === pending ? 'pending' : 'resolved'),
    () => 'rejected',
  );
}

/** The error that a call throws or a promise rejects with. */
export async function failure(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  throw new Error(`did not fail: ${call}`);
}

/** A mutex's two words. */
export const wordsOf = ({ buffer, byteOffset }) =>
  new Int32Array(buffer.buffer ?? buffer, byteOffset, 2);

/** Another agent without a worker: it plays the protocol by hand, on the words, as C would. */
export class Stranger {
  #words;

  constructor(mutex) {
    this.#words = wordsOf(mutex.handle);
  }

  get state() {
    return Atomics.load(this.#words, 0);
  }

  /** Takes a free mutex; returns itself. */
  lock() {
    if (Atomics.compareExchange(this.#words, 0, 0, STRANGER) !== 0)
      throw new Error('the mutex is not free');
    return this;
  }

  unlock() {
    const state = Atomics.and(this.#words, 0, RESERVED);
    if ((state & OWNER) !== STRANGER) throw new Error('the stranger does not hold the mutex');
    if (state & BLOCKED) Atomics.notify(this.#words, 0, 1);
    if (state & ASYNC) Atomics.notify(this.#words, 1);
  }
}

/**
 * Frees the mutex, as docs/layout.md says, if the agent with this id turns out to have died as its
 * holder: everybody else would wait for ever, and rightly. Not every runtime tells when a worker
 * has stopped, so an owner counts as dead after a while only.
 */
export function buryIfItHolds(mutex, id) {
  const words = wordsOf(mutex.handle);
  let seen = 0;
  const timer = setInterval(() => {
    seen = (words[0] & OWNER) === id ? seen + 1 : 0;
    if (seen < 4) return;
    const state = Atomics.and(words, 0, RESERVED);
    if (state & BLOCKED) Atomics.notify(words, 0, 1);
    if (state & ASYNC) Atomics.notify(words, 1);
  }, 50);
  return () => clearInterval(timer);
}

/** The middle of the numbers. */
export const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
