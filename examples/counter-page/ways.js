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

/**
 * The thread holds the lock. If the holder before it was terminated, what the lock guards may be
 * half written, and other data would be mended here. This is one number, which is never half
 * written: the next unlock may declare it sound.
 */
export function heed({ doom, mutex }) {
  if (mutex.ownerDied) doom[1]++;
}

/** A worker is terminated after this many turns at the earliest, so that its run can be seen. */
const LEAST_TURNS = 25_000;

/** If the page wants to terminate a worker, this one stops here, with the lock held. */
function meetDoom({ doom, stop }, strip) {
  if (Atomics.load(doom, 0) === 0 || strip.turns < LEAST_TURNS) return;
  Atomics.sub(doom, 0, 1);
  stop();
}

/** A thread holds the lock from its read to its write. Any code may stand in between. */
export const guarded = {
  turn(shared, strip, step) {
    const { count, mutex } = shared;
    mutex.lock();
    strip.mark(INSIDE);
    heed(shared);
    meetDoom(shared, strip);
    add(count, step);
    // Before the unlock: a thread that loses its CPU right after it does not hold the lock.
    strip.mark(WAITING);
    mutex.unlock();
  },

  /** The same on the page's main thread, which must not block. */
  async turnAsync(shared, strip, step) {
    const { count, mutex } = shared;
    await mutex.lockAsync();
    strip.mark(INSIDE);
    heed(shared);
    add(count, step);
    strip.mark(WAITING);
    mutex.unlock();
  },
};
