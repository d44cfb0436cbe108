/**
 * Many asynchronous callers of one agent at one primitive: in order, and at a cost that does not
 * grow with their number.
 */
import { expect } from 'chai';

import {
  Counter,
  Event,
  Mutex,
  Permits,
  RecursiveMutex,
  RWLock,
  Semaphore,
  waitAny,
} from '../../../js/src/index.js';
import { counterAtLeastStep } from '../../../js/src/core/counter.js';
import { isNode, spawn } from '../agents.js';
import { mode, timers } from '../modes.js';
import { sleep, Stranger, within } from '../support.js';
import { shapeOf } from './waits.js';

/** Has each of these calls made, and returns the order in which they were let through. */
async function orderOf(calls) {
  const order = [];
  const all = calls.map(async (call, i) => {
    const end = await call();
    order.push(i);
    if (typeof end === 'function') end();
  });
  await within(20_000, Promise.all(all));
  return order;
}

const numbers = (n) => Array.from({ length: n }, (_, i) => i);

function lockedMutex() {
  const mutex = new Mutex();
  mutex.tryLock();
  return mutex;
}

function writtenLock() {
  const lock = new RWLock();
  lock.tryWriteLock();
  return lock;
}

/** What has a method `waitAny`: the event's next set, or a permit. */
function eventOrPermit() {
  const [event, semaphore] = [new Event(), Semaphore.create(0)];
  return Object.assign(event, { waitAny: () => waitAny([event.when(), semaphore.when()]) });
}

/** An automatic event as a lock: whoever it lets through sets it. */
function passingEvent() {
  const event = Event.create({ autoReset: true });
  event.set();
  return () => event.waitAsync().then(() => event.set());
}

const holding = (lock) => () => lock.runExclusive(async () => {});

/** What a task does again and again, by microtasks alone; a task's number tells two kinds apart. */
const RELOCKING = {
  'a mutex': () => holding(new Mutex()),
  'a recursive mutex': () => holding(new RecursiveMutex()),
  'a semaphore': () => holding(Semaphore.create(1)),
  permits: () => holding(Permits.create(1)),
  'an automatic event': passingEvent,
  'a lock to write': () => holding(new RWLock()),
  'a lock to read and to write': () => {
    const lock = new RWLock();
    return (i) => (i ? lock.runExclusive(async () => {}) : lock.runShared(async () => {}));
  },
  'permits of a semaphore, one and two': () => {
    const semaphore = Semaphore.create(2);
    return (i) => semaphore.runExclusive(async () => {}, { permits: 1 + i });
  },
};

