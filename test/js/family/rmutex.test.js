/**
 * The recursive mutex: re-entry by thread, re-entry by a task's guard, and never one for the other.
 */
import { expect } from 'chai';

import {
  Condition,
  DeadlockError,
  OwnershipError,
  RecursiveMutex,
  TimeoutError,
} from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, itBlocks, sleep, stateOf, until, within } from '../support.js';
import { threadsWait, wordsOf } from './waits.js';

const dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');

describe('RecursiveMutex: a thread', () => {
  for (const call of ['lock', 'tryLock']) {
    (call === 'lock' ? itBlocks : it)(
      `takes it again with ${call}(), and gives it back as often`,
      async () => {
        const mutex = new RecursiveMutex();
        for (let depth = 1; depth <= 5; depth++) {
          expect(mutex[call]()).to.equal(true);
          expect([mutex.depth, mutex.isLocked, mutex.isMine]).to.deep.equal([depth, true, true]);
        }
        for (let depth = 4; depth >= 0; depth--) {
          mutex.unlock();
          expect([mutex.depth, mutex.isLocked]).to.deep.equal([depth, depth > 0]);
        }
        expect(await failure(() => mutex.unlock())).to.be.instanceOf(OwnershipError);
        expect([...wordsOf(mutex)]).to.deep.equal([0, 0, 0, 0]);
      },
    );
  }

  itBlocks('takes it again without waiting, whatever the timeout', () => {
    const mutex = new RecursiveMutex();
    expect([mutex.lock(0), mutex.lock(0), mutex.lock({ timeout: 0 })]).to.deep.equal([
      true,
      true,
      true,
    ]);
    expect(mutex.depth).to.equal(3);
  });

  itBlocks('has guards, each of which gives back once', () => {
    const mutex = new RecursiveMutex();
    const [outer, inner] = [mutex.acquire(), mutex.acquire()];
    inner.unlock();
    inner.unlock();
    expect(mutex.depth).to.equal(1);
    outer[dispose]();
    expect(mutex.isLocked).to.equal(false);
  });

  itBlocks('is told at the 2^31st time, and nothing is changed', async () => {
    const mutex = new RecursiveMutex();
    mutex.lock();
    const words = wordsOf(mutex);
    words[2] = 0x7ffffffe;
    expect(mutex.tryLock()).to.equal(true);
    expect(mutex.depth).to.equal(2 ** 31);
    for (const call of ['lock', 'tryLock', 'acquire'])
      expect(await failure(() => mutex[call]())).to.be.instanceOf(RangeError);
    expect(mutex.depth).to.equal(2 ** 31);
    mutex.unlock();
    expect(mutex.depth).to.equal(2 ** 31 - 1);
  });

  it('may not give back what another holds', async () => {
    const mutex = new RecursiveMutex();
    wordsOf(mutex).set([5, 0, 3, 5]);
    expect([mutex.tryLock(), mutex.isMine, mutex.isLocked, mutex.depth]).to.deep.equal([
      false,
      false,
      true,
      4,
    ]);
    const error = await failure(() => mutex.unlock());
    expect(error).to.be.instanceOf(OwnershipError);
    expect(error.code).to.equal('ERR_NOT_OWNER');
    expect([...wordsOf(mutex)]).to.deep.equal([5, 0, 3, 5]);
  });

  itBlocks('keeps it from others until it has given it back as often as it took it', async () => {
    const mutex = new RecursiveMutex();
    mutex.lock();
    mutex.lock();
    const agent = spawn(({ RecursiveMutex, data }) => {
      const mutex = RecursiveMutex.from(data);
      const early = mutex.tryLock();
      mutex.lock();
      mutex.lock();
      const { depth } = mutex;
      mutex.unlock();
      mutex.unlock();
      return [early, depth];
    }, mutex.handle);
    await until(() => threadsWait(mutex));
    mutex.unlock();
    await sleep(5);
    expect([mutex.depth, mutex.isMine]).to.deep.equal([1, true]);
    mutex.unlock();
    expect(await within(10_000, agent.result)).to.deep.equal([false, 2]);
  });
});

