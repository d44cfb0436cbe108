/**
 * Three ways of adding to a number in shared memory. All of them think for a moment first, as programs do; what differs is what another agent
 * can do in that moment. Each is a turn of a thread that may block, and marks on its strip what it is doing.
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

/** Adds to the number like to any other. What somebody else has written since it was read is overwritten, and lost. */
function add(count, step) {
  const seen = count[0];
  think();
  count[0] = seen + step;
}

/** Nobody waits, and nobody knows of anybody. */
export const unsynchronised = {
  turn({ count }, strip, step) {
    strip.mark(INSIDE);
    add(count, step);
  },
};

/** The processor reads and writes at once, which it can for a single word, and for nothing larger. */
export const atomic = {
  turn({ count }, strip, step) {
    strip.mark(INSIDE);
    think();
    Atomics.add(count, 0, step);
  },
};

/** Who reads it holds the lock until it is written. What stands in between may be anything. */
export const guarded = {
  turn({ count, mutex }, strip, step) {
    mutex.lock();
    strip.mark(INSIDE);
    add(count, step);
    // Before the unlock: a thread that loses its processor right after it does not hold the lock.
    strip.mark(WAITING);
    mutex.unlock();
  },

  /** The same for a page, which must not block. */
  async turnAsync({ count, mutex }, strip, step) {
    await mutex.lockAsync();
    strip.mark(INSIDE);
    add(count, step);
    strip.mark(WAITING);
    mutex.unlock();
  },
};
