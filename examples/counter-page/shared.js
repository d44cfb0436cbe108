/**
 * What the page and its workers share: the number, the lock around it, where they meet, and what
 * each has done. The lock is one of a region, so that it becomes free if its holder is terminated.
 */

import { Barrier, layout, WaitGroup } from 'lockword';
import { STRIP_BYTES, Strip } from './strip.js';

/** The threads that add: the page's main thread, and four workers. */
export const THREADS = ['page', 'worker 1', 'worker 2', 'worker 3', 'worker 4'];

/** How often each worker adds in a run, and the page itself, which has an event loop to run. */
const WORKER_TURNS = 100_000;
export const PAGE_TURNS = 1_000;
export const turnsOf = (thread) => (thread === 0 ? PAGE_TURNS : WORKER_TURNS);
export const TURNS = THREADS.reduce((sum, _, thread) => sum + turnsOf(thread), 0);

const locks = layout({ start: Barrier, finish: WaitGroup });
/* On cache lines of their own: a write to one does not slow down readers of another. */
const COUNT_AT = 64;
const DOOM_AT = 128;
const STRIPS_AT = 192;

/** New memory. The workers use it, too: post it to them. */
export function create() {
  const memory = new SharedArrayBuffer(STRIPS_AT + THREADS.length * STRIP_BYTES);
  Barrier.init(memory, locks.offsets.start, THREADS.length);
  return memory;
}

/**
 * All that is shared.
 *
 * @param {SharedArrayBuffer} memory
 * @param {import('lockword/region').Region} region which this thread has joined
 */
export function attach(memory, region) {
  return {
    ...locks.on(memory),
    mutex: region.mutex('count'),
    /** The number itself, in one 32-bit cell. */
    count: new Int32Array(memory, COUNT_AT, 1),
    /**
     * How many workers are yet to be terminated with the lock held, and how often a holder was told
     * that the one before it had died. Only the holder changes the second.
     */
    doom: new Int32Array(memory, DOOM_AT, 2),
    /** What each thread has been doing since the run began. */
    strips: THREADS.map((_, thread) => new Strip(memory, STRIPS_AT + thread * STRIP_BYTES)),
  };
}