describe('Many asynchronous callers of one agent', () => {
  for (const [what, make] of Object.entries(RELOCKING)) {
    it(`two that relock by microtasks alone take turns, and the event loop turns: ${what}`, async () => {
      const relock = make();
      const turns = [0, 0];
      let hasTurned = false;
      timers.setTimeout(() => (hasTurned = true), 20);
      const start = performance.now();
      // The limit is for a loop that does not turn: then no timer would end the test.
      const lasts = () => !hasTurned && performance.now() < start + 5_000;
      const task = async (i) => {
        while (lasts()) (await relock(i), turns[i]++);
      };
      await Promise.all([0, 1].map((i) => task(i)));
      expect(hasTurned).to.equal(true);
      expect(Math.min(...turns) / Math.max(...turns)).to.be.above(0.3);
    });
  }

  it('wait for their own values when more copies of lockword have numbered steps than fit a key', async () => {
    const { number } = counterAtLeastStep;
    counterAtLeastStep.number = 42;
    try {
      const counter = Counter.create(0);
      const order = [];
      const calls = [4, 3].map((n) => counter.waitUntilAsync(n).then(() => order.push(n)));
      await sleep(5);
      counter.increment(3);
      await within(20_000, calls[1]);
      expect(order).to.deep.equal([3]);
      counter.increment();
      await within(20_000, calls[0]);
    } finally {
      counterAtLeastStep.number = number;
    }
  });

  it('get permits in the order in which they came, each of them as many as are enough', async () => {
    const semaphore = Semaphore.create(0);
    const take = (n) => () => semaphore.acquireAsync({ permits: n });
    const order = orderOf([1, 3, 1, 2, 1, 3, 2].map(take));
    semaphore.release(5);
    await sleep(5);
    semaphore.release(3);
    await sleep(5);
    semaphore.release(5);
    expect(await order).to.deep.equal([0, 1, 2, 3, 4, 5, 6]);
    expect(semaphore.permits).to.equal(0);
  });

  it('keep their order, though the first one was woken in vain before the others came', async () => {
    const semaphore = Semaphore.create(0);
    const order = [];
    const calls = [];
    const ask = async (i) => {
      calls.push(
        semaphore.waitAsync().then(async () => {
          order.push(i);
          await sleep(1);
          semaphore.release();
        }),
      );
      await sleep(3);
    };
    await ask(0);
    semaphore.release();
    expect(semaphore.tryAcquire()).to.equal(true);
    await sleep(3);
    for (let i = 1; i < 10; i++) await ask(i);
    semaphore.release();
    await within(20_000, Promise.all(calls));
    expect(order).to.deep.equal(numbers(10));
  });

  it('do not keep each other from what is enough for one of them', async () => {
    const semaphore = Semaphore.create(0);
    const order = orderOf(
      [3, 3, 2, 2, 1, 1].map(
        (n) => () => semaphore.acquireAsync({ permits: n }).then(() => () => semaphore.release(n)),
      ),
    );
    for (const n of [1, 0, 1]) {
      semaphore.release(n);
      await sleep(5);
    }
    semaphore.release(1);
    expect((await order).sort()).to.deep.equal(numbers(6));
    expect(semaphore.permits).to.equal(3);
  });

  it('write one after the other, in the order in which they came', async () => {
    const lock = new RWLock();
    await lock.writeLockAsync();
    const order = orderOf(
      numbers(50).map(() => () => lock.writeLockAsync().then(() => () => lock.writeUnlock())),
    );
    lock.writeUnlock();
    expect(await order).to.deep.equal(numbers(50));
  });

  it('read and write, and none is left', async () => {
    const lock = new RWLock();
    let writes = 0;
    let reads = 0;
    const job = (i) => async () => {
      if (i % 3 === 0) {
        await lock.writeLockAsync();
        expect([++writes, reads]).to.deep.equal([1, 0]);
        if (i % 9 === 0) await sleep(0);
        writes--;
        lock.writeUnlock();
      } else if (i % 3 === 1) {
        await lock.readLockAsync();
        expect(writes).to.equal(0);
        reads++;
        if (i % 5 === 0) await sleep(0);
        reads--;
        lock.readUnlock();
      } else {
        await lock.upgradableLockAsync();
        await lock.upgradeAsync();
        lock.downgrade();
        lock.readUnlock();
      }
    };
    expect(await orderOf(numbers(300).map(job))).to.have.length(300);
    expect([lock.readers, lock.isWriteLocked]).to.deep.equal([0, false]);
  });

  it('are let through by a value, each at its own', async () => {
    const counter = Counter.create(0);
    const order = orderOf([5, 3, 1, 4, 2, 3].map((n) => () => counter.waitUntilAsync(n)));
    for (let i = 0; i < 5; i++) {
      counter.increment();
      await sleep(2);
    }
    expect(await order).to.deep.equal([2, 4, 1, 5, 3, 0]);
  });

  it('of which some wait for something else, too, get what they get once', async () => {
    const [semaphore, event] = [Semaphore.create(0), new Event()];
    const any = () => waitAny([semaphore.when(), event.when(), semaphore.when(2)]);
    const anys = [any(), any()];
    const plain = semaphore.acquireAsync();
    const late = any();
    semaphore.release(3);
    expect((await within(10_000, Promise.all([...anys, plain]))).map(shapeOf)).to.deep.equal([
      0,
      0,
      'guard',
    ]);
    event.set();
    expect(await within(10_000, late)).to.equal(1);
    expect(semaphore.permits).to.equal(0);
  });
});

describe('A semaphore in memory that was a mutex a moment ago', () => {
  it('serves its callers, though a wait of the mutex is pending still', async () => {
    const memory = new SharedArrayBuffer(Semaphore.BYTE_LENGTH);
    const mutex = new Mutex(memory);
    new Stranger(mutex).lock();
    expect(await mutex.lockAsync(5)).to.equal(false);
    new Int32Array(memory).fill(0);
    const semaphore = new Semaphore(memory);
    const waiting = semaphore.waitAsync();
    semaphore.release();
    expect(await within(10_000, waiting)).to.equal(true);
  });
});