describe('RecursiveMutex: a task', () => {
  it('does not share it with another task of its agent', async () => {
    const mutex = new RecursiveMutex();
    const first = await mutex.lockAsync();
    const second = mutex.lockAsync();
    await sleep(2);
    expect(await stateOf(second)).to.equal('pending');
    expect(await mutex.lockAsync(5)).to.equal(undefined);
    first.unlock();
    const guard = await within(10_000, second);
    expect([first.depth, guard.depth, mutex.depth]).to.deep.equal([0, 1, 1]);
    guard.unlock();
    expect(mutex.isLocked).to.equal(false);
  });

  it('takes it again by its guard, and waits for it after it has given it back', async () => {
    const mutex = new RecursiveMutex();
    const guard = await mutex.lockAsync();
    await guard.lockAsync();
    expect([guard.depth, mutex.depth, guard.isMine]).to.deep.equal([2, 2, true]);
    guard.unlock();
    guard.unlock();
    const other = await mutex.lockAsync();
    const again = guard.lockAsync();
    await sleep(2);
    expect([await stateOf(again), guard.depth, guard.isMine]).to.deep.equal(['pending', 0, false]);
    other.unlock();
    await within(10_000, again);
    expect([guard.depth, mutex.depth]).to.deep.equal([1, 1]);
    guard.unlock();
    expect(mutex.isLocked).to.equal(false);
  });

  it('takes it again within a time, or until it is aborted, as by any other lockAsync()', async () => {
    const mutex = new RecursiveMutex();
    const guard = await mutex.lockAsync();
    const { signal } = new AbortController();
    for (const options of [undefined, 0, -1, {}, { timeout: 0, signal }, { signal: null }])
      expect(await guard.lockAsync(options)).to.equal(true);
    expect(guard.depth).to.equal(7);
    const bad = [
      [RangeError, NaN],
      [TypeError, '50'],
      [TypeError, null],
      [TypeError, signal],
      [TypeError, { timout: 5 }],
      [TypeError, { signal: {} }],
    ];
    const expectRefusals = async () => {
      const before = [...wordsOf(mutex)];
      for (const [kind, options] of bad)
        expect(await failure(() => guard.lockAsync(options))).to.be.instanceOf(kind);
      const aborted = { signal: AbortSignal.abort('enough') };
      expect(await failure(() => guard.lockAsync(aborted))).to.equal('enough');
      expect([...wordsOf(mutex)]).to.deep.equal(before);
    };
    await expectRefusals();

    for (let i = 0; i < 7; i++) guard.unlock();
    const other = await mutex.lockAsync();
    await expectRefusals();
    expect([await guard.lockAsync(0), await guard.lockAsync(5)]).to.deep.equal([false, false]);
    const controller = new AbortController();
    const aborted = failure(() => guard.lockAsync({ signal: controller.signal }));
    await sleep(2);
    controller.abort('enough');
    expect(await within(10_000, aborted)).to.equal('enough');
    expect([guard.depth, guard.isMine, other.depth]).to.deep.equal([0, false, 1]);
    const again = guard.lockAsync(20_000);
    other.unlock();
    expect([await within(10_000, again), guard.depth]).to.deep.equal([true, 1]);
    guard.unlock();
    expect([...wordsOf(mutex)].slice(0, 2)).to.deep.equal([0, 0]);
  });

  itBlocks('excludes its own thread, which is told', async () => {
    const mutex = new RecursiveMutex();
    const guard = await mutex.lockAsync();
    const before = [...wordsOf(mutex)];
    expect(mutex.tryLock()).to.equal(false);
    expect(await failure(() => mutex.lock())).to.be.instanceOf(DeadlockError);
    expect(await failure(() => mutex.acquire(10))).to.be.instanceOf(DeadlockError);
    expect(await failure(() => mutex.unlock())).to.be.instanceOf(OwnershipError);
    expect([...wordsOf(mutex)]).to.deep.equal(before);
    guard.unlock();
    expect(mutex.tryLock()).to.equal(true);
  });

  it('waits for its own thread', async () => {
    const mutex = new RecursiveMutex();
    mutex.tryLock();
    mutex.tryLock();
    expect(await mutex.lockAsync(5)).to.equal(undefined);
    const task = mutex.lockAsync();
    mutex.unlock();
    expect(await stateOf(task)).to.equal('pending');
    mutex.unlock();
    (await within(10_000, task)).unlock();
    expect(mutex.isLocked).to.equal(false);
  });

  it('takes it again by its guard, and gives it back as often', async () => {
    const mutex = new RecursiveMutex();
    const guard = await mutex.lockAsync();
    guard.lock();
    guard.lock();
    expect([guard.depth, mutex.depth]).to.deep.equal([3, 3]);
    for (const depth of [2, 1, 0]) {
      guard.unlock();
      expect([guard.depth, mutex.depth]).to.deep.equal([depth, depth]);
    }
    guard.unlock();
    expect(await failure(() => guard.lock())).to.be.instanceOf(OwnershipError);
    const other = await mutex.lockAsync();
    expect(await failure(() => guard.lock())).to.be.instanceOf(OwnershipError);
    guard.unlock();
    expect([other.depth, mutex.depth]).to.deep.equal([1, 1]);
    other[dispose]();
    other[dispose]();
    expect(mutex.isLocked).to.equal(false);
  });

  it('gives it all back at the end of a block', async () => {
    const mutex = new RecursiveMutex();
    const guard = await mutex.acquireAsync();
    guard.lock();
    guard[dispose]();
    expect([guard.depth, mutex.isLocked]).to.deep.equal([0, false]);
  });

  it('does not take it any more after the end of its block', async () => {
    const mutex = new RecursiveMutex();
    const condition = new Condition();
    const guard = await mutex.acquireAsync();
    guard[dispose]();
    for (const call of ['lock', 'lockAsync']) {
      const error = await failure(async () => guard[call]());
      expect([error instanceof OwnershipError, error.code], call).to.deep.equal([
        true,
        'ERR_NOT_OWNER',
      ]);
      expect([mutex.isLocked, guard.isMine], call).to.deep.equal([false, false]);
    }
    // Nobody would ever give it back.
    let waiting;
    await mutex.runExclusive((guard) => {
      waiting = failure(() => condition.waitAsync(guard));
      return sleep(1);
    });
    condition.notify();
    expect((await within(10_000, waiting)).code).to.equal('ERR_NOT_OWNER');
    expect(mutex.isLocked).to.equal(false);
  });

  it('is told at the 2^31st time', async () => {
    const mutex = new RecursiveMutex();
    const guard = await mutex.lockAsync();
    wordsOf(mutex)[2] = 0x7fffffff;
    expect(await failure(() => guard.lock())).to.be.instanceOf(RangeError);
    expect(guard.depth).to.equal(2 ** 31);
  });

  it('acquireAsync() and runExclusive() throw when the time is up', async () => {
    const mutex = new RecursiveMutex();
    mutex.tryLock();
    for (const call of [
      () => mutex.acquireAsync(5),
      () => mutex.runExclusive(() => expect.fail('ran'), 5),
    ]) {
      const error = await failure(call);
      expect([error instanceof TimeoutError, error.code]).to.deep.equal([true, 'ERR_TIMEOUT']);
    }
    expect(mutex.depth).to.equal(1);
  });

  it('runExclusive() passes the guard, returns the value, and frees the mutex, also when it throws', async () => {
    const mutex = new RecursiveMutex();
    const value = await mutex.runExclusive(async (guard) => {
      guard.lock();
      await sleep(1);
      return [mutex.depth, mutex.isMine];
    });
    expect(value).to.deep.equal([2, true]);
    expect(mutex.isLocked).to.equal(false);
    const error = new Error('mine');
    expect(
      await failure(() => mutex.runExclusive((guard) => (guard.lock(), Promise.reject(error)))),
    ).to.equal(error);
    expect(mutex.isLocked).to.equal(false);
  });

  it('and threads count exactly', async () => {
    const mutex = new RecursiveMutex();
    const counter = new Int32Array(new SharedArrayBuffer(4));
    const job = async ({ RecursiveMutex, data }) => {
      const mutex = RecursiveMutex.from(data.handle);
      for (let i = 0; i < 300; i++) {
        const guard = data.blocks ? mutex.acquire() : await mutex.acquireAsync();
        if (data.blocks) mutex.lock();
        else guard.lock();
        const seen = data.counter[0];
        if (!data.blocks && i % 50 === 0) await new Promise((resolve) => setTimeout(resolve));
        data.counter[0] = seen + 1;
        if (data.blocks) mutex.unlock();
        guard[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
      }
    };
    const agents = [true, true, false].map((blocks) =>
      spawn(job, { handle: mutex.handle, counter, blocks }),
    );
    for (let i = 0; i < 100; i++) await mutex.runExclusive(() => void counter[0]++);
    for (const agent of agents) await within(20_000, agent.result);
    expect(counter[0]).to.equal(1000);
    expect(mutex.isLocked).to.equal(false);
  });
});
