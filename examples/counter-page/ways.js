/**
 * Three ways of adding to a number in shared memory. Each works for a moment before it writes, as
 * programs do. They differ in what another thread can do in that moment. `strip.mark` records what
 * the thread is doing, for the picture.
 */

import { INSIDE, WAITING } from './strip.js';

/** Some two microseconds of work. */
const THOUGHTS = 1500;
let thought = 1;

function think() {
  let x = thought;
  for (let i = 0; i < THOUGHTS; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0;
  thought = x;
}

/**
 * Adds as one adds to any number. What another thread wrote since the read is overwritten: lost.
 */
function add(count, step) {
  const seen = count[0];
  think();
  count[0] = seen + step;
}

/** No thread waits for another. */
export const unsynchronised = {
  turn({ count }, strip, step) {
    strip.mark(INSIDE);
    add(count, step);
  },
};

/**
 * One instruction reads and writes. There is one for a single word, and none for anything larger.
 */
export const atomic = {
  turn({ count }, strip, step) {
    strip.mark(INSIDE);
    think();
    Atomics.add(count, 0, step);
  },
};

/** A thread holds the lock from its read to its write. Any code may stand in between. */
export const guarded = {
  turn({ count, mutex }, strip, step) {
    mutex.lock();
    strip.mark(INSIDE);
    add(count, step);
    // Before the unlock: a thread that loses its CPU right after it does not hold the lock.
    strip.mark(WAITING);
    mutex.unlock();
  },

  /** The same on the page's main thread, which must not block. */
  async turnAsync({ count, mutex }, strip, step) {
    await mutex.lockAsync();
    strip.mark(INSIDE);
    add(count, step);
    strip.mark(WAITING);
    mutex.unlock();
  },
};
