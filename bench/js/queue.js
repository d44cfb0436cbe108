/**
 * Calls that wait for the same thing in one event loop, which no other thread wants: what one
 * costs, in time and in memory, if so many wait at once.
 */

import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Mutex as AsyncMutex, Semaphore as AsyncSemaphore } from 'async-mutex';
import {
  Barrier,
  Condition,
  Counter,
  Event,
  Latch,
  Mutex,
  Once,
  RecursiveMutex,
  RWLock,
  Semaphore,
  WaitGroup,
  waitAny,
} from '../../js/src/index.js';
import { pin } from './crew.js';
import { fixed } from './table.js';

/** Calls that all wait for `go`, and then for each other: `end` follows each of them. */
function lined(ask, end, go = end) {
  return { ask: () => ask().then(end), go };
}

function mutex() {
  const lock = new Mutex();
  lock.tryLock();
  return lined(
    () => lock.lockAsync(),
    () => lock.unlock(),
  );
}

const permits = (n) => () => {
  const semaphore = Semaphore.create(0);
  return lined(
    () => semaphore.waitAsync({ permits: n }),
    () => semaphore.release(n),
  );
};

function write() {
  const lock = new RWLock();
  lock.tryWriteLock();
  return lined(
    () => lock.writeLockAsync(),
    () => lock.writeUnlock(),
  );
}

function read() {
  const lock = new RWLock();
  lock.tryWriteLock();
  return lined(
    () => lock.readLockAsync(),
    () => lock.readUnlock(),
    () => lock.writeUnlock(),
  );
}

/** The calls come one after another, since each needs the mutex. */
function condition() {
  const [lock, changed] = [new Mutex(), new Condition()];
  return {
    ask() {
      if (!lock.tryLock()) throw new Error('waitAsync has not unlocked');
      return changed.waitAsync(lock).then(() => lock.unlock());
    },
    go: () => changed.notifyAll(),
  };
}

function barrier(length) {
  const meeting = Barrier.create(length + 1);
  return { ask: () => meeting.waitAsync(), go: () => meeting.waitAsync() };
}

function event() {
  const set = new Event();
  return { ask: () => set.waitAsync(), go: () => set.set() };
}

function either() {
  const [set, semaphore] = [new Event(), Semaphore.create(0)];
  return { ask: () => waitAny([set.when(), semaphore.when()]), go: () => set.set() };
}

function latch() {
  const open = Latch.create(1);
  return { ask: () => open.waitAsync(), go: () => open.countDown() };
}

function group() {
  const tasks = new WaitGroup();
  tasks.add();
  return { ask: () => tasks.waitAsync(), go: () => tasks.done() };
}

function counter() {
  const count = Counter.create(0);
  return {
    ask: () => count.waitUntilAsync(1),
    go: () => count.increment(),
  };
}

function gate() {
  let resolve;
  const promise = new Promise((settle) => (resolve = settle));
  return { promise, resolve };
}

function onceDone() {
  const first = new Once();
  const { promise, resolve } = gate();
  first.runAsync(() => promise);
  return { ask: () => first.runAsync(() => {}), go: resolve };
}

function exclusively(lock) {
  const { promise, resolve } = gate();
  lock.runExclusive(() => promise);
  return { ask: () => lock.runExclusive(() => {}), go: resolve };
}

function asyncMutex() {
  const lock = new AsyncMutex();
  lock.acquire();
  return lined(
    () => lock.acquire(),
    () => lock.release(),
  );
}

const asyncPermits = (n) => () => {
  const semaphore = new AsyncSemaphore(0);
  return lined(
    () => semaphore.acquire(n),
    () => semaphore.release(n),
  );
};

function promises() {
  const resolvers = [];
  return {
    ask: () => new Promise((resolve) => resolvers.push(resolve)),
    go: () => resolvers.forEach((resolve) => resolve()),
  };
}

/** `most`: it takes no more calls. `beside`: the peer that has the same. */
export const QUEUES = [
  { name: 'Mutex lockAsync', make: mutex, beside: 'async-mutex Mutex acquire' },
  { name: 'async-mutex Mutex acquire', make: asyncMutex },
  {
    name: 'Mutex runExclusive',
    make: () => exclusively(new Mutex()),
    beside: 'async-mutex Mutex runExclusive',
  },
  { name: 'async-mutex Mutex runExclusive', make: () => exclusively(new AsyncMutex()) },
  { name: 'RecursiveMutex runExclusive', make: () => exclusively(new RecursiveMutex()) },
  { name: 'Semaphore waitAsync', make: permits(1), beside: 'async-mutex Semaphore acquire' },
  { name: 'async-mutex Semaphore acquire', make: asyncPermits(1) },
  {
    name: 'Semaphore waitAsync, 3 permits',
    make: permits(3),
    beside: 'async-mutex Semaphore acquire, 3',
  },
  { name: 'async-mutex Semaphore acquire, 3', make: asyncPermits(3) },
  { name: 'RWLock writeLockAsync', make: write },
  { name: 'RWLock readLockAsync', make: read },
  { name: 'Condition waitAsync', make: condition },
  { name: 'Barrier waitAsync', make: barrier, most: 4000 },
  { name: 'Event waitAsync', make: event },
  { name: 'waitAny of two', make: either },
  { name: 'Latch waitAsync', make: latch },
  { name: 'WaitGroup waitAsync', make: group },
  { name: 'Counter waitUntilAsync', make: counter },
  { name: 'Once runAsync', make: onceDone },
  { name: 'promises alone', make: promises },
];

/** How long a worker may need for each of its two figures. */
const PATIENCE_S = 5;

/** Each cell has a worker of its own: it can be ended in a microtask, too. Its heap is empty. */
async function measureCell({ name, most = Infinity }, length) {
  if (length > most) return undefined;
  const worker = new Worker(new URL('./queue-agent.js', import.meta.url), {
    workerData: { name, length },
  });
  const results = { us: null, turned_us: null, bytes: null };
  const late = setTimeout(() => worker.terminate(), PATIENCE_S * 1000);
  worker.on('message', ({ thread, ...measured }) => {
    late.refresh();
    if (thread) pin(thread, availableParallelism() - 1);
    Object.assign(results, measured);
  });
  await once(worker, 'exit');
  clearTimeout(late);
  return results;
}

/**
 * The rows of all lengths. `us`: a call, if the calls may go on as soon as they wait; `turned_us`:
 * a turn of the loop later; null: more than `limit_us`. `bytes`: of heap, a pending call. `ratio`:
 * of `us`, to the peer that has the same.
 */
export async function measureQueues(lengths) {
  const rows = [];
  for (const queue of QUEUES) {
    for (const length of lengths) {
      const cell = await measureCell(queue, length);
      const limit_us = (PATIENCE_S / length) * 1e6;
      if (cell) rows.push({ peer: queue.name, length, limit_us, ...cell });
    }
  }
  for (const row of rows) {
    const { beside } = QUEUES.find(({ name }) => name === row.peer);
    const other = rows.find(({ peer, length }) => peer === beside && length === row.length);
    row.ratio = row.us !== null && other?.us ? row.us / other.us : null;
  }
  return rows;
}

/** A row's time, for a table. */
export const usOf = (us, row) => (us === null ? `> ${fixed(row.limit_us, 0)}` : fixed(us, 2));
