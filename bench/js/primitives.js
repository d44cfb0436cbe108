/**
 * The primitives besides the mutex that can exclude other agents, lockword's and written by hand,
 * in the form of the locks in peers.js. Some also have `hold` and `release`: for the agent that the
 * callers of `lock` wait for, if that is not just one of them.
 */

import { Condition, Mutex, RWLock, Semaphore } from '../../js/src/index.js';
import { LOCK_BYTES, threeState } from './peers.js';
import { NO_LOCK } from './protocol.js';

/** Gives up a wait at a condition: what it leaves behind there could take the place of others. */
async function abandon(condition, mutex) {
  const end = new AbortController();
  const wait = condition.waitAsync(mutex, { signal: end.signal });
  end.abort();
  await wait.catch(() => {});
}

const mutexAndCondition = (buffer) => [new Mutex(buffer), new Condition(buffer, Mutex.BYTE_LENGTH)];

/**
 * A mutex and a condition. Loops give up a wait at the condition, and notify it, each turn; a
 * thread's turn begins with a wait there.
 */
function notified(buffer) {
  const [mutex, condition] = mutexAndCondition(buffer);
  return {
    lock() {
      mutex.lock();
      condition.wait(mutex);
    },
    async lockAsync() {
      await mutex.lockAsync();
      await abandon(condition, mutex);
    },
    unlock() {
      mutex.unlock();
      condition.notify();
    },
  };
}

/** Permits that are handed on under a mutex, by a notify for one waiter. */
function permitUnder(buffer, mutex, condition) {
  const permits = new Int32Array(buffer, LOCK_BYTES - 4, 1);
  return {
    lock() {
      mutex.lock();
      while (permits[0] === 0) condition.wait(mutex);
      permits[0]--;
      mutex.unlock();
    },
    unlock() {
      mutex.lock();
      permits[0]++;
      mutex.unlock();
      condition.notify();
    },
  };
}

/** What people write by hand: a number that each notify moves. */
function handCondition(buffer) {
  const heap = new Int32Array(buffer, 64);
  const condition = {
    wait(mutex) {
      const seen = Atomics.load(heap, 0);
      mutex.unlock();
      Atomics.wait(heap, 0, seen);
      mutex.lock();
    },
    notify() {
      Atomics.add(heap, 0, 1);
      Atomics.notify(heap, 0, 1);
    },
  };
  return permitUnder(buffer, threeState(buffer), condition);
}

function handSemaphore(buffer) {
  const heap = new Int32Array(buffer);
  return {
    lock() {
      for (;;) {
        const permits = Atomics.load(heap, 0);
        if (permits === 0) Atomics.wait(heap, 0, 0);
        else if (Atomics.compareExchange(heap, 0, permits, permits - 1) === permits) return;
      }
    },
    unlock() {
      Atomics.add(heap, 0, 1);
      Atomics.notify(heap, 0, 1);
    },
  };
}

/** So many readers; -1: a writer. */
function handRwlock(buffer) {
  const heap = new Int32Array(buffer);
  return {
    readLock() {
      for (;;) {
        const state = Atomics.load(heap, 0);
        if (state < 0) Atomics.wait(heap, 0, state);
        else if (Atomics.compareExchange(heap, 0, state, state + 1) === state) return;
      }
    },
    readUnlock() {
      if (Atomics.sub(heap, 0, 1) === 1) Atomics.notify(heap, 0);
    },
    writeLock() {
      for (;;) {
        const state = Atomics.compareExchange(heap, 0, 0, -1);
        if (state === 0) return;
        Atomics.wait(heap, 0, state);
      }
    },
    writeUnlock() {
      Atomics.store(heap, 0, 0);
      Atomics.notify(heap, 0);
    },
  };
}

/** A thread takes one permit, an event loop so many at once. */
const permits = (wanted) => (buffer) => {
  const semaphore = new Semaphore(buffer);
  let held;
  return {
    lock() {
      semaphore.wait();
      held = 1;
    },
    async lockAsync() {
      await semaphore.waitAsync({ permits: wanted });
      held = wanted;
    },
    unlock: () => semaphore.release(held),
  };
};

const writes = (make) => (buffer) => {
  const lock = make(buffer);
  return {
    lock: () => lock.writeLock(),
    lockAsync: () => lock.writeLockAsync(),
    unlock: () => lock.writeUnlock(),
  };
};

/** Readers, behind a writer. */
const reads = (make) => (buffer) => {
  const lock = make(buffer);
  return {
    lock: () => lock.readLock(),
    unlock: () => lock.readUnlock(),
    hold: () => lock.writeLock(),
    release: () => lock.writeUnlock(),
  };
};

/** Threads write, event loops read. */
function readsAsync(buffer) {
  const lock = new RWLock(buffer);
  let reading = false;
  return {
    lock: () => lock.writeLock(),
    async lockAsync() {
      await lock.readLockAsync();
      reading = true;
    },
    unlock() {
      if (reading) lock.readUnlock();
      else lock.writeUnlock();
    },
  };
}

const rwlock = (buffer) => new RWLock(buffer);
const prepare = (count) => (buffer) => Semaphore.init(buffer, 0, count);
const one = (buffer) => (new Int32Array(buffer)[0] = 1);
const last = (buffer) => (new Int32Array(buffer, LOCK_BYTES - 4)[0] = 1);

/** `prepare` writes what is not zero at first. `NO_LOCK` excludes no agent. */
export const primitives = [
  { name: NO_LOCK, attach: () => ({ lock() {}, async lockAsync() {}, unlock() {} }) },
  { name: 'lockword Condition', attach: notified },
  { name: 'lockword Semaphore', attach: permits(1), prepare: prepare(1) },
  { name: 'lockword Semaphore, 3 of 3 permits', attach: permits(3), prepare: prepare(3) },
  { name: 'lockword RWLock, writing', attach: writes(rwlock) },
  { name: 'lockword RWLock, reading', attach: reads(rwlock) },
  { name: 'lockword RWLock, reading beside writers', attach: readsAsync },
  {
    name: 'lockword Condition, a permit',
    attach: (buffer) => permitUnder(buffer, ...mutexAndCondition(buffer)),
    prepare: last,
  },
  { name: 'hand-written condition', attach: handCondition, prepare: last },
  { name: 'hand-written semaphore', attach: handSemaphore, prepare: one },
  { name: 'hand-written lock, writing', attach: writes(handRwlock) },
  { name: 'hand-written lock, reading', attach: reads(handRwlock) },
];
