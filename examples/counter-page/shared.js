/**
 * What the page and its workers share: the number, the lock around it, where they meet, and what
 * each has done.
 */

import { Barrier, layout, Mutex, WaitGroup } from 'lockword';
import { STRIP_BYTES, Strip } from './strip.js';

/** The threads that add: the page's main thread, and four workers. */
export const THREADS = ['page', 'worker 1', 'worker 2', 'worker 3', 'worker 4'];

/** How often each worker adds in a run, and the page itself, which has an event loop to run. */
export const WORKER_TURNS = 100_000;
export const PAGE_TURNS = 1_000;
export const turnsOf = (thread) => (thread === 0 ? PAGE_TURNS : WORKER_TURNS);
export const TURNS = THREADS.reduce((sum, _, thread) => sum + turnsOf(thread), 0);

const locks = layout({ mutex: Mutex, start: Barrier, finish: WaitGroup });
/* On cache lines of their own: a write to one does not slow down readers of another. */
const COUNT_AT = 64;
const STRIPS_AT = 128;

/** New memory. The workers use it, too: post it to them. */
export function create() {
  const memory = new SharedArrayBuffer(STRIPS_AT + THREADS.length * STRIP_BYTES);
  Barrier.init(memory, locks.offsets.start, THREADS.length);
  return memory;
}

/** All that is in the memory. */
export function attach(memory) {
  return {
    ...locks.on(memory),
    /** The number itself, in one 32-bit cell. */
    count: new Int32Array(memory, COUNT_AT, 1),
    /** What each thread has been doing since the run began. */
    strips: THREADS.map((_, thread) => new Strip(memory, STRIPS_AT + thread * STRIP_BYTES)),
  };
}
