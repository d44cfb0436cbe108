/**
 * region.test.js: lockword-region on one version of Node, in processes and workers, beside a native
 * process. run.js builds the package, and runs this on each version.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';

import { expect } from 'chai';

import {
  DeadlockError,
  Event,
  LockError,
  OwnershipError,
  TimeoutError,
  waitAny as waitAnyOfLockword,
} from '../../build/node_modules/lockword/js/src/index.js';
import {
  AbandonedError,
  ClosedError,
  open,
  RegionMutex,
  RemovedError,
  waitAny,
} from '../../build/node_modules/lockword-region/index.js';
import { failure, sleep, until, within } from '../js/support.js';
import { inWorker } from './peer.js';

const PATH = `/dev/shm/lockword-test-node-${process.pid}`;
const DATA = `${PATH}-data`;
const SCRIPT = fileURLToPath(new URL('./peer.js', import.meta.url));
const NATIVE = process.env.LW_REGION_PEER;

/** How Python finds its module, unless the C library is not built. */
const PYTHON =
  process.env.LOCKWORD_LIBRARY &&
  `PYTHONPATH=${fileURLToPath(new URL('../../bindings/python', import.meta.url))}`;
/** What useTable of peer.js does. */
const TABLE_IN_PYTHON = `
import itertools, sys, lockword
region = lockword.Region(sys.argv[1])
table = region.rwtable("table")
pair = region.bytes("pair", 8).cast("I")
for i in itertools.count():
    with table.read as guard:
        assert guard.owner_died or pair[0] == pair[1], list(pair)
    with table.write as guard:
        assert guard.owner_died or pair[0] == pair[1], list(pair)
        pair[1] = pair[0]
        pair[0] += 1
        for _ in range(300):
            pass
        pair[1] += 1
    if i == 3:
        print("began", flush=True)
`;

process.emitWarning = () => {};

/** Children that are still to be ended. */
const children = new Set();

