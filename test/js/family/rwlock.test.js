/**
 * The read-write lock: who may be beside whom, upgrades and downgrades, whose turn it is, limits.
 */
import { expect } from 'chai';

import {
  LW_RWLOCK_READER,
  LW_RWLOCK_UPGRADABLE,
  LW_RWLOCK_WRITER,
  LW_RWLOCK_WRITERS_TURN,
} from '../../../js/src/core/constants.js';
import { rwlockBecomeStep, rwlockTryStep } from '../../../js/src/core/rwlock.js';
import { DeadlockError, OwnershipError, RWLock, TimeoutError } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import {
  failure,
  itBlocks,
  itCalling,
  sleep,
  spin,
  stateOf,
  STRANGER,
  until,
  within,
} from '../support.js';
import {
  askElsewhere,
  FORMS,
  loopsWait,
  stateOf as unmarked,
  threadsWait,
  wordsOf,
} from './waits.js';

const MAX = 2 ** 22 - 1;
const WAYS = ['readLock', 'upgradableLock', 'writeLock'];
const GIVE = {
  readLock: 'readUnlock',
  upgradableLock: 'upgradableUnlock',
  writeLock: 'writeUnlock',
};
const tryOf = (way) => `try${way[0].toUpperCase()}${way.slice(1)}`;

/** Whether the second may be had beside the first. */
const together = (a, b) =>
  a !== 'writeLock' && b !== 'writeLock' && !(a === 'upgradableLock' && b === 'upgradableLock');

/** Another agent without a worker. */
const take = (lock, way) => rwlockTryStep(wordsOf(lock), 0, way, STRANGER);
const give = (lock, way) => rwlockBecomeStep(wordsOf(lock), way, 0, STRANGER);

