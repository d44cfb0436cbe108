/**
 * What lock, lockAsync, tryLock and unlock return, one body for both ways of waiting. What holds
 * for all calls that wait, such as that no timeout is early: test/js/family/waits.test.js.
 */
import { expect } from 'chai';

import { DeadlockError, LockError, Mutex } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import {
  failure,
  itBlocks,
  itCalling,
  OWNER,
  sleep,
  stateOf,
  Stranger,
  until,
  within,
  wordsOf,
} from '../support.js';

const free = [0, 0];

for (const how of ['lock', 'lockAsync']) {
  describe(`Mutex: ${how}()`, () => {
    itCalling(how)('takes a free mutex', async () => {
      const mutex = new Mutex();
      expect(await mutex[how]()).to.equal(true);
      expect(mutex.isLocked).to.equal(true);
      expect(mutex.isMine).to.equal(true);
      mutex.unlock();
      expect(mutex.isLocked).to.equal(false);
      expect(mutex.isMine).to.equal(false);
      expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
    });

    itCalling(how)('writes its agent id, 29 bits with bit 28 set, and nothing else', async () => {
      const mutex = new Mutex();
      await mutex[how]();
      const [state, gate] = wordsOf(mutex.handle);
      expect(state & ~OWNER).to.equal(0);
      expect(state >>> 28).to.equal(1);
      expect(gate).to.equal(0);
      mutex.unlock();
      await mutex[how]();
      expect(wordsOf(mutex.handle)[0]).to.equal(state);
    });

    itCalling(how)('waits for a worker to unlock', async () => {
      const mutex = new Mutex();
      const agent = spawn(async ({ Mutex, data, say, sleep, until, wordsOf }) => {
        const mutex = Mutex.from(data);
        mutex.lock();
        say('holding');
        await until(() => wordsOf(data)[0] >>> 30 !== 0);
        await sleep(5);
        mutex.unlock();
      }, mutex.handle);
      await agent.said('holding');
      expect(mutex.isMine).to.equal(false);
      expect(await mutex[how]()).to.equal(true);
      expect(mutex.isMine).to.equal(true);
      mutex.unlock();
      await agent.result;
      expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
    });

    if (mode !== 'unhealed') {
      it('outlasts its re-checks: with more than a second it is neither early nor done', async () => {
        const [timed, patient] = [new Mutex(), new Mutex()];
        new Stranger(timed).lock();
        const stranger = new Stranger(patient).lock();
        const job = async ({ Mutex, data }) => {
          const start = performance.now();
          return {
            taken: await Mutex.from(data.handle)[data.how](data.timeout),
            took: performance.now() - start,
          };
        };
        const agents = [
          spawn(job, { handle: timed.handle, how, timeout: 1_200 }),
          spawn(job, { handle: patient.handle, how, timeout: undefined }),
        ];
        const { taken, took } = await agents[0].result;
        expect(taken).to.equal(false);
        expect(took).to.be.at.least(1_200);
        await sleep(100);
        stranger.unlock();
        expect((await within(10_000, agents[1].result)).taken).to.equal(true);
      });
    }

    itCalling(how)(
      'takes a mutex whose flags say that somebody waits although nobody does',
      async () => {
        const mutex = new Mutex();
        const words = wordsOf(mutex.handle);
        const stranger = new Stranger(mutex).lock();
        Atomics.or(words, 0, 0xc0000000 | 0);
        stranger.unlock();
        expect(await mutex[how]()).to.equal(true);
        Atomics.or(words, 0, 0xc0000000 | 0);
        mutex.unlock();
        expect([...words]).to.deep.equal(free);
      },
    );

    itCalling(how)('takes a mutex that stays reserved for a waiter who never comes', async () => {
      const mutex = new Mutex();
      Atomics.store(wordsOf(mutex.handle), 0, 0x20000000);
      expect(await within(10_000, Promise.resolve(mutex[how]()))).to.equal(true);
      mutex.unlock();
      expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
    });
  });
}

