/** What the page and its workers share: the number, the lock around it, where they meet, and what each has done. */

import { Barrier, layout, Mutex, WaitGroup } from 'lockword';
import { STRIP_BYTES, Strip } from './strip.js';

/** Who adds: the page's main thread, and four workers. */
export const AGENTS = ['page', 'worker 1', 'worker 2', 'worker 3', 'worker 4'];

/** How often a click makes each worker add, and the page itself, which has an event loop to run. */
export const WORKER_TURNS = 100_000;
export const PAGE_TURNS = 1_000;
export const turnsOf = (agent) => (agent === 0 ? PAGE_TURNS : WORKER_TURNS);
export const TURNS = AGENTS.reduce((sum, _, agent) => sum + turnsOf(agent), 0);

const locks = layout({ mutex: Mutex, start: Barrier, finish: WaitGroup });
/* On cache lines of their own: to write one slows down nobody who reads another. */
const COUNT_AT = 64;
const STRIPS_AT = 128;

/** Memory that nobody has used yet, for the workers, too: post it to them. */
export function create() {
  const memory = new SharedArrayBuffer(STRIPS_AT + AGENTS.length * STRIP_BYTES);
  Barrier.init(memory, locks.offsets.start, AGENTS.length);
  return memory;
}

/** Everything that there is in the memory. */
export function attach(memory) {
  return {
    ...locks.on(memory),
    /** The number itself, in one 32-bit cell. */
    count: new Int32Array(memory, COUNT_AT, 1),
    /** What each agent has been doing since the click. */
    strips: AGENTS.map((_, agent) => new Strip(memory, STRIPS_AT + agent * STRIP_BYTES)),
  };
}
