/**
 * The locks being measured. Each attaches to a buffer that other workers share: `lock` blocks,
 * `lockAsync` does not (where there is one), `unlock` frees. `floor` marks what is no lock: one
 * thread only.
 */

import { self } from '../../js/src/agent.js';
import { block } from '../../js/src/blocking.js';
import { LW_MUTEX_RESERVED } from '../../js/src/core/constants.js';
import { mutexLockStep, mutexTake } from '../../js/src/core/mutex.js';
import { Mutex } from '../../js/src/index.js';
import { nap } from '../../js/src/wait.js';

/** The least that a lock's two ends can cost: one compare-and-swap and one exchange. */
function raw(buffer) {
  const heap = new Int32Array(buffer);
  return {
    lock() {
      if (Atomics.compareExchange(heap, 0, 0, 1) !== 0) throw new Error('contended');
    },
    unlock() {
      if (Atomics.exchange(heap, 0, 0) !== 1) throw new Error('not locked');
    },
  };
}

/**
 * What people write by hand: the second mutex of Ulrich Drepper's 'Futexes are tricky'. 0 free, 1
 * held, 2 held and perhaps awaited.
 */
export function threeState(buffer) {
  const heap = new Int32Array(buffer);
  return {
    lock() {
      if (Atomics.compareExchange(heap, 0, 0, 1) === 0) return;
      while (Atomics.exchange(heap, 0, 2) !== 0) Atomics.wait(heap, 0, 2);
    },
    async lockAsync() {
      if (Atomics.compareExchange(heap, 0, 0, 1) === 0) return;
      while (Atomics.exchange(heap, 0, 2) !== 0) await Atomics.waitAsync(heap, 0, 2).value;
    },
    unlock() {
      if (Atomics.exchange(heap, 0, 0) === 2) Atomics.notify(heap, 0, 1);
    },
  };
}

/** lockword's, with other constants than those of js/src/awake.js. quantum 0: never yields. */
export function spinning(buffer, { tries, pauses, quantum, alone }) {
  const mutex = new Mutex(buffer);
  const { words } = mutex;
  const pause = Atomics.pause ?? Math.random;
  let yieldsAt = quantum === 0 ? Infinity : 0;
  const yieldIfDue = () => {
    const before = performance.now();
    if (before < yieldsAt) return;
    nap(0.02);
    const after = performance.now();
    yieldsAt = after + (after - before > 0.2 ? quantum : alone);
  };
  const spin = () => {
    yieldIfDue();
    for (let i = 0; i < tries; i++) {
      for (let k = 0; k < pauses; k++) pause();
      if (mutexTake(words, self)) return true;
      if (Atomics.load(words, 0) & LW_MUTEX_RESERVED) return false;
    }
    return false;
  };
  return {
    lock() {
      if (!mutexTake(words, self) && !spin()) block(mutexLockStep, words, self, Infinity);
    },
    unlock() {
      mutex.unlock();
    },
  };
}

/** npm's multithreading: a guard for every acquisition, one notify for every release. */
async function multithreading(buffer) {
  const { Mutex } = await import('multithreading');
  const mutex = new Mutex(undefined, buffer);
  let guard;
  return {
    lock() {
      guard = mutex.blockingLock();
    },
    async lockAsync() {
      guard = await mutex.lock();
    },
    unlock() {
      guard.dispose();
    },
  };
}

export const peers = [
  { name: 'raw cas+exchange', floor: true, attach: raw },
  { name: 'lockword', attach: (buffer) => new Mutex(buffer) },
  { name: 'hand-written 0/1/2', attach: threeState },
  { name: 'multithreading', attach: multithreading },
];

/** Bytes that every peer's lock fits in; the counter follows, on cache lines of its own. */
export const LOCK_BYTES = 128;
export const COUNTER = LOCK_BYTES / 4;