describe('Mutex: lock()', () => {
  itBlocks('by the holder throws DeadlockError at once and changes nothing', async () => {
    const mutex = new Mutex();
    mutex.lock();
    const before = [...wordsOf(mutex.handle)];
    for (const call of [
      () => mutex.lock(),
      () => mutex.lock(60_000),
      () => mutex.acquire(),
      () => Mutex.from(mutex.handle).lock(),
    ]) {
      const start = performance.now();
      expect(await failure(call)).to.be.instanceOf(DeadlockError);
      expect(performance.now() - start).to.be.below(5_000);
    }
    expect([...wordsOf(mutex.handle)]).to.deep.equal(before);
    mutex.unlock();
    expect(mutex.lock()).to.equal(true);
  });

  itBlocks(
    'throws DeadlockError when an async caller of its own agent holds the mutex',
    async () => {
      const mutex = new Mutex();
      await mutex.lockAsync();
      expect(await failure(() => mutex.lock())).to.be.instanceOf(DeadlockError);
      mutex.unlock();
    },
  );

  itBlocks('passes the async callers of its own agent that wait', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    const queued = mutex.lockAsync();
    await sleep(5);
    stranger.unlock();
    const blocking = mutex.lock();
    expect(blocking).to.equal(true);
    expect(await stateOf(queued)).to.equal('pending');
    mutex.unlock();
    expect(await within(10_000, queued)).to.equal(true);
  });
});

describe('Mutex: tryLock()', () => {
  it('takes a free mutex and no other', () => {
    const mutex = new Mutex();
    expect(mutex.tryLock()).to.equal(true);
    expect(mutex.isMine).to.equal(true);
    expect(mutex.tryLock()).to.equal(false);
    mutex.unlock();
    const stranger = new Stranger(mutex).lock();
    expect(mutex.tryLock()).to.equal(false);
    expect(stranger.state).to.equal(5);
    stranger.unlock();
    expect(mutex.tryLock()).to.equal(true);
  });

  it('takes a mutex that is reserved, and keeps the reservation and the flags', () => {
    const mutex = new Mutex();
    const words = wordsOf(mutex.handle);
    Atomics.store(words, 0, 0xe0000000 | 0);
    expect(mutex.tryLock()).to.equal(true);
    expect(words[0] & ~OWNER).to.equal(0xe0000000 | 0);
    mutex.unlock();
    expect(words[0]).to.equal(0x20000000);
  });
});

