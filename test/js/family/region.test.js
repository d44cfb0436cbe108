/**
 * A region in one engine: what a worker that ends held is free again, and the next holder is told;
 * nobody else's is.
 */
import { expect } from 'chai';

import { LockError, waitAny } from '../../../js/src/index.js';
import { AbandonedError, ClosedError, Region } from '../../../js/src/region.js';
import { isNode, spawn } from '../agents.js';
import { failure, sleep, stateOf, until, within } from '../support.js';

/** Deno does not tell when a terminated worker has stopped. */
const isDeno = Boolean(globalThis.Deno);
const itEnds = isDeno ? () => {} : it;

/** Deaths in the test of random moments: js-region-soak has more. */
const DEATHS = Number(globalThis.process?.env?.LOCKWORD_DEATHS ?? 6);

/** A new worker that this region watches, with a job that gets its seat in `data.seat`. */
function spawnIn(region, job, data = {}) {
  const agent = spawn(
    `async (all) => {
    const { data, heard, Region } = all;
    const region = await Region.from(await heard('seat')).join(data.name ?? 'worker');
    return (${job})({ ...all, region });
  }`,
    data,
  );
  agent.say('seat', agent.watchedBy(region));
  return agent;
}

/** Whether this is an agent's id, or a seat: docs/layout.md. */
const isTaken = (state) => state < 0 || state >= 2 ** 28;

/** Waits until a writer has come, which holds back those that come after it. */
async function untilHeldBack(table) {
  for (; await table.readLockAsync(0); await sleep(1)) table.readUnlock();
}

const hold = ({ region, say }) => {
  region.mutex('jobs').tryLock();
  say('holding');
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};

