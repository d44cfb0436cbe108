/** lockword/worker-mutex: what the package of that name promises of a mutex. */
import { expect } from 'chai';

import { RecursiveMutex } from '../../../js/src/index.js';
import { WorkerMutex, WorkerMutexError } from '../../../js/src/worker-mutex.js';
import { ASYNC, BLOCKED, OWNER, stateOf, within } from '../support.js';
import { finish, start } from './threads.js';

const { createSharedBuffer } = WorkerMutex;
const DEPTH = 2;
const HOLDER = 3;

/** The error that a call throws: an Error of the package's class, its code the message, too. */
function failure(call) {
  try {
    call();
  } catch (error) {
    expect(error).to.be.instanceOf(WorkerMutexError).and.instanceOf(Error);
    expect(error.message).to.equal(error.code);
    return error.code;
  }
  throw new Error(`did not fail: ${call}`);
}

/** How often the mutex has to be unlocked until this thread does not hold it any more. */
function depthOf(mutex) {
  for (let depth = 0; ; depth++) {
    try {
      mutex.unlock();
    } catch {
      return depth;
    }
  }
}

const fresh = () => new WorkerMutex(createSharedBuffer());

describe('WorkerMutex: construction', () => {
  it('makes four words a mutex, all 0', () => {
    expect([...new Int32Array(createSharedBuffer())]).to.deep.equal([0, 0, 0, 0]);
    expect(createSharedBuffer(7).byteLength).to.equal(7 * 4 * 4);
  });

  it('attaches in every way', () => {
    const handle = createSharedBuffer(3);
    const mutex = new WorkerMutex({ handle, index: 2 });
    expect([mutex.buffer, mutex.sharedBuffer, mutex.index]).to.deep.equal([handle, handle, 2]);
    expect(new WorkerMutex({ handle }).index).to.equal(0);
    const older = new WorkerMutex({ sharedBuffer: handle, index: 2 });
    expect([older.sharedBuffer, older.index]).to.deep.equal([handle, 2]);
    const single = createSharedBuffer();
    expect([new WorkerMutex(single).sharedBuffer, new WorkerMutex(single).index]).to.deep.equal([
      single,
      0,
    ]);
  });

  it('attaches to a mutex that is held, and in its place only', () => {
    const handle = createSharedBuffer(3);
    const [first, second, third] = [0, 1, 2].map((index) => new WorkerMutex({ handle, index }));
    second.lock();
    expect(depthOf(new WorkerMutex({ handle, index: 1 }))).to.equal(1);
    expect([depthOf(first), depthOf(second), depthOf(third)]).to.deep.equal([0, 0, 0]);
  });

  for (const [code, calls] of Object.entries({
    COUNT_MUST_BE_A_POSITIVE_SAFE_INTEGER: [0, -1, 1.5, NaN, 2 ** 53, '1'].map(
      (count) => () => createSharedBuffer(count),
    ),
    COUNT_EXCEEDS_MAX_SUPPORTED_VALUE: [Number.MAX_SAFE_INTEGER].map(
      (count) => () => createSharedBuffer(count),
    ),
    HANDLE_MUST_BE_A_SHARED_ARRAY_BUFFER: [
      undefined,
      null,
      {},
      { handle: new ArrayBuffer(12) },
      new ArrayBuffer(12),
      12,
    ].map((options) => () => new WorkerMutex(options)),
    HANDLE_BYTE_LENGTH_IS_NOT_INT32_ALIGNED: [
      () => new WorkerMutex({ handle: new SharedArrayBuffer(13) }),
    ],
    MUTEX_INDEX_OUT_OF_RANGE: [0, 1].map(
      (i) => () => new WorkerMutex({ handle: new SharedArrayBuffer(12 + 16 * i), index: i }),
    ),
    VALUE_MUST_BE_AN_UNSIGNED_INTEGER: [-1, 1.5, NaN, '0'].map(
      (index) => () => new WorkerMutex({ handle: createSharedBuffer(), index }),
    ),
    MUTEX_BUFFER_SIZE_MUST_MATCH_SINGLE_MUTEX: [0, 8, 12, 32].map(
      (size) => () => new WorkerMutex(new SharedArrayBuffer(size)),
    ),
  })) {
    it(`throws ${code}`, () => {
      for (const call of calls) expect(failure(call), `${call}`).to.equal(code);
    });
  }
});

