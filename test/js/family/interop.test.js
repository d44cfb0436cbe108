/** C as WebAssembly in workers, and JavaScript on the main thread, on the words of one struct. */
import { expect } from 'chai';

import * as lockword from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { built, sleep, within } from '../support.js';

const {
  Barrier,
  Condition,
  Counter,
  Event,
  Latch,
  layout,
  Mutex,
  Once,
  Permits,
  RecursiveMutex,
  RWLock,
  Semaphore,
  WaitGroup,
} = lockword;

const PAGE = 65536;
const PERMITS = 3;
const QUEUE = 4;

/** Written by interop.build.js. */
const module = await built('family.wasm');

/** struct shared of interop.c, less the numbers at its end. */
const shared = layout({
  mutex: Mutex,
  notFull: Condition,
  notEmpty: Condition,
  permits: Semaphore,
  lock: RWLock,
  group: WaitGroup,
  start: Event,
  baton: Event,
  barrier: Barrier,
  once: Once,
  arrived: Counter,
  recursive: RecursiveMutex,
  latch: Latch,
  pool: Permits,
});

const NUMBERS = [
  'pair0',
  'pair1',
  'queued',
  'consumed',
  'inside',
  'worst',
  'torn',
  'recursion',
  'leaders',
  'runs',
  'user0',
  'user1',
  'clashes',
];

/** The struct in a new memory, above the module's data and a stack for each of its instances. */
function share(parties = 1) {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true });
  const at = 32 * PAGE + 8;
  const primitives = shared.on(memory, at);
  Semaphore.init(memory, at + shared.offsets.permits, PERMITS);
  Event.init(memory, at + shared.offsets.baton, { autoReset: true });
  Barrier.init(memory, at + shared.offsets.barrier, parties);
  Latch.init(memory, at + shared.offsets.latch, parties);
  Permits.init(memory, at + shared.offsets.pool, 2);
  const numbers = new Uint32Array(memory.buffer, at + shared.byteLength, NUMBERS.length);
  const read = () => Object.fromEntries(NUMBERS.map((name, i) => [name, Atomics.load(numbers, i)]));
  return { memory, at, primitives, numbers, read };
}

/** Runs one of the functions of interop.c in a worker. */
const inC = ({ memory, at }, i, name, n) =>
  spawn(
    async ({ data, imports, say }) => {
      const { memory, module, at, stack, name, n } = data;
      const { instance } = await WebAssembly.instantiate(module, { env: { memory }, ...imports() });
      instance.exports.__stack_pointer.value = stack;
      say('calling');
      const start = performance.now();
      const answer = instance.exports[name](at, n);
      return { answer, ms: performance.now() - start };
    },
    { memory, module, at, stack: (8 + 2 * i) * PAGE, name, n },
  );

const answersOf = async (agents) => {
  const results = await within(
    25_000,
    Promise.all(agents.map((agent) => agent.result)),
    'the workers in C',
  );
  return results.map(({ answer }) => answer);
};

