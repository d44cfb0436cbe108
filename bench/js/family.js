/**
 * The primitives' most frequent operations, when no agent has to wait; and the atomic operations
 * that these take at least.
 */

import { Mutex as AsyncMutex, Semaphore as AsyncSemaphore } from 'async-mutex';
import {
  Condition,
  Counter,
  Event,
  Mutex,
  Once,
  Permits,
  RecursiveMutex,
  RWLock,
  Semaphore,
  WaitGroup,
} from '../../js/src/index.js';

const words = () => new Int32Array(new SharedArrayBuffer(128));

/**
 * `make` returns the operation; `floor` marks what others are compared with; an operation that
 * `waits` returns a promise.
 */
export const operations = [
  { name: 'raw cas, exchange', floor: true, make: () => swap(words()) },
  { name: 'raw cas, twice', make: () => swapTwice(words()) },
  { name: 'raw read and cas, twice', make: () => updateTwice(words()) },
  { name: 'raw load', make: () => look(words()) },
  { name: 'Mutex lock, unlock', make: () => lock(new Mutex()) },
  { name: 'RecursiveMutex twice', make: () => lockTwice(new RecursiveMutex()) },
  { name: 'Semaphore acquire, release', make: () => permit(Semaphore.create(1)) },
  { name: 'Permits acquire, release', make: () => number(Permits.create(4)) },
  { name: 'Mutex and array: the same', make: () => numberUnder(new Mutex(), words()) },
  { name: 'RWLock read, unlock', make: () => read(new RWLock()) },
  { name: 'RWLock write, unlock', make: () => write(new RWLock()) },
  { name: 'Once run, has been', make: () => done(new Once()) },
  { name: 'Condition notify nobody', make: () => notify(new Condition()) },
  { name: 'Event set, reset', make: () => set(new Event()) },
  { name: 'Event wait, is set', make: () => wait(new Event()) },
  { name: 'WaitGroup add, done', make: () => join(new WaitGroup()) },
  { name: 'Counter up, down', make: () => count(Counter.create(0)) },
  { name: 'Mutex lockAsync, unlock', waits: true, make: () => lockAsync(new Mutex()) },
  { name: 'async-mutex acquire, release', waits: true, make: () => acquire(new AsyncMutex()) },
  { name: 'Mutex runExclusive', waits: true, make: () => runExclusive(new Mutex()) },
  { name: 'async-mutex runExclusive', waits: true, make: () => runExclusive(new AsyncMutex()) },
  { name: 'Semaphore waitAsync, release', waits: true, make: () => waitAsync(Semaphore.create(1)) },
  {
    name: 'async-mutex Semaphore acquire, release',
    waits: true,
    make: () => acquire(new AsyncSemaphore(1)),
  },
];

const swap = (heap) => () => {
  if (Atomics.compareExchange(heap, 0, 0, 1) !== 0 || Atomics.exchange(heap, 0, 0) !== 1)
    throw new Error('contended');
};

/** What a lock takes at least whose unlock refuses a stranger. */
const swapTwice = (heap) => () => {
  if (Atomics.compareExchange(heap, 0, 0, 1) !== 0 || Atomics.compareExchange(heap, 0, 1, 0) !== 1)
    throw new Error('contended');
};

/** What any operation takes at least that changes a value twice, and does not know it before. */
const updateTwice = (heap) => () => {
  for (const n of [1, -1]) {
    const seen = heap[0];
    if (Atomics.compareExchange(heap, 0, seen, seen + n) !== seen) throw new Error('contended');
  }
};

const look = (heap) => () => {
  if (Atomics.load(heap, 0) !== 0) throw new Error('changed');
};

const lock = (mutex) => () => {
  mutex.lock();
  mutex.unlock();
};

const lockTwice = (mutex) => () => {
  mutex.lock();
  mutex.lock();
  mutex.unlock();
  mutex.unlock();
};

const permit = (semaphore) => () => {
  semaphore.wait();
  semaphore.release();
};

const number = (permits) => () => permits.acquire().release();

/** What people write by hand. Nobody waits here, so that it has no condition. */
const numberUnder = (mutex, taken) => () => {
  mutex.lock();
  const which = taken.indexOf(0);
  taken[which] = 1;
  mutex.unlock();
  mutex.lock();
  taken[which] = 0;
  mutex.unlock();
};

const read = (rwlock) => () => {
  rwlock.readLock();
  rwlock.readUnlock();
};

const write = (rwlock) => () => {
  rwlock.writeLock();
  rwlock.writeUnlock();
};

const done = (once) => () => once.run(() => {});

const notify = (condition) => () => condition.notify();

const set = (event) => () => {
  event.set();
  event.reset();
};

function wait(event) {
  event.set();
  return () => event.wait();
}

function join(group) {
  group.add(1);
  return () => {
    group.add();
    group.done();
  };
}

const count = (counter) => () => {
  counter.increment();
  counter.decrement();
};

const lockAsync = (mutex) => async () => {
  await mutex.lockAsync();
  mutex.unlock();
};

const acquire = (lock) => async () => {
  await lock.acquire();
  lock.release();
};

const runExclusive = (mutex) => () => mutex.runExclusive(() => {});

const waitAsync = (semaphore) => async () => {
  await semaphore.waitAsync();
  semaphore.release();
};