describe('Mutex: unlock()', () => {
  it('of a free mutex throws and changes nothing', async () => {
    const mutex = new Mutex();
    expect(await failure(() => mutex.unlock())).to.be.instanceOf(LockError);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('by a stranger throws and changes nothing', async () => {
    const mutex = new Mutex();
    const words = wordsOf(mutex.handle);
    new Stranger(mutex).lock();
    for (const flags of [0, 0x20000000, 0x40000000, 0x80000000 | 0, 0xe0000000 | 0]) {
      Atomics.store(words, 0, flags | 5);
      expect(await failure(() => mutex.unlock())).to.be.instanceOf(LockError);
      expect([...words]).to.deep.equal([flags | 5, 0]);
    }
  });

  it('by another worker throws, and the holder still holds', async () => {
    const mutex = new Mutex();
    mutex.tryLock();
    const agent = spawn(({ Mutex, LockError, data }) => {
      try {
        Mutex.from(data).unlock();
      } catch (error) {
        return error instanceof LockError;
      }
    }, mutex.handle);
    expect(await agent.result).to.equal(true);
    expect(mutex.isMine).to.equal(true);
    mutex.unlock();
  });

  it('leaves a reserved mutex to the waiter that reserved it', () => {
    const mutex = new Mutex();
    const words = wordsOf(mutex.handle);
    mutex.tryLock();
    Atomics.or(words, 0, 0x20000000);
    mutex.unlock();
    expect(words[0]).to.equal(0x20000000);
    expect(mutex.isLocked).to.equal(false);
  });

  it('hands over to one waiter of each kind', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    const job = async ({ Mutex, data, say }) => {
      const mutex = Mutex.from(data.handle);
      say('waiting');
      const taken = await mutex[data.how]();
      mutex.unlock();
      return taken;
    };
    const agents = ['lock', 'lock', 'lockAsync', 'lockAsync'].map((how) =>
      spawn(job, { handle: mutex.handle, how }),
    );
    for (const agent of agents) await agent.said('waiting');
    await until(() => stranger.state >>> 30 !== 0);
    stranger.unlock();
    for (const agent of agents) expect(await within(10_000, agent.result)).to.equal(true);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });
});

describe('Mutex: isLocked and isMine', () => {
  it('ignore the flags', () => {
    const mutex = new Mutex();
    const words = wordsOf(mutex.handle);
    Atomics.store(words, 0, 0xe0000000 | 0);
    expect([mutex.isLocked, mutex.isMine]).to.deep.equal([false, false]);
    mutex.tryLock();
    expect([mutex.isLocked, mutex.isMine]).to.deep.equal([true, true]);
    Atomics.store(words, 0, 0xe0000000 | 5);
    expect([mutex.isLocked, mutex.isMine]).to.deep.equal([true, false]);
  });
});

describe('Mutex: acquire() and acquireAsync()', () => {
  for (const how of ['acquire', 'acquireAsync']) {
    itCalling(how)(`${how}() returns a guard whose unlock is idempotent`, async () => {
      const mutex = new Mutex();
      const guard = await mutex[how]();
      expect(mutex.isMine).to.equal(true);
      guard.unlock();
      expect(mutex.isLocked).to.equal(false);
      guard.unlock();
      new Stranger(mutex).lock();
      guard.unlock();
      expect(mutex.isLocked).to.equal(true);
    });

    itCalling(how)(
      `${how}(): a guard that was unlocked leaves a later lock of the same agent alone`,
      async () => {
        const mutex = new Mutex();
        const first = await mutex[how]();
        first.unlock();
        const second = await mutex[how]();
        first.unlock();
        expect(mutex.isMine).to.equal(true);
        second.unlock();
      },
    );

    itCalling(how)(`${how}(): disposing of the guard unlocks`, async () => {
      const mutex = new Mutex();
      const guard = await mutex[how]();
      guard[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
      expect(mutex.isLocked).to.equal(false);
      guard[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
      guard.unlock();
    });
  }
});

describe('Mutex: runExclusive()', () => {
  it('holds the mutex while a function runs, and returns its value', async () => {
    const mutex = new Mutex();
    const value = await mutex.runExclusive(() => {
      expect(mutex.isMine).to.equal(true);
      return 42;
    });
    expect(value).to.equal(42);
    expect(mutex.isLocked).to.equal(false);
  });

  it('holds the mutex until the promise that the function returns has settled', async () => {
    const mutex = new Mutex();
    let finish;
    const running = mutex.runExclusive(() => new Promise((resolve) => (finish = resolve)));
    await until(() => finish);
    await sleep(10);
    expect(mutex.isMine).to.equal(true);
    finish('done');
    expect(await running).to.equal('done');
    expect(mutex.isLocked).to.equal(false);
  });

  it('unlocks when the function throws or rejects, and passes the error on', async () => {
    const mutex = new Mutex();
    const error = new Error('mine');
    const functions = [
      () => {
        throw error;
      },
      async () => {
        await sleep(1);
        throw error;
      },
    ];
    for (const fn of functions) {
      expect(await failure(() => mutex.runExclusive(fn))).to.equal(error);
      expect(mutex.isLocked).to.equal(false);
    }
  });

  it('runs one at a time, all of them', async () => {
    const mutex = new Mutex();
    let inside = 0;
    const values = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        mutex.runExclusive(async () => {
          expect(++inside).to.equal(1);
          await sleep(i % 3);
          expect(inside--).to.equal(1);
          return i;
        }),
      ),
    );
    expect(values).to.deep.equal(values.map((_, i) => i));
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });
});
