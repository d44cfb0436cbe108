/** The semaphore: permits, sizes, limits. */
import { expect } from 'chai';

import { Semaphore } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, itBlocks, itCalling, sleep, until, within } from '../support.js';
import { askElsewhere, FORMS, loopsWait, threadsWait, wordsOf } from './waits.js';

const MAX = 2 ** 30 - 1;

describe('Semaphore', () => {
  itBlocks('gives what it has, all at once or not at all', () => {
    const semaphore = Semaphore.create(5);
    expect([semaphore.tryAcquire(), semaphore.permits]).to.deep.equal([true, 4]);
    expect([semaphore.tryAcquire(5), semaphore.permits]).to.deep.equal([false, 4]);
    expect([semaphore.tryAcquire(3), semaphore.permits]).to.deep.equal([true, 1]);
    expect([semaphore.tryAcquire(0), semaphore.permits]).to.deep.equal([true, 1]);
    semaphore.release(9);
    expect([semaphore.permits, semaphore.acquire(10), semaphore.permits]).to.deep.equal([10, true, 0]);
    expect(semaphore.acquire(0)).to.equal(true);
  });

  for (const form of FORMS) {
    itCalling(form)(`acquire${form}() takes one by default, and at once if it is there`, async () => {
      const semaphore = Semaphore.create(2);
      expect(await semaphore[`acquire${form}`]()).to.equal(true);
      expect(await semaphore[`acquire${form}`](1, 0)).to.equal(true);
      expect(await semaphore[`acquire${form}`](1, 0)).to.equal(false);
      expect([...wordsOf(semaphore)].map((word) => word & 0x3fffffff)).to.deep.equal([0, 0]);
    });
  }

  it('never has more than 2^30 - 1, and says so with nothing changed', async () => {
    const semaphore = Semaphore.create(MAX - 1);
    semaphore.release();
    for (const n of [1, MAX]) {
      expect(await failure(() => semaphore.release(n))).to.be.instanceOf(RangeError);
      expect(semaphore.permits).to.equal(MAX);
    }
    semaphore.release(0);
    expect(semaphore.tryAcquire(MAX)).to.equal(true);
    expect(semaphore.permits).to.equal(0);
  });

  it('refuses bad numbers before it touches memory', async () => {
    const semaphore = Semaphore.create(3);
    for (const [n, kind] of [
      [-1, RangeError],
      [0.5, RangeError],
      [NaN, RangeError],
      [MAX + 1, RangeError],
      ['1', TypeError],
      [null, TypeError],
      [1n, TypeError],
    ]) {
      for (const call of ['acquire', 'acquireAsync', 'tryAcquire', 'release', 'when'])
        expect(await failure(() => semaphore[call](n)), `${call}(${n})`).to.be.instanceOf(kind);
      expect([...wordsOf(semaphore)]).to.deep.equal([3, 0]);
    }
  });

  for (const [large, small] of [
    ['', ''],
    ['Async', ''],
    ['', 'Async'],
    ['Async', 'Async'],
  ]) {
    it(`acquire${large}(3) asleep, acquire${small}(1) asleep, release(1): the one proceeds, and the three when they are there`, async () => {
      const semaphore = Semaphore.create(0);
      const waiting = (form, n) => askElsewhere({ call: 'acquire', args: [n] }, form, semaphore);
      const three = waiting(large, 3);
      await three.said('calling');
      await until(() => (large ? loopsWait : threadsWait)(semaphore));
      const one = waiting(small, 1);
      await one.said('calling');
      await sleep(10);
      semaphore.release(1);
      expect((await within(10_000, one.result)).value).to.equal(true);
      expect(semaphore.permits).to.equal(0);
      semaphore.release(2);
      await sleep(5);
      expect(semaphore.permits).to.equal(2);
      semaphore.release(1);
      expect((await within(10_000, three.result)).value).to.equal(true);
      expect(semaphore.permits).to.equal(0);
    });
  }

  it('lets no more in than it has permits, threads and tasks together', async () => {
    const semaphore = Semaphore.create(3);
    const inside = new Int32Array(new SharedArrayBuffer(8));
    const job = async ({ Semaphore, data }) => {
      const semaphore = Semaphore.from(data.handle);
      for (let i = 0; i < 250; i++) {
        const n = 1 + (i % data.most);
        await semaphore[data.call](n);
        if (Atomics.add(data.inside, 0, n) + n > 3) Atomics.add(data.inside, 1, 1);
        if (i % 40 === 0) await new Promise((resolve) => setTimeout(resolve));
        Atomics.sub(data.inside, 0, n);
        semaphore.release(n);
      }
    };
    const agents = ['acquire', 'acquire', 'acquireAsync'].map((call, i) =>
      spawn(job, { handle: semaphore.handle, inside, call, most: i + 1 }),
    );
    const tasks = Array.from({ length: 20 }, async (_, i) => {
      for (let turn = 0; turn < 10; turn++) {
        await semaphore.acquireAsync(1 + (i % 3));
        if (Atomics.add(inside, 0, 1 + (i % 3)) + 1 + (i % 3) > 3) Atomics.add(inside, 1, 1);
        await sleep(0);
        Atomics.sub(inside, 0, 1 + (i % 3));
        semaphore.release(1 + (i % 3));
      }
    });
    await within(20_000, Promise.all([...tasks, ...agents.map((agent) => agent.result)]));
    expect([...inside, semaphore.permits]).to.deep.equal([0, 0, 3]);
  });

  it('loses no permit to timeouts and aborts', async () => {
    const semaphore = Semaphore.create(2);
    const job = async ({ Semaphore, data, sleep }) => {
      const semaphore = Semaphore.from(data.handle);
      for (let i = 0; i < 150; i++) {
        const controller = new AbortController();
        const options = { timeout: Math.random(), signal: data.call === 'acquire' ? undefined : controller.signal };
        const taken = semaphore[data.call](1 + (i % 2), options);
        if (i % 3 === 0) controller.abort();
        let mine = false;
        try {
          mine = await taken;
        } catch {
          // Aborted: it has nothing.
        }
        if (i % 50 === 0) await sleep(0);
        if (mine) semaphore.release(1 + (i % 2));
      }
    };
    const agents = ['acquire', 'acquireAsync', 'acquireAsync'].map((call) => spawn(job, { handle: semaphore.handle, call }));
    for (const agent of agents) await within(20_000, agent.result);
    expect(semaphore.permits).to.equal(2);
    expect(await semaphore.acquireAsync(2, 0)).to.equal(true);
  });
});