describe('WorkerMutex: one thread', () => {
  it('takes it again, in either way, and gives it back as often', async () => {
    const mutex = fresh();
    mutex.lock();
    await mutex.lockAsync();
    mutex.lock();
    expect(depthOf(mutex)).to.equal(3);
    await mutex.lockAsync();
    await mutex.lockAsync();
    expect(depthOf(mutex)).to.equal(2);
  });

  it('is the owner of all its tasks: a lockAsync while it holds the mutex succeeds at once', async () => {
    const mutex = fresh();
    const inside = [];
    const task = async (name) => {
      await mutex.lockAsync();
      inside.push(name);
    };
    await Promise.all([task('a'), task('b')]);
    expect([inside.sort(), depthOf(mutex)]).to.deep.equal([['a', 'b'], 2]);
  });

  it('throws MUTEX_IS_NOT_OWNED_BY_CURRENT_THREAD', () => {
    const mutex = fresh();
    expect(failure(() => mutex.unlock())).to.equal('MUTEX_IS_NOT_OWNED_BY_CURRENT_THREAD');
    mutex.lock();
    mutex.unlock();
    expect(failure(() => mutex.unlock())).to.equal('MUTEX_IS_NOT_OWNED_BY_CURRENT_THREAD');
  });

  it('throws MUTEX_RECURSION_COUNT_OVERFLOW, and changes nothing', async () => {
    const mutex = fresh();
    const words = new Int32Array(mutex.buffer);
    mutex.lock();
    words[DEPTH] = 0x7fffffff;
    const before = [...words];
    expect(failure(() => mutex.lock())).to.equal('MUTEX_RECURSION_COUNT_OVERFLOW');
    expect(await mutex.lockAsync().catch(({ code }) => code)).to.equal(
      'MUTEX_RECURSION_COUNT_OVERFLOW',
    );
    expect([...words]).to.deep.equal(before);
    mutex.unlock();
    mutex.lock();
  });

  it('throws MUTEX_RECURSION_COUNT_UNDERFLOW rather than waiting for itself, if somebody spoilt the words', async () => {
    const mutex = fresh();
    mutex.lock();
    new Int32Array(mutex.buffer)[HOLDER] = 0;
    expect(failure(() => mutex.unlock())).to.equal('MUTEX_RECURSION_COUNT_UNDERFLOW');
    expect(failure(() => mutex.lock())).to.equal('MUTEX_RECURSION_COUNT_UNDERFLOW');
    expect(await mutex.lockAsync().catch(({ code }) => code)).to.equal(
      'MUTEX_RECURSION_COUNT_UNDERFLOW',
    );
  });
});

describe('WorkerMutex: threads', function () {
  afterEach(finish);

  it('exclude each other, the main thread among them, in both ways', async () => {
    const TURNS = 100;
    const buffer = createSharedBuffer();
    const cell = new Int32Array(new SharedArrayBuffer(4));
    const count = async ({ WorkerMutex, data, sleep }) => {
      const mutex = new WorkerMutex(data.buffer);
      for (let i = 0; i < data.TURNS; i++) {
        if (data.how === 'lock') mutex.lock();
        else await mutex.lockAsync();
        if (i % 3 === 0) mutex.lock();
        const n = data.cell[0];
        if (i % 10 === 0) await sleep(0);
        data.cell[0] = n + 1;
        if (i % 3 === 0) mutex.unlock();
        mutex.unlock();
      }
    };
    const threads = await Promise.all([start(), start()]);
    const runs = threads.map((thread, i) =>
      thread.run(count, { buffer, cell, TURNS, how: i ? 'lock' : 'lockAsync' }),
    );
    const support = await import('../support.js');
    await within(
      10_000,
      count({ WorkerMutex, data: { buffer, cell, TURNS, how: 'lockAsync' }, ...support }),
    );
    await Promise.all(runs);
    expect([cell[0], ...new Int32Array(buffer, 0, 2)]).to.deep.equal([3 * TURNS, 0, 0]);
  });

  it('are owners all alike, the main thread, which is thread 0, too', async () => {
    const buffer = createSharedBuffer();
    const mutex = new WorkerMutex(buffer);
    const words = new Int32Array(buffer);
    mutex.lock();
    expect(words[0] & OWNER).to.equal(1);
    const thread = await start();
    const theirs = thread.run(({ WorkerMutex, data, say }) => {
      const mutex = new WorkerMutex(data);
      let code;
      try {
        mutex.unlock();
      } catch (error) {
        code = error.code;
      }
      say('tried');
      mutex.lock();
      say('holding');
      return code;
    }, buffer);
    await thread.said('tried');
    const mine = thread.said('holding');
    expect(await stateOf(mine)).to.equal('pending');
    mutex.unlock();
    await mine;
    expect(await theirs).to.equal('MUTEX_IS_NOT_OWNED_BY_CURRENT_THREAD');
    expect(words[0] & OWNER).to.equal(thread.worker.threadId + 1);
    expect(failure(() => mutex.unlock())).to.equal('MUTEX_IS_NOT_OWNED_BY_CURRENT_THREAD');
    expect(await stateOf(mutex.lockAsync())).to.equal('pending');
  });

  it('calls of a thread that have to wait are served one by one', async () => {
    const buffer = createSharedBuffer();
    const mutex = new WorkerMutex(buffer);
    const thread = await start();
    await thread.run(({ WorkerMutex, data }) => new WorkerMutex(data).lock(), buffer);
    const order = [];
    const tasks = ['a', 'b', 'c'].map(async (name) => {
      await mutex.lockAsync();
      order.push(`${name} in`);
      await null;
      order.push(`${name} out`);
      mutex.unlock();
    });
    await thread.run(({ WorkerMutex, data }) => new WorkerMutex(data).unlock(), buffer);
    await within(10_000, Promise.all(tasks));
    expect(order.join()).to.equal('a in,a out,b in,b out,c in,c out');
  });

  it('share it with RecursiveMutex, which is the same four words', async () => {
    const buffer = createSharedBuffer();
    const mutex = new WorkerMutex(buffer);
    const thread = await start();
    const take = ({ RecursiveMutex, data }) => new RecursiveMutex(data).tryLock();
    mutex.lock();
    expect(await thread.run(take, buffer)).to.equal(false);
    mutex.unlock();
    expect(await thread.run(take, buffer)).to.equal(true);
    expect(new RecursiveMutex(buffer).depth).to.equal(1);
    const mine = mutex.lockAsync();
    expect(await stateOf(mine)).to.equal('pending');
    expect(new Int32Array(buffer)[0] & (ASYNC | BLOCKED)).to.equal(
      Atomics.waitAsync ? ASYNC : new Int32Array(buffer)[0] & ASYNC,
    );
    await thread.run(({ RecursiveMutex, data }) => new RecursiveMutex(data).unlock(), buffer);
    await within(10_000, mine);
    expect(depthOf(mutex)).to.equal(1);
  });
});