describe('RWLock', () => {
  for (const first of WAYS) {
    for (const second of WAYS) {
      it(`${second} ${together(first, second) ? 'is had' : 'waits'} beside ${first}`, async () => {
        const lock = new RWLock();
        expect(lock[tryOf(first)]()).to.equal(true);
        const before = [...wordsOf(lock)];
        expect(lock[tryOf(second)]()).to.equal(together(first, second));
        if (together(first, second)) lock[GIVE[second]]();
        expect([...wordsOf(lock)]).to.deep.equal(before);
        expect(await lock[`${second}Async`](0)).to.equal(together(first, second));
        if (together(first, second)) lock[GIVE[second]]();
        lock[GIVE[first]]();
        expect([...unmarked(lock)]).to.deep.equal([0, 0, 0, 0]);
      });
    }
  }

  for (const form of FORMS) {
    itCalling(form)(`says who has it: …Lock${form}()`, async () => {
      const lock = new RWLock();
      const state = () => [lock.readers, lock.isWriteLocked, lock.isMine];
      expect(await lock[`readLock${form}`]()).to.equal(true);
      expect(await lock[`upgradableLock${form}`]()).to.equal(true);
      expect(state()).to.deep.equal([1, false, true]);
      lock.readUnlock();
      expect(await lock[`upgrade${form}`]()).to.equal(true);
      expect(state()).to.deep.equal([0, true, true]);
      lock.downgradeToUpgradable();
      expect(state()).to.deep.equal([0, false, true]);
      expect(lock.tryUpgrade()).to.equal(true);
      lock.downgrade();
      expect(state()).to.deep.equal([1, false, false]);
      lock.readUnlock();
      expect(await lock[`writeLock${form}`]()).to.equal(true);
      lock.writeUnlock();
      expect(await lock[`upgradableLock${form}`]()).to.equal(true);
      lock.downgrade();
      expect(state()).to.deep.equal([1, false, false]);
      lock.readUnlock();
      expect([...unmarked(lock)]).to.deep.equal([0, 0, 0, 0]);
    });
  }

  itBlocks('takes from nobody what it does not have', async () => {
    const lock = new RWLock();
    const calls = [
      'readUnlock',
      'writeUnlock',
      'upgradableUnlock',
      'downgrade',
      'downgradeToUpgradable',
      'upgrade',
      'upgradeAsync',
    ];
    const refuse = async (names) => {
      const before = [...wordsOf(lock)];
      for (const name of names) {
        const error = await failure(async () => lock[name]());
        expect([error instanceof OwnershipError, error.code], name).to.deep.equal([
          true,
          'ERR_NOT_OWNER',
        ]);
        expect([...wordsOf(lock)], name).to.deep.equal(before);
      }
      expect(lock.tryUpgrade()).to.equal(false);
    };
    await refuse(calls);
    for (const way of [LW_RWLOCK_WRITER, LW_RWLOCK_UPGRADABLE]) {
      take(lock, way);
      await refuse(calls);
      give(lock, way);
    }
    lock.tryWriteLock();
    await refuse(['readUnlock', 'upgradableUnlock', 'upgrade', 'upgradeAsync']);
    lock.writeUnlock();
    lock.tryReadLock();
    await refuse(calls.slice(1));
  });

  itBlocks('tells a thread that would wait for itself, and not a task', async () => {
    for (const first of ['upgradableLock', 'writeLock']) {
      for (const second of WAYS) {
        if (together(first, second)) continue;
        const lock = new RWLock();
        lock[tryOf(first)]();
        const before = [...wordsOf(lock)];
        const error = await failure(() => lock[second]());
        expect([error instanceof DeadlockError, error.code]).to.deep.equal([true, 'ERR_DEADLOCK']);
        expect([...wordsOf(lock)]).to.deep.equal(before);
        const task = lock[`${second}Async`]();
        expect(await stateOf(task)).to.equal('pending');
        lock[GIVE[first]]();
        expect(await within(10_000, task)).to.equal(true);
        lock[GIVE[second]]();
      }
    }
  });

  for (const form of FORMS) {
    itCalling(form)(`has at most 2^22 - 1 readers: readLock${form}()`, async () => {
      const lock = new RWLock();
      wordsOf(lock)[0] = MAX - 1;
      expect(await lock[`readLock${form}`]()).to.equal(true);
      expect(lock.readers).to.equal(MAX);
      expect(lock.tryReadLock()).to.equal(false);
      expect(await failure(async () => lock[`readLock${form}`]())).to.be.instanceOf(RangeError);
      expect(await failure(async () => lock[`acquireRead${form}`](5))).to.be.instanceOf(RangeError);
      expect(lock.readers).to.equal(MAX);
      lock.readUnlock();
      expect(lock.readers).to.equal(MAX - 1);
    });
  }

  it('keeps a place among the readers for the one that may upgrade', async () => {
    const lock = new RWLock();
    wordsOf(lock)[0] = MAX - 1;
    expect(lock.tryUpgradableLock()).to.equal(true);
    expect(lock.tryReadLock()).to.equal(false);
    expect(await failure(async () => lock.readLockAsync())).to.be.instanceOf(RangeError);
    lock.downgrade();
    expect([lock.readers, lock.isMine, lock.isWriteLocked]).to.deep.equal([MAX, false, false]);
    expect(await failure(async () => lock.upgradableLockAsync())).to.be.instanceOf(RangeError);
    lock.readUnlock();
    expect(lock.tryUpgradableLock()).to.equal(true);
  });

  itBlocks('has guards for reading and writing, each of which gives back once', async () => {
    const lock = new RWLock();
    for (const acquire of ['acquireRead', 'acquireReadAsync']) {
      const guard = await lock[acquire]();
      expect(lock.readers).to.equal(1);
      guard.unlock();
      guard.unlock();
      expect(lock.readers).to.equal(0);
    }
    for (const acquire of ['acquireWrite', 'acquireWriteAsync']) {
      const guard = await lock[acquire]();
      expect(lock.isWriteLocked).to.equal(true);
      guard[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
      guard.unlock();
      expect(lock.isWriteLocked).to.equal(false);
    }
  });

  for (const form of FORMS) {
    itCalling(form)(
      `acquireUpgradable${form}() makes a guard, which gives back a read or, after an upgrade, a write`,
      async () => {
        const lock = new RWLock();
        const ways = {
          'it reads': () => {},
          'it writes': () => lock.tryUpgrade(),
          'it reads again': () => lock.tryUpgrade() && lock.downgradeToUpgradable(),
        };
        for (const [what, change] of Object.entries(ways)) {
          const guard = await lock[`acquireUpgradable${form}`]();
          expect([lock.isMine, lock.isWriteLocked], what).to.deep.equal([true, false]);
          change();
          guard.unlock();
          guard.unlock();
          expect([lock.isMine, lock.isWriteLocked, lock.readers], what).to.deep.equal([
            false,
            false,
            0,
          ]);
        }
        expect(take(lock, LW_RWLOCK_WRITER)).to.equal(true);
        expect(await failure(async () => lock[`acquireUpgradable${form}`](5))).to.be.instanceOf(
          TimeoutError,
        );
      },
    );
  }

  for (const form of FORMS) {
    itCalling(form)(
      `guards of acquireWrite${form}() and acquireUpgradable${form}() give back what a downgrade has left`,
      async () => {
        const lock = new RWLock();
        const state = () => [lock.readers, lock.isWriteLocked, lock.isMine];
        const ways = {
          Write: [['downgrade'], ['downgradeToUpgradable'], ['downgradeToUpgradable', 'downgrade']],
          Upgradable: [['downgrade'], ['tryUpgrade', 'downgrade']],
        };
        for (const [kind, changes] of Object.entries(ways)) {
          for (const calls of changes) {
            const guard = await lock[`acquire${kind}${form}`]();
            for (const call of calls) lock[call]();
            expect(lock.isWriteLocked, `${calls}`).to.equal(false);
            guard.unlock();
            guard.unlock();
            expect(state(), `${calls}`).to.deep.equal([0, false, false]);
          }
          // Nothing is left to give back.
          const guard = await lock[`acquire${kind}${form}`]();
          lock.downgrade();
          lock.readUnlock();
          expect(await failure(() => guard.unlock())).to.be.instanceOf(OwnershipError);
        }
        // A read that no guard has become is not given back by one.
        const first = await lock[`acquireWrite${form}`]();
        lock.downgrade();
        const second = await lock[`acquireUpgradable${form}`]();
        lock.upgradableUnlock();
        expect(await failure(() => second.unlock())).to.be.instanceOf(OwnershipError);
        expect(state()).to.deep.equal([1, false, false]);
        expect(await failure(async () => lock[`acquireWrite${form}`](5))).to.be.instanceOf(
          TimeoutError,
        );
        first.unlock();
        expect(state()).to.deep.equal([0, false, false]);
      },
    );
  }

  it('runExclusive() gives back what a downgrade has left', async () => {
    const lock = new RWLock();
    const other = RWLock.from(lock.handle);
    await lock.runExclusive(async () => {
      lock.downgrade();
      await other.runShared(() => {});
    });
    expect(lock.readers).to.equal(0);
    expect(lock.tryWriteLock()).to.equal(true);
  });

  it('runShared() reads and runExclusive() writes while what they call runs, however that ends', async () => {
    const lock = new RWLock();
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    const two = [1, 2].map((n) => lock.runShared(() => opened.then(() => n)));
    expect(await failure(() => lock.runExclusive(() => expect.fail('ran'), 1))).to.be.instanceOf(
      TimeoutError,
    );
    expect(lock.readers).to.equal(2);
    open();
    expect(await Promise.all(two)).to.deep.equal([1, 2]);
    expect(lock.readers).to.equal(0);
    const inside = lock.runExclusive(async () => {
      await sleep(5);
      throw new Error(`${lock.isWriteLocked} ${lock.isMine}`);
    });
    expect(await failure(() => lock.runShared(() => expect.fail('ran'), 1))).to.be.instanceOf(
      TimeoutError,
    );
    expect((await failure(() => inside)).message).to.equal('true true');
    for (const call of ['runShared', 'runExclusive']) {
      expect(await failure(() => lock[call]())).to.be.instanceOf(TypeError);
      expect(
        await failure(() => lock[call](() => expect.fail('ran'), { timout: 5 })),
      ).to.be.instanceOf(TypeError);
      expect([lock.readers, lock.isWriteLocked]).to.deep.equal([0, false]);
    }
  });

  for (const form of FORMS) {
    it(`lets a writer that waits go before readers that come later: writeLock${form}()`, async () => {
      const lock = new RWLock();
      lock.tryReadLock();
      const writer = askElsewhere({ call: 'writeLock', args: [] }, form, lock);
      await until(() => (form ? loopsWait : threadsWait)(lock));
      expect(await lock.readLockAsync(10)).to.equal(false);
      // Only a reader that would wait for itself otherwise may pass.
      expect(lock.tryReadLock()).to.equal(true);
      lock.readUnlock();
      lock.readUnlock();
      expect((await within(10_000, writer.result)).value).to.equal(true);
      expect([lock.isWriteLocked, lock.readers]).to.deep.equal([true, 0]);
    });

    itBlocks(`is not barred by a writer that gave up: writeLock${form}()`, async () => {
      const lock = new RWLock();
      take(lock, LW_RWLOCK_READER);
      expect(await lock[`writeLock${form}`](10)).to.equal(false);
      expect(await lock.readLockAsync(0)).to.equal(true);
      expect(lock.readLock(0)).to.equal(true);
      expect(lock.readers).to.equal(3);
    });

    it(`wakes readers whom a writer kept waiting that gives up: readLock${form}()`, async () => {
      const lock = new RWLock();
      take(lock, LW_RWLOCK_READER);
      const controller = new AbortController();
      const writer = failure(() => lock.writeLockAsync({ signal: controller.signal }));
      await until(() => (wordsOf(lock)[0] & LW_RWLOCK_WRITERS_TURN) !== 0);
      const reader = askElsewhere({ call: 'readLock', args: [] }, form, lock);
      await reader.said('calling');
      await sleep(10);
      controller.abort('enough');
      expect(await writer).to.equal('enough');
      expect((await within(10_000, reader.result)).value).to.equal(true);
      expect(lock.readers).to.equal(2);
    });

    itCalling(form)(
      `lets nobody write between an upgradable read and its upgrade: upgrade${form}()`,
      async () => {
        const lock = new RWLock();
        expect(lock.tryUpgradableLock()).to.equal(true);
        const writer = askElsewhere({ call: 'writeLock', args: [] }, form, lock);
        await until(() => (form ? loopsWait : threadsWait)(lock));
        expect(await lock[`upgrade${form}`]()).to.equal(true);
        lock.downgradeToUpgradable();
        expect(await lock[`upgrade${form}`](1_000_000)).to.equal(true);
        lock.writeUnlock();
        expect((await within(10_000, writer.result)).value).to.equal(true);
      },
    );
  }

  itBlocks('an upgrade that gave up still reads upgradably', async () => {
    const lock = new RWLock();
    lock.tryUpgradableLock();
    take(lock, LW_RWLOCK_READER);
    expect([lock.upgrade(5), await lock.upgradeAsync(5), lock.tryUpgrade()]).to.deep.equal([
      false,
      false,
      false,
    ]);
    expect([lock.isMine, lock.isWriteLocked, lock.readers]).to.deep.equal([true, false, 1]);
    expect(lock.tryReadLock()).to.equal(true);
    lock.upgradableUnlock();
    expect(lock.isMine).to.equal(false);
  });

  // What a task has when it begins to wait, another task of its agent may have given up when the
  // wait ends.
  for (const [how, after] of [
    ['upgradableUnlock', [0, 0, 0, 0]],
    ['downgrade', [1, 0, 0, 0]],
  ]) {
    it(`an upgrade that waits is refused after ${how}()`, async () => {
      const lock = new RWLock();
      lock.tryUpgradableLock();
      take(lock, LW_RWLOCK_READER);
      const upgrade = failure(() => lock.upgradeAsync());
      await until(() => loopsWait(lock));
      lock[how]();
      const error = await within(10_000, upgrade);
      expect([error instanceof OwnershipError, error.code]).to.deep.equal([true, 'ERR_NOT_OWNER']);
      lock.readUnlock();
      expect([...unmarked(lock)]).to.deep.equal(after);
    });
  }

  it('an upgrade whose read was given up does not write beside another agent', async () => {
    const lock = new RWLock();
    lock.tryUpgradableLock();
    take(lock, LW_RWLOCK_READER);
    const upgrade = failure(() => lock.upgradeAsync());
    await until(() => loopsWait(lock));
    lock.upgradableUnlock();
    lock.readUnlock();
    expect(take(lock, LW_RWLOCK_WRITER)).to.equal(true);
    expect((await within(10_000, upgrade)).code).to.equal('ERR_NOT_OWNER');
    expect(lock.isMine).to.equal(false);
    expect(give(lock, LW_RWLOCK_WRITER)).to.equal(true);
    expect([...unmarked(lock)]).to.deep.equal([0, 0, 0, 0]);
  });

  it('of two upgrades of one agent one succeeds, and the other is refused', async () => {
    const lock = new RWLock();
    lock.tryUpgradableLock();
    take(lock, LW_RWLOCK_READER);
    const upgrades = [lock.upgradeAsync(), failure(() => lock.upgradeAsync())];
    await until(() => loopsWait(lock));
    lock.readUnlock();
    const [upgraded, error] = await within(10_000, Promise.all(upgrades));
    expect([upgraded, error.code, lock.isWriteLocked, lock.isMine]).to.deep.equal([
      true,
      'ERR_NOT_OWNER',
      true,
      true,
    ]);
    lock.writeUnlock();
    expect(await within(10_000, lock.writeLockAsync())).to.equal(true);
  });

  it('an upgrade that gives up says so if its read was given up before', async () => {
    const lock = new RWLock();
    lock.tryUpgradableLock();
    take(lock, LW_RWLOCK_READER);
    const controller = new AbortController();
    const upgrades = [lock.upgradeAsync({ signal: controller.signal }), lock.upgradeAsync(5)].map(
      (it) => failure(() => it),
    );
    await until(() => loopsWait(lock));
    lock.upgradableUnlock();
    controller.abort('enough');
    spin(6);
    for (const error of await within(10_000, Promise.all(upgrades)))
      expect(error.code).to.equal('ERR_NOT_OWNER');
    expect(await lock.readLockAsync(0)).to.equal(true);
  });

  it('readers see whole writes, threads and tasks together, and every write counts', async () => {
    const lock = new RWLock();
    const pair = new Int32Array(new SharedArrayBuffer(12));
    const job = async ({ RWLock, data }) => {
      const lock = RWLock.from(data.handle);
      const { form, pair } = data;
      const pause = () => form && new Promise((resolve) => setTimeout(resolve));
      let torn = 0;
      for (let i = 0; i < 150; i++) {
        if (i % 4 === 0) {
          await lock[`writeLock${form}`]();
          pair[0]++;
          if (i % 40 === 0) await pause();
          pair[1]++;
          lock.writeUnlock();
        } else if (i % 4 === 1) {
          await lock[`upgradableLock${form}`]();
          await lock[`upgrade${form}`]();
          pair[0]++;
          pair[1]++;
          lock.downgrade();
          if (pair[0] !== pair[1]) torn++;
          lock.readUnlock();
        } else {
          await lock[`readLock${form}`]();
          const [seen] = pair;
          if (i % 41 === 0) await pause();
          if (pair[1] !== seen || pair[0] !== seen) torn++;
          lock.readUnlock();
        }
      }
      return torn;
    };
    const agents = ['', '', 'Async', 'Async'].map((form) =>
      spawn(job, { handle: lock.handle, form, pair }),
    );
    for (let i = 0; i < 40; i++) {
      await within(10_000, lock.writeLockAsync());
      pair[0]++;
      if (i % 8 === 0) await sleep(0);
      pair[1]++;
      lock.writeUnlock();
    }
    for (const agent of agents) expect(await within(20_000, agent.result)).to.equal(0);
    expect([...pair]).to.deep.equal([4 * 76 + 40, 4 * 76 + 40, 0]);
    expect([lock.readers, lock.isWriteLocked]).to.deep.equal([0, false]);
  });

  it('timeouts and aborts strand nobody, and leave nothing behind', async () => {
    const lock = new RWLock();
    const job = async ({ RWLock, data }) => {
      const lock = RWLock.from(data.handle);
      const give = {
        readLock: 'readUnlock',
        writeLock: 'writeUnlock',
        upgradableLock: 'upgradableUnlock',
      };
      const ways = Object.keys(give);
      for (let i = 0; i < 200; i++) {
        const way = ways[i % 3];
        const controller = new AbortController();
        const options = data.form
          ? { timeout: Math.random() * 2, signal: controller.signal }
          : Math.random() * 2;
        const lockAgain = lock[way + data.form](options);
        if (i % 5 === 0) controller.abort();
        const taken = await Promise.resolve(lockAgain).catch(() => false);
        if (i % 30 === 0) await new Promise((resolve) => setTimeout(resolve));
        if (taken) lock[give[way]]();
      }
    };
    const agents = ['', '', 'Async', 'Async'].map((form) =>
      spawn(job, { handle: lock.handle, form }),
    );
    for (const agent of agents) await within(20_000, agent.result);
    expect([...unmarked(lock)]).to.deep.equal([0, 0, 0, 0]);
    for (const way of WAYS) {
      expect(await lock[`${way}Async`](0)).to.equal(true);
      lock[GIVE[way]]();
    }
  });

  if (mode === 'normal') {
    it('neither a reader nor a writer starves beside those who relock without a gap', async () => {
      const lock = new RWLock();
      const stop = new Int32Array(new SharedArrayBuffer(4));
      const job = ({ RWLock, data }) => {
        const lock = RWLock.from(data.handle);
        const give = data.way === 'readLock' ? 'readUnlock' : 'writeUnlock';
        while (Atomics.load(data.stop, 0) === 0) {
          lock[data.way]();
          lock[give]();
        }
      };
      for (const way of ['readLock', 'writeLock']) {
        Atomics.store(stop, 0, 0);
        const agents = [0, 1].map(() => spawn(job, { handle: lock.handle, way, stop }));
        for (let i = 0; i < 20; i++) {
          for (const mine of ['readLock', 'writeLock']) {
            expect(await within(5_000, lock[`${mine}Async`]())).to.equal(true);
            lock[GIVE[mine]]();
          }
          await sleep(1);
        }
        Atomics.store(stop, 0, 1);
        for (const agent of agents) await within(10_000, agent.result);
      }
    });
  }
});