describe('Region', () => {
  let region;
  let jobs;

  beforeEach(async () => {
    region = await Region.create().join('the test');
    jobs = region.mutex('jobs');
  });

  afterEach(() => region.close());

  it('has mutexes by name, the same for all who ask', async () => {
    expect(jobs.tryLock()).to.equal(true);
    const agent = spawn(async ({ Region, data }) => {
      const region = await Region.from(data).join('other');
      return region.mutex('jobs').tryLock();
    }, region.handle);
    expect(await agent.result).to.equal(false);
    expect([jobs.isLocked, jobs.isMine, jobs.ownerDied]).to.deep.equal([true, true, false]);
    expect(`${jobs}`).to.equal("RegionMutex 'jobs' { held by the test }");
    jobs.unlock();
    expect(`${jobs}`).to.equal("RegionMutex 'jobs' { free }");
    expect(jobs.describe()).to.deep.include({ type: 'Mutex', state: 'sound', acquisitions: 1 });
    expect((await failure(() => jobs.unlock())).code).to.equal('ERR_NOT_OWNER');
  });

  it('says of a handle that went through JSON that its memory is lost', async () => {
    for (const handle of [JSON.parse(JSON.stringify(region.handle)), { type: 'Region' }]) {
      const error = await failure(() => Region.from(handle));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.contain('its memory is lost').and.contain('not as JSON');
    }
    expect((await failure(() => Region.from(undefined))).message).to.contain('watch()');
  });

  it('has the other primitives by name, and bytes', async () => {
    region.semaphore('permits', 2).tryAcquire();
    region.event('ready', { autoReset: true }).set();
    region.counter('size', 7);
    region.latch('begun', 1).countDown();
    region.barrier('round', 2);
    region.waitGroup('tasks').add(1);
    await region.once('setup').runAsync(() => {});
    region.bytes('table', 100)[99] = 5;
    const agent = spawn(async ({ Region, data }) => {
      const region = await Region.from(data).join();
      return [
        region.semaphore('permits', 9).permits,
        await region.event('ready').waitAsync(0),
        region.counter('size').value,
        region.latch('begun', 3).count,
        await region
          .barrier('round', 3)
          .waitAsync(0)
          .catch(({ code }) => code),
        region.waitGroup('tasks').count,
        region.once('setup').done,
        region.bytes('table', 100)[99],
      ];
    }, region.handle);
    expect(await agent.result).to.deep.equal([1, true, 7, 0, 'ERR_TIMEOUT', 1, true, 5]);
    expect(region.list().map(({ name }) => name)).to.have.members([
      'jobs',
      'permits',
      'ready',
      'size',
      'begun',
      'round',
      'tasks',
      'setup',
      'table',
    ]);
    expect((await failure(() => region.counter('table'))).message).to.equal(
      "'table' is the name of something else: bytes",
    );
    expect((await failure(() => region.bytes('table', 4))).message).to.equal(
      "'table' has 100 bytes",
    );
  });

  it('has permits, which have numbers', async () => {
    const gpus = region.permits('gpus', 2);
    const [one, two] = [gpus.tryAcquire(), await gpus.acquireAsync()];
    expect([one.number, two.number, gpus.tryAcquire()]).to.deep.equal([0, 1, undefined]);
    expect([gpus.count, gpus.available]).to.deep.equal([2, 0]);
    expect(region.describe('gpus')).to.deep.include({ type: 'Permits', permits: 2, held: 2 });
    expect((await failure(() => gpus.acquireAsync(5))).code).to.equal('ERR_TIMEOUT');
    const agent = spawn(async ({ Region, data }) => {
      const region = await Region.from(data).join();
      return region.permits('gpus', 2).runExclusive((number) => number);
    }, region.handle);
    const task = gpus.runExclusive((number) => `task ${number}`);
    await sleep(20);
    one.release();
    one.release();
    expect(await within(5000, task)).to.equal('task 0');
    expect(await within(5000, agent.result)).to.equal(0);
    two[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
    expect(gpus.available).to.equal(2);
    expect((await failure(() => region.permits('gpus', 3))).message).to.equal(
      "'gpus' has 2 permits",
    );
    expect((await failure(() => region.permits('none', 0))).name).to.equal('RangeError');
  });

  it('has a read-write lock that knows its readers', async () => {
    const table = region.rwtable('table');
    expect([table.name, table.readers, table.isMine]).to.deep.equal(['table', 0, false]);
    expect(`${table}`).to.equal("RWTable 'table' { free }");
    expect([await table.readLockAsync(), table.tryReadLock()]).to.deep.equal([true, true]);
    expect([table.readers, table.isMine, table.isWriteLocked]).to.deep.equal([2, true, false]);
    expect(`${table}`).to.equal("RWTable 'table' { 2 read }");
    expect(region.describe('table')).to.deep.include({ type: 'RWTable', permits: 252, held: 2 });
    expect(table.tryWriteLock()).to.equal(false);
    const agent = spawn(async ({ Region, data, say }) => {
      const table = (await Region.from(data).join('writer')).rwtable('table');
      const codes = [];
      const codeOf = (call) => {
        try {
          return call();
        } catch ({ code }) {
          return code;
        }
      };
      codes.push(
        table.readLock(),
        codeOf(() => table.writeLock()),
        table.readLock(),
      );
      table.readUnlock();
      table.readUnlock();
      codes.push(
        table.writeLock(5),
        codeOf(() => table.readUnlock()),
      );
      say('waits');
      table.writeLock();
      codes.push(
        codeOf(() => table.readLock()),
        codeOf(() => table.writeLock()),
      );
      table.writeUnlock();
      codes.push(
        codeOf(() => table.writeUnlock()),
        await table.runShared(() => 'read'),
      );
      for (let reads = 0; reads < 252; reads++) table.readLock();
      try {
        table.readLock(5000); // it would wait for itself
      } catch ({ name }) {
        codes.push(name, table.tryReadLock());
      }
      for (let reads = 0; reads < 252; reads++) table.readUnlock();
      return codes;
    }, region.handle);
    await agent.said('waits');
    await untilHeldBack(table);
    expect(table.tryReadLock()).to.equal(true); // it reads already
    table.readUnlock();
    const controller = new AbortController();
    const aborted = failure(() => table.readLockAsync({ signal: controller.signal }));
    expect(await table.readLockAsync(20)).to.equal(false);
    controller.abort(new Error('enough'));
    expect((await aborted).message).to.equal('enough');
    table.readUnlock();
    table.readUnlock();
    expect((await failure(() => table.readUnlock())).code).to.equal('ERR_NOT_OWNER');
    expect(await within(10_000, agent.result)).to.deep.equal([
      true,
      'ERR_DEADLOCK',
      true,
      false,
      'ERR_NOT_OWNER',
      'ERR_DEADLOCK',
      'ERR_DEADLOCK',
      'ERR_NOT_OWNER',
      'read',
      'RangeError',
      false,
    ]);
    expect([table.tryWriteLock(), table.isWriteLocked, table.tryReadLock()]).to.deep.equal([
      true,
      true,
      false,
    ]);
    expect(`${table}`).to.equal("RWTable 'table' { held by the test }");
    table.writeUnlock();
    expect((await failure(() => region.rwlock('table'))).message).to.match(/RWTable$/);
    expect((await failure(() => table.readLockAsync({ timout: 1 }))).name).to.equal('TypeError');
  });

  it('has a read-write lock for tasks, which take turns', async () => {
    const table = region.rwtable('table');
    const order = [];
    const task = (name, call) => call(async () => (order.push(name), await sleep(5)));
    const all = [
      task('read 1', (fn) => table.runShared(fn)),
      task('read 2', (fn) => table.runShared(fn)),
      task('write 1', (fn) => table.runExclusive(fn)),
      task('read 3', (fn) => table.runShared(fn)),
      task('write 2', (fn) => table.runExclusive(fn)),
    ];
    await within(10_000, Promise.all(all));
    expect(order).to.deep.equal(['read 1', 'read 2', 'write 1', 'read 3', 'write 2']);
    const guard = await table.acquireReadAsync();
    expect((await failure(() => guard.abandon())).code).to.equal('ERR_NOT_OWNER');
    expect(table.readers).to.equal(1);
    expect((await failure(() => table.acquireWriteAsync(5))).code).to.equal('ERR_TIMEOUT');
    // Who waits for readers, and gives up, lets those behind it in.
    const controller = new AbortController();
    const writes = failure(() => table.runExclusive(() => {}, { signal: controller.signal }));
    const behind = table.readLockAsync();
    await sleep(5);
    expect(await stateOf(behind)).to.equal('pending');
    controller.abort(new Error('enough'));
    expect([(await writes).message, await within(5000, behind)]).to.deep.equal(['enough', true]);
    table.readUnlock();
    guard.unlock();
    expect(table.readers).to.equal(0);
    // Abandoned in vain, a read ends all the same; and the table is not lost.
    const error = await failure(() => table.runShared((guard) => guard.abandon()));
    expect([error.code, error.message]).to.deep.equal(['ERR_NOT_OWNER', 'held for reading']);
    expect([table.readers, table.tryWriteLock()]).to.deep.equal([0, true]);
    table.writeUnlock();
  });

  it('has a read-write lock that a writer abandons, and resets', async () => {
    const table = region.rwtable('table');
    expect((await failure(() => table.abandon())).code).to.equal('ERR_NOT_OWNER');
    (await table.acquireWriteAsync()).abandon();
    for (const call of ['tryReadLock', 'tryWriteLock', 'readLockAsync', 'writeLockAsync'])
      expect(await failure(() => table[call]())).to.be.instanceOf(AbandonedError);
    expect(`${table}`).to.equal("RWTable 'table' { free, abandoned }");
    expect(await table.resetAsync()).to.equal(true);
    expect([table.ownerDied, table.isWriteLocked]).to.deep.equal([true, true]);
    expect(await table.readLockAsync(0)).to.equal(false);
    table.writeUnlock();
    expect(await table.resetAsync()).to.equal(false);
    expect(await table.runShared(({ ownerDied }) => ownerDied)).to.equal(false);
  });

  it('is refused where there is none, where it does not fit, and before join', async () => {
    const codeOf = async (call) => (await failure(call)).name;
    const buffer = new SharedArrayBuffer(8192);
    expect(await codeOf(() => Region.attach(buffer))).to.equal('RangeError');
    expect(await codeOf(() => Region.attach(new ArrayBuffer(8192)))).to.equal('TypeError');
    expect(await codeOf(() => Region.create(new SharedArrayBuffer(256)))).to.equal('RangeError');
    expect(await codeOf(() => Region.create(buffer, { agent: 1 }))).to.equal('TypeError');
    for (const shape of [65536, '65536', null, { byteLength: null }, { agents: null }])
      expect(await codeOf(() => Region.create(undefined, shape))).to.equal('TypeError');
    expect((await failure(() => Region.create(undefined, 65536))).message).to.equal(
      'pass { byteOffset, byteLength, agents }, not number',
    );
    // They would be a region of one's own.
    for (const memory of [null, 0, ''])
      expect(await codeOf(() => Region.create(memory))).to.equal('TypeError');
    Object.prototype.added = 1;
    try {
      Region.create(undefined, { agents: 1 });
    } finally {
      delete Object.prototype.added;
    }
    for (const byteLength of [2 ** 31, 2 ** 40, -64])
      expect(await codeOf(() => Region.create(undefined, { byteLength }))).to.equal('RangeError');
    expect(await codeOf(() => Region.create(undefined, { byteLength: '65536' }))).to.equal(
      'TypeError',
    );
    const made = Region.create(buffer, { byteOffset: 64, agents: 1 });
    expect(await codeOf(() => Region.attach(buffer, 0))).to.equal('RangeError');
    expect(await codeOf(() => Region.from({ type: 'Mutex' }))).to.equal('TypeError');
    expect(await codeOf(() => made.mutex('jobs'))).to.equal('ClosedError');
    await Region.attach(buffer, 64).join();
    expect((await failure(() => made.join())).code).to.equal('ERR_LOCK');
    for (const name of ['', 'a\0', 'a'.repeat(56), 1])
      expect(await codeOf(() => region.mutex(name))).to.match(/^(Range|Type)Error$/);
    expect(await codeOf(() => region.watch({}))).to.equal('TypeError');
    const { port1 } = new MessageChannel();
    expect((await failure(() => region.watch(port1))).message).to.contain('region.watch(worker)');
    port1.close();
    new Int32Array(buffer, 64)[2]++;
    expect(await codeOf(() => Region.attach(buffer, 64))).to.equal('RangeError');
  });

  it('has conditions, for its mutexes, and read-write locks', async () => {
    const agent = spawn(async ({ Region, data }) => {
      const region = await Region.from(data).join();
      const jobs = region.mutex('jobs');
      await region.rwlock('table').readLockAsync();
      await jobs.lockAsync();
      region.counter('size').increment();
      jobs.unlock();
      region.condition('grown').notifyAll();
    }, region.handle);
    await jobs.lockAsync();
    const size = region.counter('size');
    expect(await region.condition('grown').waitForAsync(jobs, () => size.value > 0)).to.equal(true);
    expect(jobs.isMine).to.equal(true);
    jobs.unlock();
    await agent.result;
    expect(region.rwlock('table').tryWriteLock()).to.equal(false);
  });

  it('tells when it is full', async () => {
    const small = await Region.create(undefined, { byteLength: 2048, agents: 1 }).join();
    const error = await failure(() => {
      for (let i = 0; ; i++) small.counter(`name ${i}`).increment();
    });
    expect(error.message).to.equal('no room for another name: raise byteLength');
    expect(small.counter('name 0').value).to.equal(1);
    small.close();
  });

  it('has room for some 250 mutexes by default, as README says', async () => {
    const region = await Region.create().join();
    let made = 0;
    await failure(() => {
      for (; ; made++) region.mutex(`name ${made}`);
    });
    expect(made).to.be.within(245, 260);
    region.close();
  });

  it('abandons, and resets', async () => {
    jobs.tryLock();
    const waiting = jobs.lockAsync();
    jobs.abandon();
    expect(await failure(() => waiting)).to.be.instanceOf(AbandonedError);
    expect(await failure(() => jobs.tryLock())).to.be.instanceOf(AbandonedError);
    expect(jobs.describe().state).to.equal('abandoned');
    expect(await jobs.resetAsync()).to.equal(true);
    expect(jobs.ownerDied).to.equal(true);
    jobs.unlock();
    expect(await jobs.resetAsync()).to.equal(false);
    expect(await jobs.runExclusive(({ ownerDied }) => ownerDied)).to.equal(false);
    // What fn threw is not lost, though the mutex is not held any more when it ends.
    const thrown = await failure(() =>
      jobs.runExclusive(() => {
        jobs.abandon();
        throw new EvalError('on purpose');
      }),
    );
    expect(thrown).to.be.instanceOf(EvalError);
  });

  it('has conditions, whose waits unlock the mutex, and end without it if it is lost', async () => {
    const changed = region.condition('changed');
    const waits = async () => (await jobs.lockAsync(), failure(() => changed.waitAsync(jobs)));
    let waiting = waits();
    await until(() => !jobs.isLocked);
    jobs.tryLock();
    jobs.abandon();
    changed.notify();
    expect(await within(5000, waiting)).to.be.instanceOf(AbandonedError);
    expect(jobs.isMine).to.equal(false);
    expect(await jobs.resetAsync()).to.equal(true);
    expect([jobs.ownerDied, await changed.waitAsync(jobs, 5), jobs.ownerDied]).to.deep.equal([
      true,
      false,
      false,
    ]);
    jobs.unlock();
    waiting = waits();
    await until(() => !jobs.isLocked);
    region.close();
    changed.notify();
    expect(await within(5000, waiting)).to.be.instanceOf(ClosedError);
  });

  it('frees what a thread holds that closes it, and ends its calls', async () => {
    const agent = spawnIn2(region);
    await agent.said('holding');
    const mine = jobs.acquireAsync();
    await until(() => jobs.isLocked);
    agent.say('close');
    expect((await within(10_000, mine)).ownerDied).to.equal(true);
    const pending = jobs.lockAsync();
    region.close();
    expect(await failure(() => within(10_000, pending))).to.be.instanceOf(ClosedError);
    expect(await failure(() => jobs.lockAsync())).to.be.instanceOf(ClosedError);
    await agent.result;
  });

  it('ends the calls of a thread that closes it and joins again at once', async () => {
    const agent = spawnIn2(region);
    await agent.said('holding');
    const pending = [jobs.lockAsync(), jobs.acquireAsync(), jobs.lockAsync(20_000)].map((call) =>
      failure(() => within(10_000, call)),
    );
    await sleep(5);
    region.close();
    const joined = region.join();
    const errors = await Promise.all(pending);
    expect(errors.map((error) => error.constructor)).to.deep.equal(Array(3).fill(ClosedError));
    await joined;
    agent.say('close');
    expect((await within(10_000, jobs.acquireAsync())).ownerDied).to.equal(true);
    await agent.result;
  });

  it('has a thread take no permit once it has closed it', async () => {
    const gpus = region.permits('gpus', 1);
    const held = gpus.tryAcquire();
    const pending = [
      gpus.acquireAsync(),
      waitAny([gpus.when()]),
      gpus.runExclusive(() => {}),
      gpus.acquireAsync(20_000),
    ].map((call) => failure(() => within(10_000, call)));
    const source = gpus.when();
    await sleep(5);
    region.close();
    const { signal } = new AbortController();
    const listeners = [];
    signal.addEventListener = (type, listener) => listeners.push(listener);
    expect(await failure(() => waitAny([source], { signal }))).to.be.instanceOf(ClosedError);
    expect(listeners).to.deep.equal([]);
    for (const ended of pending) expect(await ended).to.be.instanceOf(ClosedError);
    for (const call of [
      () => gpus.acquireAsync(),
      () => gpus.tryAcquire(),
      () => gpus.when(),
      () => waitAny([source]),
      () => held.release(),
    ])
      expect(await failure(async () => call())).to.be.instanceOf(LockError);
    await region.join();
    expect([gpus.available, region.permits('gpus', 1).tryAcquire().number]).to.deep.equal([1, 0]);
  });

  it('frees what a thread reads and writes that closes it, and ends its calls', async () => {
    const table = region.rwtable('table');
    const other = spawn(async ({ Region, data, say, heard }) => {
      const region = await Region.from(data).join();
      await region.rwtable('table').readLockAsync();
      say('reads');
      await heard('close');
      region.close();
      await region.join();
      const { ownerDied } = await region.rwtable('table').acquireWriteAsync();
      say('writes', ownerDied);
      await heard('close again');
      region.close();
    }, region.handle);
    await other.said('reads');
    expect(table.tryReadLock()).to.equal(true);
    const drains = failure(() => table.writeLockAsync());
    const queues = failure(() => table.readLockAsync());
    await sleep(5);
    region.close();
    for (const ended of [drains, queues])
      expect(await within(10_000, ended)).to.be.instanceOf(ClosedError);
    for (const call of [
      'readLockAsync',
      'readUnlock',
      'writeUnlock',
      'tryReadLock',
      'tryWriteLock',
    ])
      expect(await failure(() => table[call]())).to.be.instanceOf(ClosedError);
    await region.join();
    expect(table.readers).to.equal(1);
    const writes = table.writeLockAsync();
    await sleep(5);
    expect(await stateOf(writes)).to.equal('pending');
    other.say('close');
    expect(await within(10_000, writes)).to.equal(true);
    expect(table.ownerDied).to.equal(false); // a reader leaves the data as they were
    table.writeUnlock();
    expect(await other.said('writes')).to.equal(false);
    const reads = table.acquireReadAsync();
    other.say('close again');
    const guard = await within(10_000, reads);
    expect([guard.ownerDied, table.ownerDied]).to.deep.equal([true, true]);
    guard.unlock();
    await failure(() => table.runExclusive(() => Promise.reject(new Error('not mended'))));
    expect(await table.runExclusive(({ ownerDied }) => ownerDied)).to.equal(true);
    expect(await table.runExclusive(({ ownerDied }) => ownerDied)).to.equal(false);
    await other.result;
  });

  it('leaves alone what a thread takes that closes it and joins again at once', async () => {
    const table = region.rwtable('table');
    expect(table.tryReadLock()).to.equal(true);
    // The first has the mutex, and waits for the reader; the second waits for the mutex.
    const pending = ['writeLockAsync', 'readLockAsync'].map((call) => failure(() => table[call]()));
    await sleep(5);
    region.close();
    const joined = region.join();
    expect(table.tryWriteLock()).to.equal(true);
    for (const ended of pending) expect(await within(10_000, ended)).to.be.instanceOf(ClosedError);
    await joined;
    expect([table.isWriteLocked, table.tryWriteLock()]).to.deep.equal([true, false]);
    table.writeUnlock();
    // This one has the mutex already, and is about to look at the permits.
    const begun = failure(() => table.writeLockAsync());
    region.close();
    await region.join();
    expect(await within(10_000, begun)).to.be.instanceOf(ClosedError);
    expect(table.tryWriteLock()).to.equal(true);
    table.abandon();
    // So does this one, and is about to say that it writes.
    const resets = failure(() => table.resetAsync());
    region.close();
    const again = region.join();
    expect(table.tryWriteLock()).to.equal(true);
    expect(await within(10_000, resets)).to.be.instanceOf(ClosedError);
    await again;
    expect([table.isWriteLocked, table.ownerDied]).to.deep.equal([true, true]);
    table.writeUnlock();
  });

  /** Joins without being watched; holds until it is told to close the region. */
  function spawnIn2(region) {
    return spawn(async ({ Region, data, say, heard }) => {
      const region = await Region.from(data).join();
      region.mutex('jobs').tryLock();
      say('holding');
      await heard('close');
      region.close();
    }, region.handle);
  }

  if (isDeno) {
    it('refuses to watch where the engine does not tell of an end', async () => {
      const error = await failure(() => spawnIn(region, hold));
      expect(error.message).to.equal('this engine does not tell when a worker has ended');
    });
    return;
  }

  itEnds(
    'frees what a worker held that ends: who is blocked and who awaits goes on, and is told',
    async () => {
      const holder = spawnIn(region, hold, { name: 'holder' });
      await holder.said('holding');
      expect(`${jobs}`).to.equal("RegionMutex 'jobs' { held by holder }");
      const blocked = spawnIn(region, ({ region, say }) => {
        say('waiting');
        const guard = region.mutex('jobs').acquire();
        const { ownerDied } = guard;
        guard.unlock();
        return ownerDied;
      });
      await blocked.said('waiting');
      const mine = jobs.acquireAsync();
      await sleep(20);
      expect(await stateOf(mine)).to.equal('pending');
      void holder.terminate();
      const told = [];
      void blocked.result.then((died) => told.push(died));
      const guard = await within(20_000, mine);
      told.push(guard.ownerDied);
      guard.unlock();
      await within(20_000, blocked.result);
      // The first of them is told, and declares the data sound.
      expect(told.sort()).to.deep.equal([false, true]);
      expect(jobs.describe()).to.deep.include({ state: 'sound', recoveries: 1 });
    },
  );

  itEnds('gives nothing away while a worker that was terminated still runs', async () => {
    const holder = spawnIn(region, ({ region, say }) => {
      const steps = new Int32Array(
        region.bytes('steps', 4).buffer,
        region.bytes('steps', 4).byteOffset,
      );
      region.mutex('jobs').tryLock();
      say('holding');
      for (;;) Atomics.add(steps, 0, 1);
    });
    const { buffer, byteOffset } = region.bytes('steps', 4);
    const steps = new Int32Array(buffer, byteOffset, 1);
    await holder.said('holding');
    void holder.terminate();
    const guard = await within(20_000, jobs.acquireAsync());
    const before = Atomics.load(steps, 0);
    await sleep(50);
    expect([guard.ownerDied, Atomics.load(steps, 0)]).to.deep.equal([true, before]);
    guard.unlock();
  });

  itEnds('buries nobody else', async () => {
    const [first, second] = [
      hold,
      ({ region, say }) => {
        region.mutex('others').tryLock();
        say('holding');
        for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      },
    ].map((job) => spawnIn(region, job));
    await Promise.all([first.said('holding'), second.said('holding')]);
    void first.terminate();
    (await within(20_000, jobs.acquireAsync())).unlock();
    expect(region.mutex('others').isLocked).to.equal(true);
  });

  itEnds('frees the permits that a worker had', async () => {
    const owner = spawnIn(region, ({ region, say }) => {
      region.permits('gpus', 2).acquire();
      region.permits('gpus', 2).acquire();
      say('holding');
      for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });
    await owner.said('holding');
    const gpus = region.permits('gpus', 2);
    expect(gpus.available).to.equal(0);
    const both = Promise.all([gpus.acquireAsync(), gpus.acquireAsync()]);
    void owner.terminate();
    const permits = await within(20_000, both);
    expect(permits.map(({ number }) => number).sort()).to.deep.equal([0, 1]);
    for (const permit of permits) permit.release();
    expect(region.describe('gpus')).to.deep.include({ held: 0, recoveries: 1 });
  });

  itEnds('counts a death before it wakes those who wait for the permits', async () => {
    const owner = spawnIn(region, ({ region, say }) => {
      region.permits('gpus', 1).acquire();
      say('holding');
      for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });
    await owner.said('holding');
    const mine = region.permits('gpus', 1).acquireAsync();
    await sleep(20);
    const { notify } = Atomics;
    const seen = [];
    Atomics.notify = (...args) => {
      const { held, recoveries } = region.describe('gpus');
      if (!held) seen.push(recoveries);
      return notify(...args);
    };
    try {
      void owner.terminate();
      (await within(20_000, mine)).release();
    } finally {
      Atomics.notify = notify;
    }
    expect(seen).to.not.include(0);
  });

  for (const side of ['read', 'write']) {
    itEnds(`frees what a worker had that ends while it ${side}s`, async () => {
      const table = region.rwtable('table');
      const owner = spawnIn(
        region,
        ({ region, data, say }) => {
          region.rwtable('table')[`${data.side}Lock`]();
          say('holding');
          for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        },
        { side, name: 'owner' },
      );
      await owner.said('holding');
      expect(table.tryWriteLock()).to.equal(false);
      const both = [table.acquireWriteAsync(), table.acquireReadAsync()];
      void owner.terminate();
      const writer = await within(20_000, both[0]);
      expect(writer.ownerDied).to.equal(side === 'write');
      expect(region.describe('table')).to.deep.include({ held: 0, recoveries: 1 });
      writer.unlock();
      const reader = await within(20_000, both[1]);
      expect(reader.ownerDied).to.equal(false);
      reader.unlock();
    });
  }

  itEnds('is not told of a writer that ends before it writes', async () => {
    const table = region.rwtable('table');
    await table.readLockAsync();
    const writer = spawnIn(region, ({ region, say }) => {
      say('waits');
      region.rwtable('table').writeLock();
    });
    await writer.said('waits');
    await untilHeldBack(table);
    const behind = table.acquireReadAsync();
    await sleep(20);
    void writer.terminate();
    expect((await within(20_000, behind)).ownerDied).to.equal(false);
    table.readUnlock();
    table.readUnlock();
    expect(await table.runExclusive(({ ownerDied }) => ownerDied)).to.equal(false);
  });

  itEnds('lets the next thread run a once whose runner ended', async () => {
    const runner = spawnIn(region, ({ region, say }) => {
      region.once('setup').run(() => {
        say('running');
        for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });
    });
    await runner.said('running');
    const mine = region.once('setup').runAsync(() => {});
    void runner.terminate();
    expect(await within(20_000, mine)).to.equal(true);
  });

  if (isNode) {
    /** The first thing that a burial changes after the mutex; and a table's writer. */
    const moments = [
      ['add', 0],
      ['store', 256],
    ];
    for (const [call, length] of moments) {
      it(`goes on with a burial whose agent ends in the middle, at ${call}`, async () => {
        const burier = spawnIn(
          region,
          async ({ region, say, heard, data }) => {
            let ended;
            const seat = region.watch({ once: (_, end) => (ended = end), terminate() {} });
            region.mutex('its own').tryLock();
            say('seat', seat);
            await heard('ended');
            const really = Atomics[data.call];
            Atomics[data.call] = (words, index, value) => {
              const was = really.call(Atomics, words, index, value);
              if (data.length && (words.length !== data.length || index !== 3)) return was;
              say('stuck');
              for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
            };
            ended();
          },
          { call, length },
        );
        const seat = await burier.said('seat');
        const holder = spawn(async ({ Region, data, say }) => {
          const region = await Region.from(data).join();
          for (let i = 0; i < 3; i++) region.mutex(`${i}`).tryLock();
          region.rwtable('table').tryWriteLock();
          say('holding');
          for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        }, seat);
        await holder.said('holding');
        await holder.terminate();
        burier.say('ended');
        await burier.said('stuck');
        const own = region.mutex('its own').acquireAsync();
        expect(await stateOf(own)).to.equal('pending');
        void burier.terminate();
        expect((await within(10_000, own)).ownerDied).to.equal(true);
        for (let i = 0; i < 3; i++)
          expect((await within(10_000, region.mutex(`${i}`).acquireAsync())).ownerDied).to.equal(
            true,
          );
        const { ownerDied } = await within(10_000, region.rwtable('table').acquireReadAsync());
        expect(ownerDied).to.equal(true);
        // The rows are free again.
        const ids = new Int32Array(region.handle.buffer);
        expect([0, 1, 2].map((row) => isTaken(ids[32 + 16 * row]))).to.deep.equal([
          true,
          false,
          false,
        ]);
      });
    }
  }

  itEnds('has a worker join once by its seat', async () => {
    const agent = spawn(async ({ Region, heard }) => {
      const seat = await heard('seat');
      const [first, second] = [Region.from(seat), Region.from(seat)];
      const both = await Promise.allSettled([first.join(), second.join()]);
      first.close();
      const [again] = await Promise.allSettled([first.join()]);
      return [...both, again].map(({ reason }) => reason?.code);
    });
    agent.say('seat', agent.watchedBy(region));
    const codes = await within(10_000, agent.result);
    expect(codes).to.deep.equal([undefined, 'ERR_LOCK', 'ERR_LOCK']);
  });

  itEnds('frees the place of a worker that ends before it has joined', async () => {
    const small = await Region.create(undefined, { agents: 2 }).join();
    const rows = new Int32Array(small.handle.buffer, 4 * 32);
    for (let i = 0; i < 3; i++) {
      const agent = spawn(({ heard }) => heard('nothing'));
      const seat = agent.watchedBy(small);
      expect((await failure(() => agent.watchedBy(small))).code).to.equal('ERR_LOCK');
      void agent.terminate();
      await until(() => !isTaken(Atomics.load(rows, 16)));
      // As the worker would, had it come so far: its place is not there for it any more.
      const late = spawn(
        ({ Region, data }) =>
          Region.from(data)
            .join()
            .then(String, ({ code }) => code),
        seat,
      );
      expect(await late.result).to.equal('ERR_LOCK');
    }
    small.close();
  });

  itEnds('survives deaths at any moment, of several at once', async function () {
    this.timeout(600_000);
    const job = async ({ region, say }) => {
      const jobs = region.mutex('jobs');
      const { buffer, byteOffset } = region.bytes('table', 8);
      const table = new Int32Array(buffer, byteOffset, 2);
      const lock = region.rwtable('lock');
      const { buffer: b, byteOffset: from } = region.bytes('pair', 8);
      const pair = new Int32Array(b, from, 2);
      const write = (died) => {
        if (died) pair[1] = pair[0];
        else if (pair[0] !== pair[1]) say('torn');
        pair[0]++;
        for (let i = Math.random() * 300; i > 0; i--) Atomics.load(pair, 0);
        pair[1]++;
      };
      const read = (died) => {
        if (!died && pair[0] !== pair[1]) say('torn');
      };
      const useLock = async (i) => {
        if (i % 16 === 0) await lock.runExclusive(({ ownerDied }) => write(ownerDied));
        else if (i % 16 === 8) await lock.runShared(({ ownerDied }) => read(ownerDied));
        else if (i % 4 === 0) {
          lock.writeLock();
          write(lock.ownerDied);
          lock.writeUnlock();
        } else {
          lock.readLock();
          read(lock.ownerDied);
          lock.readUnlock();
        }
      };
      const turn = (died) => {
        if (died) table[1] = table[0];
        else if (table[0] !== table[1]) say('torn');
        table[0]++;
        for (let i = Math.random() * 300; i > 0; i--) Atomics.load(table, 0);
        table[1]++;
      };
      say('begun');
      for (let i = 0; ; i++) {
        await useLock(i);
        if (i % 8 === 0) await jobs.runExclusive(({ ownerDied }) => turn(ownerDied));
        else {
          jobs.lock();
          turn(jobs.ownerDied);
          jobs.unlock();
        }
      }
    };
    const start = () => spawnIn(region, job);
    let torn = 0;
    const crew = [start(), start(), start(), start()];
    for (let deaths = 0; deaths < DEATHS;) {
      for (const agent of crew)
        void agent.said('torn').then(
          () => torn++,
          () => {},
        );
      await Promise.all(crew.map((agent) => agent.said('begun')));
      await sleep(Math.random() * 10);
      const doomed = crew.splice(0, 1 + Math.floor(Math.random() * 3));
      deaths += doomed.length;
      for (const agent of doomed) void agent.terminate();
      const { buffer, byteOffset } = region.bytes('table', 8);
      const table = new Int32Array(buffer, byteOffset, 2);
      await within(
        20_000,
        jobs.runExclusive(({ ownerDied }) => {
          if (ownerDied) table[1] = table[0];
          expect(table[0]).to.equal(table[1]);
        }),
        'a turn',
      );
      await within(
        20_000,
        region.rwtable('lock').runExclusive(({ ownerDied }) => {
          const { buffer, byteOffset } = region.bytes('pair', 8);
          const pair = new Int32Array(buffer, byteOffset, 2);
          if (ownerDied) pair[1] = pair[0];
          expect(pair[0]).to.equal(pair[1]);
        }),
        'a write',
      );
      for (const _ of doomed) crew.push(start());
    }
    expect(torn).to.equal(0);
  });
});