if (mode === 'normal') {
  describe('A thousand asynchronous callers of one agent', () => {
    for (const [what, type, take, give] of [
      ['acquireAsync', 'Semaphore', 'acquireAsync', 'release'],
      ['writeLockAsync', 'RWLock', 'writeLockAsync', 'writeUnlock'],
      ['readLockAsync', 'RWLock', 'readLockAsync', 'readUnlock'],
      ['upgradableLockAsync', 'RWLock', 'upgradableLockAsync', 'upgradableUnlock'],
      ['waitAsync', 'Event', 'waitAsync', 'set'],
      ['lockAsync', 'Mutex', 'lockAsync', 'unlock'],
    ]) {
      it(`cost a few looks at the word each, and hardly a timer or a wait: ${what}`, async () => {
        const agent = spawn(
          async ({ counts, data, ...lockword }) => {
            const { type, take, give } = data;
            const it = lockword[type].create?.(type === 'Semaphore' ? 1 : { autoReset: true });
            const primitive = it ?? new lockword[type]();
            const { loads, timers, calls } = counts;
            const all = Array.from({ length: 1000 }, () => {
              // Each caller comes after another set.
              if (type === 'Event') (primitive.set(), primitive.reset());
              return primitive[take]().then(() => primitive[give]());
            });
            if (type === 'Event') primitive.set();
            await Promise.all(all);
            return [(counts.loads - loads) / 1000, counts.timers - timers, counts.calls - calls];
          },
          { type, take, give },
          'counted',
        );
        const [loads, timers, calls] = await within(20_000, agent.result);
        expect(loads).to.be.below(25);
        expect(timers).to.be.below(100);
        expect(calls).to.be.below(100);
      });
    }
  });
  describe('Very many asynchronous callers of one agent', () => {
    const FEW = 1000;
    const SOME = 5000;
    const MANY = 20_000;

    /**
     * How much longer each of many takes than each of a few. A busy machine can spoil a
     * measurement: only a sixth one that is above `most` counts.
     */
    async function growth(msOf, most) {
      const measured = [];
      for (let i = 0; i < 6 && !(Math.min(...measured) < most); i++)
        measured.push(await measure(msOf));
      return Math.min(...measured);
    }

    async function measure(msOf) {
      await msOf(FEW);
      const few = Math.min(await msOf(FEW), await msOf(FEW), await msOf(FEW));
      return ((await msOf(MANY)) / few) * (FEW / MANY);
    }

    it('are let through by one change as fast if they wait for many values, each or two for one', async () => {
      const drain = async (valueOf) => {
        const counter = Counter.create(0);
        const all = numbers(MANY).map((i) => counter.waitUntilAsync(valueOf(i)));
        const start = performance.now();
        counter.increment(MANY);
        await Promise.all(all);
        return performance.now() - start;
      };
      const same = () => drain(() => 1);
      const own = () => drain((i) => i + 1);
      const shared = () => drain((i) => (i % (MANY / 2)) + 1);
      const most = 10 * Math.max(await same(), await same(), await same());
      for (const values of [own, shared])
        expect(Math.min(await values(), await values())).to.be.below(most);
    });

    for (const [what, make] of [
      ['acquireAsync', () => Semaphore.create(0)],
      ['lockAsync', lockedMutex],
    ]) {
      it(`leave a long line as fast as a short one, whoever gives up: ${what}`, async () => {
        const ratio = await growth(async (n) => {
          const primitive = make();
          const controllers = numbers(n).map(() => new AbortController());
          const all = controllers.map(({ signal }) => primitive[what]({ signal }).catch(() => {}));
          const start = performance.now();
          for (const i of numbers(n)) controllers[(i * 7919) % n].abort();
          const ms = performance.now() - start;
          await Promise.all(all);
          return ms;
        }, 10);
        expect(ratio).to.be.below(10);
      });
    }

    if (isNode) {
      for (const [what, make, end] of [
        ['Semaphore.acquireAsync', () => Semaphore.create(0), (it) => it.release()],
        ['RWLock.acquireWriteAsync', writtenLock, (it) => it.writeUnlock()],
        ['RWLock.upgradableLockAsync', writtenLock, (it) => it.writeUnlock()],
        ['Mutex.acquireAsync', lockedMutex, (it) => it.unlock()],
        ['Mutex.runExclusive', lockedMutex, (it) => it.unlock()],
        ['Event.waitAsync', () => new Event(), (it) => it.set()],
        ['Counter.waitUntilAsync', () => Counter.create(0), (it) => it.increment()],
        ['Event.waitAny of two', eventOrPermit, (it) => it.set()],
      ]) {
        it(`take at most a kilobyte each: ${what}`, async () => {
          const { setFlagsFromString } = await import('node:v8');
          const { runInNewContext } = await import('node:vm');
          setFlagsFromString('--expose-gc');
          const collect = runInNewContext('gc');
          const call = /\.(\w+)/.exec(what)[1];
          const argument = { runExclusive: () => {}, waitUntilAsync: 1 }[call];
          const measure = async () => {
            const primitive = make();
            const all = [];
            collect();
            const before = process.memoryUsage().heapUsed;
            for (let i = 0; i < SOME; i++) {
              const ended = primitive[call](argument);
              all.push(call.startsWith('acquire') ? ended.then((guard) => guard.unlock()) : ended);
            }
            collect();
            const bytes = (process.memoryUsage().heapUsed - before) / SOME;
            end(primitive);
            if (call === 'upgradableLockAsync')
              for (const ended of all) await ended.then(() => primitive.upgradableUnlock());
            await Promise.all(all);
            return bytes;
          };
          // The engine may compile code meanwhile, and keeps that in the heap, too.
          let bytes = await measure();
          for (let i = 0; i < 2 && bytes >= 1024; i++) bytes = await measure();
          expect(bytes).to.be.below(1024);
        });
      }
    }
  });
}