describe('interop of the family: C and JavaScript on the same words', () => {
  it('agree on where each primitive of a struct is', async () => {
    const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true });
    const imports = {
      env: { memory },
      lockword: { self: () => 0x10000001, now: () => performance.now() },
    };
    const { instance } = await WebAssembly.instantiate(module, imports);
    const inC = [...Object.keys(shared.offsets), 'numbers'].map((_, i) =>
      instance.exports.family_offset(i),
    );
    expect(inC).to.deep.equal([...Object.values(shared.offsets), shared.byteLength]);
  });

  it('share permits, a pool, a read-write lock, a recursive mutex, an event and a wait group', async () => {
    const TURNS = 2_000;
    const MINE = 100;
    const memory = share();
    const { permits, pool, lock, group, start, recursive } = memory.primitives;
    const { numbers } = memory;
    group.add(2);
    const agents = [0, 1].map((i) => inC(memory, i, 'family_work', TURNS));
    for (const agent of agents) await agent.said('calling');
    await sleep(5);
    start.set();
    for (let turn = 0; turn < MINE; turn++) {
      const n = 1 + (turn % PERMITS);
      expect(await within(10_000, permits.waitAsync({ permits: n }))).to.equal(true);
      if (Atomics.add(numbers, 4, n) + n > PERMITS) Atomics.add(numbers, 5, 1);
      if (turn % 10 === 0) await sleep(0);
      Atomics.sub(numbers, 4, n);
      permits.release(n);

      await within(
        10_000,
        pool.runExclusive(async (which) => {
          if (Atomics.add(numbers, 10 + which, 1) !== 0) Atomics.add(numbers, 12, 1);
          if (turn % 10 === 0) await sleep(0);
          Atomics.sub(numbers, 10 + which, 1);
        }),
      );

      if (turn % 2) await within(10_000, lock.writeLockAsync());
      else
        await within(
          10_000,
          lock.upgradableLockAsync().then(() => lock.upgradeAsync()),
        );
      numbers[0]++;
      if (turn % 10 === 0) await sleep(0);
      numbers[1]++;
      lock.downgrade();
      expect(numbers[0]).to.equal(numbers[1]);
      lock.readUnlock();

      await within(
        10_000,
        recursive.runExclusive((guard) => {
          guard.lock();
          numbers[7]++;
        }),
      );
    }
    expect(await within(25_000, group.waitAsync())).to.equal(true);
    expect(await answersOf(agents)).to.deep.equal([0, 0]);
    const written = TURNS + MINE;
    expect(memory.read()).to.include({
      pair0: written,
      pair1: written,
      inside: 0,
      worst: 0,
      user0: 0,
      user1: 0,
      clashes: 0,
      torn: 0,
      recursion: 2 * TURNS + MINE,
    });
    expect(pool.available).to.equal(2);
    expect([permits.permits, lock.readers, lock.isWriteLocked, recursive.isLocked]).to.deep.equal([
      PERMITS,
      0,
      false,
      false,
    ]);
  });

  for (const [mine, theirs] of [
    ['produce', 'consume'],
    ['consume', 'produce'],
  ]) {
    it(`the main thread ${mine}s what C ${theirs}s, by two conditions`, async () => {
      const EACH = 150;
      const memory = share();
      const { numbers } = memory;
      const { mutex, notFull, notEmpty } = memory.primitives;
      const agents = [0, 1].map((i) => inC(memory, i, `family_${theirs}`, EACH));
      const [waits, notifies] = mine === 'produce' ? [notFull, notEmpty] : [notEmpty, notFull];
      const there = () => (mine === 'produce' ? numbers[2] < QUEUE : numbers[2] > 0);
      const work = async () => {
        for (let i = 0; i < 2 * EACH; i++) {
          await mutex.lockAsync();
          expect(await waits.waitForAsync(mutex, there)).to.equal(true);
          numbers[2] += mine === 'produce' ? 1 : -1;
          mutex.unlock();
          notifies.notify();
        }
      };
      await within(25_000, work(), 'the main thread');
      expect(await answersOf(agents)).to.deep.equal([0, 0]);
      expect(memory.read()).to.include({ queued: 0, consumed: mine === 'produce' ? 2 * EACH : 0 });
      expect(mutex.isLocked).to.equal(false);
    });
  }

  it('meet at a barrier, run a once once, wait for a counter, pass a baton, and arrive at a latch', async () => {
    const CYCLES = 50;
    const memory = share(3);
    const { barrier, once, arrived, baton, latch } = memory.primitives;
    const agents = [0, 1].map((i) => inC(memory, i, 'family_meet', CYCLES));
    await once.runAsync(() => memory.numbers[9]++);
    for (let cycle = 0; cycle < CYCLES; cycle++)
      if (await within(10_000, barrier.waitAsync(), `cycle ${cycle}`))
        Atomics.add(memory.numbers, 8, 1);
    expect(await within(10_000, arrived.waitUntilAsync(2))).to.equal(true);
    baton.set();
    expect(await within(10_000, latch.arriveAndWaitAsync())).to.equal(true);
    expect(await answersOf(agents)).to.deep.equal([0, 0]);
    expect(await baton.waitAsync(10_000)).to.equal(true);
    expect(memory.read()).to.include({ runs: 1, leaders: CYCLES });
    expect([once.done, barrier.isBroken, arrived.value, baton.isSet]).to.deep.equal([
      true,
      false,
      2,
      false,
    ]);
  });

  it('C gives up in time, not before, on what JavaScript holds', async () => {
    const memory = share();
    const { lock, group, recursive } = memory.primitives;
    group.add();
    lock.tryReadLock();
    recursive.tryLock();
    const agent = inC(memory, 0, 'family_time_out', 15);
    const { answer, ms } = await within(10_000, agent.result);
    expect(answer).to.equal(5);
    expect(ms).to.be.at.least(5 * 15);
    expect(await lock.readLockAsync(0)).to.equal(true);
  });
});