function child(command, ...args) {
  const process_ = spawn(command, args.map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(process_);
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
  const ended = once(process_, 'close').then(
    ([code, signal]) => (children.delete(process_), signal ?? code),
  );
  return {
    process: process_,
    ended: (ms = 20_000) => within(ms, ended, args.join(' ')),
    line: async () => (await within(20_000, lines.next(), `a line of ${args.join(' ')}`)).value,
    kill: () => (process_.kill('SIGKILL'), ended),
  };
}

const RUN = globalThis.Deno ? ['run', '--allow-all', '--quiet'] : [];
const peer = (name, ...args) => child(process.execPath, ...RUN, SCRIPT, name, PATH, ...args);

/** The word from which on a region has its slots: docs/layout.md. */
const SLOTS = 331776 / 4;

/** Makes the numbers that take turns keep equal. */
const begin = () => writeFileSync(DATA, new Uint32Array(2));
const numbers = () => [0, 4].map((place) => readFileSync(DATA).readUInt32LE(place));

/** Returns whether a call has claimed permits of the semaphore. */
const claims = ({ words }) => (words[2] & 0x0fffffff) !== 0;

/** A test that judges time may have been held up by others that use this machine. */
const judgesTime = (test) => test.retries(3);

let region;
let jobs;

beforeEach(() => {
  region = open(PATH);
  jobs = region.mutex('jobs');
});

afterEach(async () => {
  for (const process_ of children) {
    process_.kill('SIGKILL');
    await once(process_, 'close');
  }
  region.close();
  for (const path of [PATH, DATA]) {
    try {
      unlinkSync(path);
    } catch {
      // It was not made.
    }
  }
});

describe('a mutex of a region', () => {
  it('is a mutex', async () => {
    expect(jobs).instanceOf(RegionMutex);
    expect(jobs.isLocked).equal(false);
    expect(jobs.lock()).equal(true);
    expect([jobs.isLocked, jobs.isMine, jobs.ownerDied]).eql([true, true, false]);
    expect(await failure(() => jobs.lock())).instanceOf(DeadlockError);
    expect(jobs.tryLock()).equal(false);
    expect(await jobs.lockAsync(10)).equal(false);
    jobs.unlock();
    expect(await failure(() => jobs.unlock())).instanceOf(OwnershipError);
    expect(await jobs.runExclusive(({ ownerDied }) => [ownerDied, jobs.isMine])).eql([false, true]);
    const guard = await jobs.acquireAsync();
    expect(await failure(() => jobs.acquireAsync(1))).instanceOf(TimeoutError);
    guard.unlock();
    guard.unlock();
    expect(jobs.isLocked).equal(false);
    expect(await failure(() => jobs.lock({ timout: 1 }))).instanceOf(TypeError);
    expect(await failure(() => jobs.lockAsync('soon'))).instanceOf(TypeError);
  });

  it('excludes tasks of one thread, in the order in which they ask', async () => {
    const order = [];
    await jobs.lockAsync();
    const calls = [1, 2, 3].map((i) =>
      jobs.runExclusive(async () => (await sleep(1), order.push(i))),
    );
    jobs.unlock();
    await within(5000, Promise.all(calls));
    expect(order).eql([1, 2, 3]);
  });

  it('is the same for all objects of a name, in one thread, too', async () => {
    const again = open(PATH);
    const same = again.mutex('jobs');
    jobs.lock();
    expect(same.isMine).equal(true);
    const waits = same.lockAsync();
    await sleep(20);
    jobs.unlock();
    expect(await within(5000, waits)).equal(true);
    again.close();
    expect(jobs.isMine).equal(true);
    jobs.unlock();
  });

  it('gives up when its signal is aborted', async () => {
    jobs.lock();
    const controller = new AbortController();
    const waits = jobs.lockAsync({ signal: controller.signal });
    controller.abort(new Error('enough'));
    expect((await failure(() => waits)).message).equal('enough');
    jobs.unlock();
    expect(await jobs.lockAsync(0)).equal(true);
    jobs.unlock();
  });

  it('can be abandoned, and reset', async () => {
    expect(jobs.reset()).equal(false);
    jobs.lock();
    const waits = failure(() => jobs.lockAsync());
    jobs.abandon();
    expect(await waits).instanceOf(AbandonedError);
    expect(await failure(() => jobs.lock())).instanceOf(AbandonedError);
    expect(await failure(() => jobs.tryLock())).instanceOf(LockError);
    expect(jobs.isLocked).equal(false);
    expect(jobs.describe().state).equal('abandoned');
    expect(await jobs.resetAsync()).equal(true);
    expect(jobs.ownerDied).equal(true);
    jobs.unlock();
    expect(jobs.lock()).equal(true);
    expect(jobs.ownerDied).equal(false);
    jobs.unlock();
    expect(await failure(() => jobs.abandon())).instanceOf(OwnershipError);
  });

  it('can be removed', async () => {
    jobs.lock();
    expect((await failure(() => region.remove('jobs'))).code).equal('EBUSY');
    jobs.unlock();
    expect(region.remove('jobs')).equal(true);
    expect(region.remove('jobs')).equal(false);
    expect(await failure(() => jobs.lock())).instanceOf(RemovedError);
    expect(`${jobs}`).equal("RegionMutex 'jobs' { removed }");
    const anew = region.mutex('jobs');
    expect(await anew.lockAsync()).equal(true);
    anew.unlock();
    expect(await failure(() => jobs.lockAsync())).instanceOf(RemovedError);
  });

  it('is not held by who holds another mutex in its place', async () => {
    const recursive = region.recursiveMutex('recursive');
    for (const name of ['jobs', 'recursive']) expect(region.remove(name)).equal(true);
    const anew = [region.mutex('jobs'), region.recursiveMutex('recursive')];
    anew.forEach((mutex) => mutex.lock());
    for (const mutex of [jobs, recursive]) {
      expect([mutex.isLocked, mutex.isMine, mutex.describe()]).eql([false, false, undefined]);
      for (const take of ['lock', 'tryLock', 'lockAsync', 'reset', 'resetAsync'])
        expect(await failure(() => mutex[take](0)), take).instanceOf(RemovedError);
      for (const free of ['unlock', 'abandon'])
        expect(await failure(() => mutex[free]()), free).instanceOf(OwnershipError);
    }
    for (const mutex of anew) {
      mutex.unlock();
      expect(mutex.tryLock()).equal(true);
      mutex.unlock();
    }
  });

  it('is described', () => {
    region.nameThread('tester');
    expect(`${jobs}`).equal("RegionMutex 'jobs' { free }");
    jobs.lock();
    expect(`${jobs}`).match(/^RegionMutex 'jobs' { held by tester \(process \d+, thread \d+\) }$/);
    const [found] = region.list();
    expect(found).include({
      name: 'jobs',
      type: 'Mutex',
      state: 'sound',
      waiters: 0,
      acquisitions: 1,
    });
    expect(found.holder).include({ pid: process.pid, name: 'tester' });
    expect(region.describe('nobody')).equal(undefined);
    jobs.unlock();
  });

  it('is closed with its region', async () => {
    jobs.lock();
    const waits = failure(() => jobs.lockAsync());
    region.close();
    region.close();
    expect(await within(5000, waits)).instanceOf(ClosedError);
    for (const call of ['lock', 'lockAsync', 'tryLock', 'unlock', 'abandon', 'reset', 'acquire'])
      expect(await failure(() => jobs[call]())).instanceOf(ClosedError);
    for (const call of ['list', 'mutex', 'remove', 'nameThread', 'describe'])
      expect(await failure(() => region[call]('jobs'))).instanceOf(ClosedError);
    expect(`${jobs}`).equal("RegionMutex 'jobs' { closed }");
    const again = open(PATH);
    expect(again.mutex('jobs').tryLock()).equal(true);
    expect(again.mutex('jobs').ownerDied).equal(true);
    again.close();
  });
});

describe('a region', () => {
  it('of another user is refused, also where this process has it open', async function () {
    if (process.getuid() !== 0) this.skip();
    chownSync(PATH, 12345, 12345);
    expect((await failure(() => open(PATH))).code).equal('EPERM');
    open(PATH, { anyOwner: true }).close();
  });

  it('says what is wrong', async () => {
    const codeOf = async (...args) => (await failure(() => open(...args))).code;
    expect(await codeOf(`${PATH}-none`, { create: false })).equal('ENOENT');
    const there = await failure(() => open(PATH, { exclusive: true }));
    expect([there.code, there.message]).deep.equal([
      'EEXIST',
      `EEXIST: the file exists, open '${PATH}'`,
    ]);
    expect(await codeOf(SCRIPT)).equal('EBADMSG');
    expect(await codeOf('/dev/shm')).equal('EISDIR');
    symlinkSync(PATH, `${PATH}-link`);
    const { code, message } = await failure(() => open(`${PATH}-link`));
    unlinkSync(`${PATH}-link`);
    expect(code).equal('ELOOP');
    expect(message).contain('symbolic link is not followed');
    expect(await codeOf(`${PATH}-none`, { size: 1 })).equal('EINVAL');
    expect(await failure(() => open(PATH, { creat: true }))).instanceOf(TypeError);
    for (const options of [5, 'r', null])
      expect(await failure(() => open(PATH, options))).instanceOf(TypeError);
    // C would take them for 0: a file that nobody may open.
    expect(await failure(() => open(`${PATH}-none`, { mode: '0600' }))).instanceOf(TypeError);
    expect(await failure(() => open(`${PATH}-none`, { mode: -1 }))).instanceOf(RangeError);
    expect(await failure(() => open(`${PATH}-none`, { size: '400000' }))).instanceOf(TypeError);
    expect(await failure(() => open())).instanceOf(TypeError);
    expect((await failure(() => region.mutex(''))).code).equal('EINVAL');
    expect((await failure(() => region.mutex('x'.repeat(56)))).code).equal('ENAMETOOLONG');
    expect(await failure(() => region.mutex(1))).instanceOf(TypeError);
  });

  it('may be opened a hundred times by a process', () => {
    const many = Array.from({ length: 100 }, () => open(PATH));
    many[99].mutex('jobs').lock();
    many.forEach((one) => one.close());
    expect(jobs.isMine).equal(true);
    jobs.unlock();
  });

  it('may be opened and closed again and again before the event loop turns', () => {
    // An engine has addresses for some 16,000 of them.
    for (let i = 0; i < 20_000; i++) open(PATH).close();
  });
});

describe('a thread that blocks', () => {
  it('is warned once if it is the main thread', async () => {
    const one = peer('warned');
    expect(await one.line()).match(/^LOCKWORD_MAIN_THREAD lock\(\) blocks .* use lockAsync\(\)$/);
    expect(await one.line()).equal('done');
    const worker = inWorker('warned', PATH);
    expect(await within(5000, once(worker, 'message'))).eql(['done']);
  });
});

describe('processes and workers', () => {
  it('take turns, and a native process with them', async function () {
    this.timeout(600_000);
    begin();
    const turns = Number(process.env.LW_TURNS ?? 3000);
    const all = [peer('both', DATA, turns), peer('both', DATA, turns)];
    if (NATIVE) all.push(child(NATIVE, PATH, DATA, 2 * turns));
    const ends = await Promise.all(all.map(({ ended }) => ended(590_000)));
    expect(ends).eql(all.map(() => 0));
    expect(numbers()).eql(Array(2).fill(all.length * 2 * turns));
    expect(region.describe('jobs')).include({ recoveries: 0, waiters: 0, state: 'sound' });
  });

  it('take turns although one is killed every 50 ms', async function () {
    this.timeout(600_000);
    begin();
    const make = () => peer('both', DATA, 1e6);
    const all = [make(), make(), make()];
    const end = performance.now() + Number(process.env.LW_KILLS_MS ?? 1200);
    // On a busy machine most of them are killed before they have begun.
    for (let i = 0; performance.now() < end || numbers()[0] <= 100; i++) {
      await sleep(50);
      await all[i % 3].kill();
      all[i % 3] = make();
      if (NATIVE && i % 3 === 0) {
        const native = child(NATIVE, PATH, DATA, 1e9);
        await sleep(20);
        await native.kill();
      }
      await until(() => all[(i + 1) % 3].process.exitCode === null, 0);
    }
    for (const one of all) await one.kill();
    expect(await within(5000, jobs.lockAsync())).equal(true);
    const [one, other] = numbers();
    expect(one).greaterThan(100);
    if (!jobs.ownerDied) expect(one).equal(other);
    jobs.unlock();
  });

  for (const how of ['exit', 'throw', 'reject', 'kill', 'abort']) {
    it(`that end by ${how} free what they hold`, async () => {
      const one = spawn(process.execPath, [...RUN, SCRIPT, 'end', PATH, how], { stdio: 'ignore' });
      await within(10_000, once(one, 'close'));
      expect(await within(5000, jobs.lockAsync())).equal(true);
      expect(jobs.ownerDied).equal(true);
      jobs.unlock();
      expect(region.describe('jobs').recoveries).equal(1);
    });
  }

  it('that are killed are noticed by who waits, in either way', async function () {
    judgesTime(this);
    for (const way of ['lockAsync', 'lock']) {
      const one = peer('hold');
      await one.line();
      const waits = way === 'lock' ? undefined : jobs.lockAsync();
      const before = performance.now();
      one.process.kill('SIGKILL');
      expect(way === 'lock' ? jobs.lock(5000) : await within(5000, waits)).equal(true);
      expect(performance.now() - before).below(900);
      expect(jobs.ownerDied).equal(true);
      jobs.unlock();
      await one.ended();
    }
  });

  it('hear of an unlock by another one', async function () {
    judgesTime(this);
    for (const way of ['lockAsync', 'lock']) {
      const one = peer('holdAsync', 300);
      await one.line();
      const before = performance.now();
      expect(way === 'lock' ? jobs.lock(5000) : await within(5000, jobs.lockAsync())).equal(true);
      expect(performance.now() - before).within(100, 900);
      expect(jobs.ownerDied).equal(false);
      jobs.unlock();
      expect(await one.ended()).equal(0);
    }
  });

  it('wait by ten thousand calls, at no cost', async function () {
    judgesTime(this);
    jobs.lock();
    const one = peer('many', 10_000);
    expect(await one.line()).equal('waits');
    expect(Number(await one.line())).below(150);
    jobs.unlock();
    expect(await one.line()).equal('in order');
    expect(await one.ended()).equal(0);
  });

  it('are blocked at no cost, until their time is up', async function () {
    judgesTime(this);
    jobs.lock();
    const one = peer('blocked');
    const [got, ms] = (await one.line()).split(' ');
    expect(got).equal('false');
    expect(Number(ms)).below(50);
    expect(await one.ended()).equal(0);
    jobs.unlock();
  });

  it('end by themselves, with the region open', async () => {
    const one = peer('finish');
    expect(await one.line()).equal('done');
    expect(await one.ended(3000)).equal(0);
  });

  // The first call that is pending is one of lockword's own copy, and so is the last, or not.
  for (const how of ['beside others', 'alone']) {
    it(`live as long as a call is pending, ${how}`, async () => {
      const holder = peer('hold');
      await holder.line();
      const one = peer('pend', how);
      await one.line();
      await sleep(300);
      expect(one.process.exitCode).equal(null);
      await holder.kill();
      expect(await one.line()).equal('ownerDied true');
      expect(await one.ended(3000)).equal(0);
    });
  }
});

describe('a worker that blocks for seconds', () => {
  for (const what of ['mutex', 'permit']) {
    it(`keeps its place among those that wait for a ${what}, but for a look each second`, async () => {
      jobs.lock();
      const worker = inWorker('block', PATH, what);
      const [thread] = await once(worker, 'message');
      const sleeps = () =>
        Number(/^voluntary.*?(\d+)$/m.exec(readFileSync(`/proc/${thread}/status`, 'utf8'))[1]);
      await sleep(1000);
      const before = sleeps();
      await sleep(3000);
      // A look may have to wait for a mutex of the region besides.
      expect(sleeps() - before).below(9);
      jobs.unlock();
      region.semaphore('none', 0).release();
      await within(20_000, once(worker, 'exit'));
    });
  }
});

describe('a worker that is terminated', () => {
  // Deno lets a worker finish that is blocked outside of JavaScript again and again.
  for (const way of globalThis.Deno ? ['lockAsync'] : ['lock', 'lockAsync']) {
    it(`while it waits by ${way}, ends, and frees what it holds`, async function () {
      judgesTime(this);
      jobs.lock();
      const other = region.mutex('other');
      const worker = inWorker('wait', PATH, way);
      await once(worker, 'message');
      await sleep(way === 'lock' ? 150 : 20);
      const before = performance.now();
      await within(5000, worker.terminate());
      expect(performance.now() - before).below(1000);
      expect(await within(5000, other.lockAsync())).equal(true);
      expect(other.ownerDied).equal(true);
      other.unlock();
      jobs.unlock();
      expect(await within(5000, jobs.lockAsync())).equal(true);
      jobs.unlock();
    });
  }

  it('frees what it holds, and others are told', async () => {
    const worker = inWorker('hold', PATH);
    await once(worker, 'message');
    const waits = jobs.lockAsync();
    await worker.terminate();
    expect(await within(5000, waits)).equal(true);
    expect(jobs.ownerDied).equal(true);
    jobs.unlock();
  });

  it('at any moment leaves the mutex to others', async function () {
    this.timeout(600_000);
    begin();
    for (let i = 0; i < Number(process.env.LW_TERMINATIONS ?? 6); i++) {
      const workers = [1, 2].map(() => inWorker('turns', PATH, DATA, 1e6));
      await Promise.all(workers.map((worker) => once(worker, 'online')));
      await sleep(20 + ((i * 7) % 40));
      await within(10_000, Promise.all(workers.map((worker) => worker.terminate())));
      expect(await within(5000, jobs.lockAsync())).equal(true);
      const [one, other] = numbers();
      if (!jobs.ownerDied) expect(one).equal(other);
      else begin();
      jobs.unlock();
    }
  });
});

describe('a recursive mutex of a region', () => {
  let nested;
  beforeEach(() => (nested = region.recursiveMutex('nested')));

  it('is re-entered by its thread, and not by other tasks', async () => {
    expect([nested.lock(), nested.lock(), nested.tryLock()]).eql([true, true, true]);
    expect([nested.depth, nested.isMine, nested.name]).eql([3, true, 'nested']);
    const same = region.recursiveMutex('nested');
    same.unlock();
    expect(await nested.lockAsync(10)).equal(undefined);
    nested.unlock();
    const waits = nested.lockAsync();
    nested.unlock();
    const guard = await within(5000, waits);
    expect(await failure(() => nested.lock())).instanceOf(DeadlockError);
    expect(same.tryLock()).equal(false);
    expect(await failure(() => nested.unlock())).instanceOf(OwnershipError);
    guard.lock();
    expect([guard.depth, nested.depth]).eql([2, 2]);
    guard.unlock();
    guard.unlock();
    guard.unlock();
    expect([guard.depth, nested.depth, nested.isLocked]).eql([0, 0, false]);
    expect(await failure(() => guard.lock())).instanceOf(OwnershipError);
    await guard.lockAsync();
    expect(guard.isMine && nested.isMine).equal(true);
    guard[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
    expect(await failure(() => guard.lockAsync())).instanceOf(OwnershipError);
    expect(nested.isLocked).equal(false);
    nested.acquire().unlock();
    expect(await nested.runExclusive((held) => (held.lock(), held.depth))).equal(2);
    expect(nested.isLocked).equal(false);
    expect(await failure(() => nested.lock('soon'))).instanceOf(TypeError);
    expect(String(nested)).equal("RegionRecursiveMutex 'nested' { free }");
    expect((await failure(() => region.mutex('nested'))).code).equal('EEXIST');
  });

  it('is taken again by a guard within a time, or until that is aborted', async () => {
    const guard = await nested.lockAsync();
    expect([await guard.lockAsync(), await guard.lockAsync(0)]).eql([true, true]);
    const aborted = { signal: AbortSignal.abort('enough') };
    const expectRefusals = async () => {
      expect(await failure(() => guard.lockAsync('50'))).instanceOf(TypeError);
      expect(await failure(() => guard.lockAsync(NaN))).instanceOf(RangeError);
      expect(await guard.lockAsync(aborted).catch((reason) => reason)).equal('enough');
    };
    await expectRefusals();
    expect([guard.depth, nested.depth]).eql([3, 3]);
    for (let i = 0; i < 3; i++) guard.unlock();
    const other = await nested.lockAsync();
    await expectRefusals();
    expect([await guard.lockAsync(5), guard.isMine, nested.depth]).eql([false, false, 1]);
    const again = guard.lockAsync(5000);
    other.unlock();
    expect([await within(5000, again), guard.depth]).eql([true, 1]);
    guard.unlock();
    expect(nested.isLocked).equal(false);
  });

  it('can be taken 2^31 times, by a thread or a task', async () => {
    nested.lock();
    const words = new Int32Array(region.memory.buffer);
    const before = words.slice();
    nested.lock();
    const depth = words.findIndex((word, i) => i >= SLOTS && word === 1 && before[i] === 0);
    words[depth] = 2 ** 31 - 2;
    expect([nested.lock(), nested.depth]).eql([true, 2 ** 31]);
    expect(await failure(() => nested.lock())).instanceOf(RangeError);
    nested.unlock();
    expect(words[depth]).equal(2 ** 31 - 2);
    words[depth] = 0;
    nested.unlock();
    const guard = await nested.lockAsync();
    expect(words[depth]).equal(-(2 ** 31));
    words[depth] = -2;
    guard.lock();
    expect(await failure(() => guard.lock())).instanceOf(RangeError);
    guard.unlock();
    expect(words[depth]).equal(-2);
    words[depth] = -(2 ** 31);
    guard.unlock();
    expect(nested.isLocked).equal(false);
  });

  it('is given up whole by a wait for a condition', async () => {
    const condition = region.condition('condition');
    nested.lock();
    nested.lock();
    expect(condition.wait(nested, 5)).equal(false);
    expect(nested.depth).equal(2);
    nested.unlock();
    nested.unlock();
    const guard = await nested.acquireAsync();
    guard.lock();
    const waits = condition.waitAsync(guard, 5000);
    expect(nested.tryLock()).equal(true);
    nested.unlock();
    condition.notify();
    expect(await within(5000, waits)).equal(true);
    expect([guard.depth, nested.depth]).eql([2, 2]);
  });

  for (const way of ['lock', 'lockAsync']) {
    it(`of a process that is killed and took it by ${way} is told of to the next one`, async () => {
      const dies = peer('nest', way);
      expect(await dies.line()).equal('held 3');
      expect(nested.tryLock()).equal(false);
      const waits = nested.runExclusive(async (guard) => {
        expect([guard.ownerDied, guard.depth]).eql([true, 1]);
        guard.lock();
        throw new TimeoutError('on purpose');
      });
      const failed = failure(() => waits);
      await dies.kill();
      expect(await within(5000, failed)).instanceOf(TimeoutError);
      expect([nested.isLocked, nested.lock(), nested.ownerDied]).eql([false, true, true]);
      nested.lock();
      nested.abandon();
      expect(nested.isLocked).equal(false);
      expect(await failure(() => nested.lock())).instanceOf(AbandonedError);
      expect(nested.reset()).equal(true);
      expect(nested.depth).equal(1);
      nested.unlock();
      expect([nested.lock(), nested.ownerDied]).eql([true, false]);
      nested.unlock();
      expect(nested.describe()).include({ type: 'RecursiveMutex', recoveries: 1 });
    });
  }

  it('is abandoned by the task that holds it, and reset by one', async () => {
    const kept = await nested.runExclusive((guard) => {
      guard.lock();
      guard.abandon();
      guard.abandon();
      guard.unlock();
      return guard;
    });
    expect([kept.depth, kept.isMine, nested.isLocked]).eql([0, false, false]);
    expect(await failure(() => nested.lockAsync())).instanceOf(AbandonedError);
    expect(nested.describe().state).equal('abandoned');
    const guard = await nested.resetAsync(5000);
    expect([guard.ownerDied, guard.depth, nested.depth]).eql([true, 1, 1]);
    // It is this task's alone, as after lockAsync.
    expect(await failure(() => nested.lock())).instanceOf(DeadlockError);
    expect(await nested.resetAsync(5)).equal(undefined);
    expect(await failure(() => nested.resetAsync('soon'))).instanceOf(TypeError);
    const waits = nested.resetAsync();
    guard.lock();
    guard.unlock();
    guard.unlock();
    expect([await within(5000, waits), nested.isLocked]).eql([undefined, false]);
    expect(await failure(() => kept.lockAsync())).instanceOf(OwnershipError);
    // What a task does not hold any more, it cannot abandon.
    const late = await nested.acquireAsync();
    nested.abandon();
    nested.reset();
    expect(await failure(() => late.abandon())).instanceOf(OwnershipError);
    expect([late.depth, nested.depth, nested.unlock()]).eql([0, 1, undefined]);
    expect(await nested.runExclusive(({ ownerDied }) => ownerDied)).equal(false);
  });

  it('is that of processes, workers and C', async function () {
    this.timeout(120_000);
    const turns = 600;
    const worker = inWorker('nests', PATH, turns);
    const ended = once(worker, 'exit');
    const peers = [peer('nests', turns), peer('nests', turns)];
    if (NATIVE) peers.push(child(NATIVE, PATH, 'nests', turns));
    for (const one of peers) expect(await one.ended(100_000)).equal(0);
    expect(await within(100_000, ended, 'the worker')).eql([0]);
    const { buffer, byteOffset } = region.bytes('pair', 8);
    const all = (peers.length + 1) * turns;
    expect([...new Int32Array(buffer, byteOffset, 2)]).eql([all, all]);
    expect(nested.depth).equal(0);
  });
});

describe('a read-write lock of a region that knows its readers', () => {
  let table;
  beforeEach(() => (table = region.rwtable('table')));

  it('reads beside others, and writes alone', async () => {
    expect(String(table)).equal("RWTable 'table' { free }");
    const before = [table.readLock(), table.readLock(), table.tryReadLock()];
    expect([...before, await table.readLockAsync()]).eql([true, true, true, true]);
    expect([table.name, table.readers, table.isMine, table.ownerDied]).eql([
      'table',
      4,
      true,
      false,
    ]);
    expect(String(table)).equal("RWTable 'table' { 4 read }");
    expect(region.describe('table')).include({ type: 'RWTable', permits: 252, held: 4 });
    expect(await failure(() => table.writeLock())).instanceOf(DeadlockError);
    expect([table.tryWriteLock(), await table.writeLockAsync(5)]).eql([false, false]);
    expect(await failure(() => table.acquireWriteAsync(5))).instanceOf(TimeoutError);
    const writes = table.acquireWriteAsync();
    await sleep(5);
    expect([table.tryReadLock(), await table.readLockAsync(5)]).eql([true, false]);
    expect(await failure(() => table.writeUnlock())).instanceOf(OwnershipError);
    for (let i = 0; i < 5; i++) table.readUnlock();
    expect(await failure(() => table.readUnlock())).instanceOf(OwnershipError);
    const guard = await within(5000, writes);
    expect([table.readers, table.isWriteLocked, guard.ownerDied]).eql([0, true, false]);
    expect(String(table)).match(/^RWTable 'table' { held by \S+ \(process \d+, thread \d+\) }$/);
    expect(await failure(() => table.readLock())).instanceOf(DeadlockError);
    expect([table.tryReadLock(), await table.readLockAsync(5)]).eql([false, false]);
    guard.unlock();
    guard.unlock();
    expect(table.isWriteLocked || table.isMine).equal(false);
    table.acquireRead().unlock();
    table.acquireWrite().unlock();
    expect(await table.runShared(({ ownerDied }) => [ownerDied, table.readers])).eql([false, 1]);
    expect(await failure(() => table.readLock({ timout: 1 }))).instanceOf(TypeError);
    for (let reads = 0; reads < 252; reads++) table.readLock();
    // It would wait for itself.
    expect(await failure(() => table.readLock(5000))).instanceOf(RangeError);
    expect(table.tryReadLock()).equal(false);
    for (let reads = 0; reads < 252; reads++) table.readUnlock();
    expect((await failure(() => region.rwlock('table'))).code).equal('EEXIST');
  });

  it('is abandoned by a writer, and reset; closed with its region', async () => {
    const reads = table.acquireRead();
    expect(await failure(() => reads.abandon())).instanceOf(OwnershipError);
    reads.unlock();
    const shared = await failure(() => table.runShared((guard) => guard.abandon()));
    expect(shared).instanceOf(OwnershipError);
    expect(table.readers).equal(0);
    reads.abandon();
    table.writeLock();
    const waits = ['readLockAsync', 'writeLockAsync'].map((call) => failure(() => table[call]()));
    table.abandon();
    for (const error of await within(5000, Promise.all(waits)))
      expect(error).instanceOf(AbandonedError);
    for (const call of ['readLock', 'writeLock', 'tryReadLock', 'tryWriteLock'])
      expect(await failure(() => table[call]())).instanceOf(AbandonedError);
    expect([table.reset(), table.ownerDied, table.isWriteLocked]).eql([true, true, true]);
    table.writeUnlock();
    expect([await table.resetAsync(), table.tryReadLock()]).eql([false, true]);
    waits.push(
      failure(() => table.writeLockAsync()),
      failure(() => table.readLockAsync()),
    );
    await sleep(5);
    region.close();
    for (const error of await within(5000, Promise.all(waits.slice(2))))
      expect(error).instanceOf(ClosedError);
    for (const call of ['readLock', 'writeLock', 'tryReadLock', 'readUnlock', 'writeUnlock'])
      expect(await failure(() => table[call]())).instanceOf(ClosedError);
    expect(String(table)).equal("RWTable 'table' { closed }");
    region = open(PATH);
    expect([table.name, region.rwtable('table').tryWriteLock()]).eql(['table', true]);
    expect(region.rwtable('table').ownerDied).equal(false);
  });

  for (const [side, way] of [
    ['read', 'Lock'],
    ['write', 'LockAsync'],
  ]) {
    it(`is free again when a process is killed that came by ${side}${way}`, async () => {
      const one = peer('keepTable', side, way);
      expect([await one.line(), await one.line()]).eql(['waits', 'has it']);
      expect(region.describe('table').holder.pid).equal(one.process.pid);
      expect([table.writeLock(5), table.readers]).eql([false, side === 'read' ? 1 : 0]);
      const waits = table.acquireWriteAsync();
      await one.kill();
      expect((await within(5000, waits)).ownerDied).equal(side === 'write');
      table.writeUnlock();
      expect([table.readLock(), table.ownerDied]).eql([true, false]);
      table.readUnlock();
      expect(region.describe('table')).include({ recoveries: 1, held: 0 });
    });
  }

  it('is not told of a writer that is killed while it waits for readers', async () => {
    table.readLock();
    const one = peer('keepTable', 'write', 'Lock');
    expect(await one.line()).equal('waits');
    for (; await table.readLockAsync(0); await sleep(1)) table.readUnlock();
    await until(() => region.describe('table').waiters === 1, 5000);
    const waits = table.acquireReadAsync();
    await one.kill();
    expect((await within(5000, waits)).ownerDied).equal(false);
    expect(table.readers).equal(2);
    table.readUnlock();
    table.readUnlock();
    expect([table.writeLock(), table.ownerDied]).eql([true, false]);
    table.writeUnlock();
  });

  it('is free again when a worker is terminated that writes', async () => {
    const worker = inWorker('keepTable', PATH, 'write', 'LockAsync');
    while ((await once(worker, 'message'))[0] !== 'has it');
    expect(table.tryWriteLock()).equal(false);
    const waits = table.acquireReadAsync();
    await worker.terminate();
    expect((await within(5000, waits)).ownerDied).equal(true);
    table.readUnlock();
    expect(await table.writeLockAsync(5000)).equal(true);
    expect(table.ownerDied).equal(true);
    table.writeUnlock();
  });

  it('is that of Node, C and Python, although one is killed every 50 ms', async function () {
    this.timeout(600_000);
    const { LW_TABLE_KILLS } = process.env;
    // One version of Node is enough: it takes seconds of CPU time.
    if (!LW_TABLE_KILLS && !process.version.startsWith('v24.')) this.skip();
    const starts = [() => peer('useTable'), () => peer('useTable')];
    if (NATIVE) starts.push(() => child(NATIVE, PATH, 'useTable', 0));
    if (PYTHON) starts.push(() => child('env', PYTHON, 'python3', '-c', TABLE_IN_PYTHON, PATH));
    const all = starts.map((start) => start());
    for (let kills = 0; kills < Number(LW_TABLE_KILLS ?? 6); kills++) {
      const i = kills % all.length;
      // A process that failed says so by its end.
      expect(await all[i].line()).equal('began');
      await sleep(50);
      expect(all.map(({ process: { exitCode } }) => exitCode)).eql(all.map(() => null));
      expect(await all[i].kill()).equal('SIGKILL');
      all[i] = starts[i]();
    }
    for (const one of all) expect(await one.line()).equal('began');
    for (const one of all) expect(await one.kill()).equal('SIGKILL');
    const { buffer, byteOffset } = region.bytes('pair', 8);
    const pair = new Int32Array(buffer, byteOffset, 2);
    await within(
      5000,
      table.runShared(({ ownerDied }) => {
        expect(pair[0]).greaterThan(100);
        if (!ownerDied) expect(pair[0]).equal(pair[1]);
      }),
    );
    expect(table.readers).equal(0);
  });
});

describe('the other primitives of a region', () => {
  it('are found by their names, and keep what they hold', async () => {
    region.semaphore('slots', 3).tryAcquire();
    expect(region.semaphore('slots', 7).permits).equal(2);
    const again = open(PATH);
    expect(again.semaphore('slots').permits).equal(2);
    again.close();
    region.counter('counter', 4).increment();
    expect(region.counter('counter').value).equal(5);
    region.event('event', { autoReset: true }).set();
    expect(region.event('event').isSet).equal(true);
    const other = await failure(() => region.event('slots'));
    expect([other.code, other.message.includes('the file exists')]).deep.equal(['EEXIST', false]);
    expect((await failure(() => region.mutex('slots'))).code).equal('EEXIST');
    expect(await failure(() => region.semaphore('other', -1))).instanceOf(RangeError);
    expect(await failure(() => region.semaphore(3))).instanceOf(TypeError);
    expect(await failure(() => region.latch('latch'))).instanceOf(TypeError);
    expect(await failure(() => region.semaphore('slots').handle)).instanceOf(TypeError);
    expect(region.describe('slots')).include({ type: 'Semaphore', waiters: 0, byteLength: 0 });
    expect(region.describe('event')).include({ type: 'Event' });
    expect(region.remove('event')).equal(true);
    expect(region.describe('event')).equal(undefined);
  });

  it('wait no longer than they are told beside a fake clock', () => {
    const real = Object.getOwnPropertyDescriptor(globalThis, 'performance');
    let looks = 0;
    const now = () => {
      if (looks++ > 100) throw new Error('the fake clock stands still');
      return 0;
    };
    Object.defineProperty(globalThis, 'performance', { configurable: true, value: { now } });
    try {
      expect(region.semaphore('clock').wait({ timeout: 5 })).equal(false);
    } finally {
      Object.defineProperty(globalThis, 'performance', real);
    }
  });

  it('have bytes beside them', async () => {
    const table = region.bytes('table', 100);
    expect([...table]).eql(Array(100).fill(0));
    table.set([1, 2, 3]);
    const again = open(PATH);
    expect([...again.bytes('table', 100).subarray(0, 4)]).eql([1, 2, 3, 0]);
    again.close();
    expect(region.describe('table')).include({ type: 'bytes', byteLength: 100 });
    expect((await failure(() => region.bytes('table', 99))).code).equal('EEXIST');
    const big = await failure(() => region.bytes('big', 2 ** 30));
    expect(big.code).equal('ENOSPC');
    expect(big.message).contain('or for so many bytes');
    expect(await failure(() => region.bytes('none', 0))).instanceOf(RangeError);
    region.close();
    expect(table[1]).equal(2);
  });

  it('end the wait for a condition when the region is closed', async () => {
    const [mutex, changed] = [region.mutex('mutex'), region.condition('changed')];
    mutex.lock();
    const waits = failure(() => changed.waitAsync(mutex));
    region.close();
    expect(await within(5000, waits)).instanceOf(ClosedError);
  });

  it('end the wait for a condition without its mutex, if that is lost meanwhile', async () => {
    const [mutex, changed] = [region.mutex('mutex'), region.condition('changed')];
    const waits = async () => (await mutex.lockAsync(), failure(() => changed.waitAsync(mutex)));
    let waiting = waits();
    await until(() => !mutex.isLocked);
    mutex.lock();
    mutex.abandon();
    changed.notify();
    expect(await within(5000, waiting)).instanceOf(AbandonedError);
    expect([mutex.isMine, mutex.reset(), mutex.ownerDied]).eql([false, true, true]);
    expect([changed.wait(mutex, 5), mutex.ownerDied]).eql([false, false]);
    mutex.unlock();
    waiting = waits();
    await until(() => !mutex.isLocked);
    expect(region.remove('mutex')).equal(true);
    changed.notify();
    expect(await within(5000, waiting)).instanceOf(RemovedError);
  });

  it('are described, with the names of their holders', () => {
    const lock = region.rwlock('lock');
    const all = [lock, region.semaphore('slots', 3), region.counter('counter', 7)];
    all.push(region.permits('owned', 2), region.condition('condition'), region.once('once'));
    region.nameThread('the loader');
    lock.writeLock();
    const me = `the loader (process ${process.pid}, thread ${region.describe('lock').holder.tid})`;
    expect(all.map(String)).eql([
      `RWLock 'lock' { written by ${me} }`,
      "Semaphore 'slots' { 3 permits }",
      "Counter 'counter' { 7 }",
      "Permits 'owned' { 2 free, permits: 2 }",
      "Condition 'condition' { nobody waits }",
      "Once 'once' { not run yet }",
    ]);
    expect(inspect(lock)).equal(`${lock}`);
    lock.writeUnlock();
    region.remove('slots');
    expect(`${all[1]}`).equal("Semaphore 'slots' { removed }");
    region.close();
    expect(`${lock}`).equal("RWLock 'lock' { closed }");
  });

  it('have bytes that WebAssembly sees, and workers to which they are posted', async () => {
    const table = region.bytes('table', 8);
    // (module (import "env" "memory" (memory 1 65536 shared))
    //   (func (export "add") (param i32) (drop (i32.atomic.rmw.add (local.get 0) (i32.const 1)))))
    const module = new WebAssembly.Module(
      Uint8Array.from(
        (
          '00 61 73 6d 01 00 00 00 01 05 01 60 01 7f 00 02 12 01 03 65 6e 76 06 6d 65 6d 6f 72 79 ' +
          '02 03 01 80 80 04 03 02 01 00 07 07 01 03 61 64 64 00 00 0a 0d 01 0b 00 20 00 41 01 fe ' +
          '1e 02 00 1a 0b'
        ).split(' '),
        (byte) => parseInt(byte, 16),
      ),
    );
    const { exports } = new WebAssembly.Instance(module, { env: { memory: region.memory } });
    for (let i = 0; i < 3; i++) exports.add(table.byteOffset);
    const worker = inWorker('addTo');
    worker.postMessage(table);
    expect(await within(5000, once(worker, 'message'), 'the worker')).eql(['added']);
    await worker.terminate();
    const again = open(PATH);
    expect([...again.bytes('table', 8).subarray(0, 5)]).eql([3, 0, 0, 0, 1]);
    again.close();
  });

  it('are closed with their region', async () => {
    const slots = region.semaphore('slots', 1);
    const guard = slots.acquire();
    const waits = [slots.waitAsync({ permits: 1 }), slots.acquireAsync({ permits: 2 })].map(
      (call) => failure(() => call),
    );
    const event = region.event('event');
    waits.push(failure(() => waitAny([event.when(), slots.when()])));
    const other = open(`${PATH}-other`);
    const elsewhere = other.semaphore('slots');
    waits.push(failure(() => waitAny([event.when(), elsewhere.when()])));
    const source = event.when();
    const permit = region.permits('owned', 1).when();
    region.close();
    for (const error of await within(5000, Promise.all(waits)))
      expect(error).instanceOf(ClosedError);
    for (const call of ['wait', 'waitAsync', 'tryAcquire', 'release', 'acquire'])
      expect(await failure(() => slots[call]())).instanceOf(ClosedError);
    expect(await failure(() => guard.unlock())).instanceOf(ClosedError);
    for (const late of [source, permit])
      expect(await failure(() => waitAny([late]))).instanceOf(ClosedError);
    // What waited for either of two does not take the other one any more.
    elsewhere.release();
    await sleep(20);
    expect(elsewhere.permits).equal(1);
    other.close();
    unlinkSync(`${PATH}-other`);
    const again = open(PATH);
    again.semaphore('slots').release();
    expect(again.semaphore('slots').tryAcquire()).equal(true);
    const anew = again.permits('owned', 1).when();
    expect(await waitAny([again.semaphore('slots').when(), anew])).equal(1);
    expect(anew.permit.number).equal(0);
    anew.permit.release();
    again.close();
  });

  it('give no more permits than there are, in processes, workers and C', async function () {
    this.timeout(600_000);
    const turns = Number(process.env.LW_TURNS ?? 3000);
    const worker = inWorker('permits', PATH, turns);
    const all = [peer('permits', turns), peer('permits', turns)];
    if (NATIVE) all.push(child(NATIVE, PATH, 'permits', turns));
    const ended = once(worker, 'exit');
    const ends = await Promise.all(all.map(({ ended }) => ended(590_000)));
    expect(ends).eql(all.map(() => 0));
    expect(await within(590_000, ended)).eql([0]);
    const { buffer, byteOffset } = region.bytes('inside', 8);
    expect([...new Int32Array(buffer, byteOffset, 2)]).eql([0, (all.length + 1) * turns]);
    expect(region.semaphore('slots').permits).equal(3);
  });

  it('have permits with owners, which are free again when an owner dies', async () => {
    const owned = region.permits('owned', 2);
    expect(owned.tryAcquire().number).equal(0);
    const one = owned.acquire();
    expect([one.number, owned.count, owned.available]).eql([1, 2, 0]);
    expect(owned.tryAcquire()).equal(undefined);
    expect(await failure(() => owned.acquire(5))).instanceOf(TimeoutError);
    expect(region.describe('owned')).include({ type: 'Permits', permits: 2, held: 2 });
    one.release();
    region.close();
    expect(await failure(() => owned.tryAcquire())).instanceOf(ClosedError);
    region = open(PATH);
    const again = region.permits('owned', 2);
    expect(again.available).equal(2);
    const others = await failure(() => region.permits('owned', 3));
    expect([others.code, others.message.includes('another number of permits')]).deep.equal([
      'EEXIST',
      true,
    ]);
    expect(await failure(() => region.permits('none', 0))).instanceOf(RangeError);
    const keeper = peer('keepPermits');
    expect(await keeper.line()).equal('held');
    const task = again.runExclusive((number) => number);
    await sleep(20);
    expect(again.available).equal(0);
    await keeper.kill();
    expect(await within(10_000, task)).equal(0);
    expect(region.describe('owned')).include({ held: 0 });
  });

  it('give each permit to one owner at a time, in processes and workers', async () => {
    const turns = 3000;
    const worker = inWorker('ownPermits', PATH, turns);
    const ended = once(worker, 'exit');
    const all = [1, 2].map(() => peer('ownPermits', turns));
    expect(await Promise.all(all.map(({ ended }) => ended(60_000)))).eql([0, 0]);
    expect(await within(60_000, ended)).eql([0]);
    const { buffer, byteOffset } = region.bytes('owners', 12);
    expect([...new Int32Array(buffer, byteOffset, 3)]).eql([0, 0, 3 * turns]);
    expect(region.permits('owned', 2).available).equal(2);
  });

  for (const way of ['wait', 'waitAsync']) {
    it(`release what waits by ${way} in another process`, async () => {
      const one = peer('pass', way);
      const two = peer('pass', way);
      const both = async (text) => {
        for (const peer of [one, two]) expect(await peer.line()).equal(text);
      };
      const group = region.waitGroup('waitGroup');
      const latch = region.latch('latch', 2);
      group.add(2);
      await both('waits');
      region.event('event').set();
      await both('event');
      group.done();
      group.done();
      await both('waitGroup');
      latch.countDown(2);
      await both('latch');
      region.counter('counter').increment(5);
      await both('counter 5');
      expect(await within(5000, region.barrier('barrier', 3).waitAsync())).not.equal(undefined);
      await both('barrier');
      expect(await Promise.all([one.ended(), two.ended()])).eql([0, 0]);
    });

    it(`are not claimed any more by a process that is killed in ${way}`, async () => {
      const slots = region.semaphore('slots', 3);
      slots.tryAcquire();
      const one = peer('claim', way);
      expect(await one.line()).equal('waits');
      await until(() => claims(slots), 5000);
      const waits = slots.waitAsync({ permits: 2 });
      await one.kill();
      expect(await within(10_000, waits)).equal(true);
    });
  }

  it('are not claimed any more by a worker that is terminated', async () => {
    const slots = region.semaphore('slots', 3);
    slots.tryAcquire();
    const worker = inWorker('claim', PATH, globalThis.Deno ? 'waitAsync' : 'wait');
    await once(worker, 'message');
    await sleep(150);
    const waits = slots.waitAsync({ permits: 2 });
    await within(5000, worker.terminate());
    expect(await within(10_000, waits)).equal(true);
  });

  it('read and write, and run once, in three processes', async () => {
    const n = 600;
    const peers = [peer('readAndWrite', n), peer('readAndWrite', n)];
    if (NATIVE) peers.push(child(NATIVE, PATH, 'readAndWrite', n));
    expect(await Promise.all(peers.map(({ ended }) => ended()))).eql(peers.map(() => 0));
    const { buffer, byteOffset } = region.bytes('pair', 8);
    const sum = 1 + (n / 2) * peers.length;
    expect([...new Int32Array(buffer, byteOffset, 2)]).eql([sum, sum]);
  });

  it('know their threads by the ids of their region', async () => {
    // It comes first, so that this thread's id is not what it is in `region`.
    const one = child(process.execPath, ...RUN, SCRIPT, 'begin', `${PATH}-other`);
    await one.line();
    const other = open(`${PATH}-other`);
    const locks = [region.rwlock('lock'), other.rwlock('lock')];
    const runs = [region.once('run'), other.once('run')];
    await Promise.all(locks.map((lock) => lock.writeLockAsync()));
    expect(locks.map((lock) => lock.isMine)).eql([true, true]);
    expect(region.describe('lock').holder.pid).equal(process.pid);
    expect(await failure(() => locks[0].writeLock())).instanceOf(DeadlockError);
    for (const lock of locks) lock.writeUnlock();
    expect(await failure(() => locks[0].writeUnlock())).instanceOf(OwnershipError);
    const ran = await runs[0].runAsync(async () => {
      expect(await runs[1].runAsync(() => expect(runs[0].runner).not.equal(runs[1].runner))).equal(
        true,
      );
    });
    expect(ran).equal(true);
    other.close();
    unlinkSync(`${PATH}-other`);
  });

  for (const way of ['wait', 'waitAsync']) {
    it(`notify what waits by ${way} in another process`, async () => {
      const peers = [peer('waitFor', way), peer('waitFor', way)];
      for (const { line } of peers) expect(await line()).equal('waits');
      const { buffer, byteOffset } = region.bytes('pair', 8);
      const ready = new Int32Array(buffer, byteOffset, 1);
      const condition = region.condition('condition');
      await jobs.runExclusive(() => (ready[0] = 1));
      condition.notify();
      const has = peers.map(({ line }) => line());
      expect(await Promise.race(has)).equal('has it');
      await until(() => ready[0] === 0, 5000);
      await jobs.runExclusive(() => (ready[0] = 1));
      condition.notifyAll();
      expect(await Promise.all(has)).eql(['has it', 'has it']);
      expect(await Promise.all(peers.map(({ ended }) => ended()))).eql([0, 0]);
      await jobs.lockAsync();
      expect(await condition.waitAsync(jobs, 20)).equal(false);
      expect(condition.wait(jobs, 20)).equal(false);
      expect(jobs.isMine).equal(true);
      jobs.unlock();
      expect(await failure(() => condition.waitAsync(jobs))).instanceOf(OwnershipError);
    });
  }

  it('hear of a native notify without delay', async function () {
    judgesTime(this);
    if (!NATIVE) this.skip();
    const condition = region.condition('condition');
    const { buffer, byteOffset } = region.bytes('pair', 8);
    const pair = new Int32Array(buffer, byteOffset, 2);
    const one = child(NATIVE, PATH, 'notify', 10);
    const began = performance.now();
    for (let i = 0; i < 10; i++) {
      await jobs.lockAsync();
      await condition.waitForAsync(jobs, () => pair[0] === 1);
      Atomics.store(pair, 0, 0);
      jobs.unlock();
    }
    expect(performance.now() - began).lessThan(2000);
    expect(await one.ended()).equal(0);
  });

  it('are run by the next process if the first one is killed', async () => {
    const one = peer('begin');
    expect(await one.line()).equal('runs');
    const ran = region.once('once').runAsync(() => {});
    await one.kill();
    expect(await within(5000, ran)).equal(true);
  });

  it('are waited for by either of two', async () => {
    const stop = region.event('stop');
    const slots = region.semaphore('slots');
    const any = waitAny([stop.when(), slots.when()]);
    slots.release();
    expect(await within(5000, any)).equal(1);
    expect(await waitAny([stop.when(), slots.when()], 10)).equal(-1);
  });

  for (const [name, any] of [
    ['lockword-region', waitAny],
    ['lockword', waitAnyOfLockword],
  ]) {
    it(`are waited for beside those of lockword, by waitAny of ${name}`, async function () {
      judgesTime(this);
      const [stop, slots] = [new Event(), region.semaphore('slots')];
      const began = performance.now();
      for (let i = 0; i < 2; i++) {
        const waits = any([stop.when(), slots.when()]);
        setTimeout(() => (i ? slots.release() : stop.set()), 50);
        expect(await within(5000, waits)).equal(i);
        expect(slots.permits).equal(0);
        stop.reset();
        // Each waits where it belongs, also alone.
        const alone = [stop.waitAsync(5000), slots.waitAsync({ timeout: 5000 })];
        setTimeout(() => (stop.set(), slots.release()), 50);
        expect(await within(5000, Promise.all(alone))).eql([true, true]);
        stop.reset();
      }
      // One that polls looks once a second.
      expect(performance.now() - began).lessThan(900);
      const controller = new AbortController();
      const { signal } = controller;
      const aborted = failure(() => any([stop.when(), slots.when()], { signal }));
      expect(await any([stop.when(), slots.when()], 10)).equal(-1);
      controller.abort('enough');
      expect(await within(5000, aborted)).equal('enough');
      const closed = failure(() => any([stop.when(), slots.when()]));
      region.close();
      expect(await within(5000, closed)).instanceOf(ClosedError);
    });
  }

  it('break nothing of lockword if waitAny finds their region closed', async () => {
    const [stop, slots] = [new Event(), region.semaphore('slots').when()];
    region.close();
    for (const any of [waitAny, waitAnyOfLockword])
      expect(await failure(() => any([stop.when(), slots]))).instanceOf(ClosedError);
    const waits = stop.waitAsync(5000);
    setTimeout(() => stop.set(), 20);
    expect(await within(3000, waits)).equal(true);
  });
});

describe('runExclusive', () => {
  it('that throws after a death declares nothing sound', async () => {
    const one = peer('hold');
    await one.line();
    await one.kill();
    await within(
      5000,
      failure(() => jobs.runExclusive(() => Promise.reject(new Error('no')))),
    );
    expect(await jobs.runExclusive(({ ownerDied }) => ownerDied)).equal(true);
    expect(await jobs.runExclusive(({ ownerDied }) => ownerDied)).equal(false);
    const guard = jobs.acquire();
    guard.abandon();
    guard.unlock();
    expect(await failure(() => jobs.lockAsync())).instanceOf(AbandonedError);
  });

  for (const kind of ['mutex', 'recursiveMutex']) {
    it(`rejects with what was thrown first, also if the lock is gone by then: ${kind}`, async () => {
      const lock = region[kind](kind);
      const fails = (act) =>
        failure(() =>
          lock.runExclusive((guard) => {
            act(guard);
            throw new EvalError('on purpose');
          }),
        );
      expect(await fails((guard) => guard.abandon())).instanceOf(EvalError);
      lock.reset();
      lock.unlock();
      expect(await fails(() => lock.abandon())).instanceOf(EvalError);
      lock.reset();
      lock.unlock();
      expect(await fails(() => region.close())).instanceOf(EvalError);
      expect(await failure(() => lock.lockAsync())).instanceOf(ClosedError);
    });
  }
});
