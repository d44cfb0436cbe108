/** The latch: its count, that it opens once for all, and who has counted. */
import { expect } from 'chai';

import { BlockingError, Latch } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, itCalling, stateOf, until, within } from '../support.js';
import { askElsewhere, FORMS, loopsWait, threadsWait, wordsOf } from './waits.js';

const MAX = 2 ** 30 - 1;

describe('Latch', () => {
  for (const form of FORMS) {
    itCalling(form)(`that is open stays open, as zeroed memory is: wait${form}()`, async () => {
      const made = Latch.create(1);
      made.countDown();
      for (const latch of [made, new Latch()]) {
        expect(await latch[`wait${form}`]()).to.equal(true);
        expect(await latch[`wait${form}`](0)).to.equal(true);
        expect([latch.tryWait(), latch.count]).to.deep.equal([true, 0]);
        latch.countDown(0);
      }
    });

    it(`releases all who wait when all is counted down: wait${form}()`, async () => {
      const latch = Latch.create(3);
      const agents = [0, 1].map(() => askElsewhere({ call: 'wait', args: [] }, form, latch));
      for (const agent of agents) await agent.said('calling');
      const mine = latch.waitAsync();
      await until(() => (form ? loopsWait : threadsWait)(latch));
      latch.countDown(2);
      expect([await stateOf(mine), latch.tryWait(), latch.count]).to.deep.equal([
        'pending',
        false,
        1,
      ]);
      latch.countDown();
      expect(await within(10_000, mine)).to.equal(true);
      for (const agent of agents) expect((await within(10_000, agent.result)).value).to.equal(true);
    });

    it(`holds those who arrive until the last one has: arriveAndWait${form}()`, async () => {
      const latch = Latch.create(4);
      const agents = [0, 1].map(() =>
        askElsewhere({ call: 'arriveAndWait', args: [] }, form, latch),
      );
      await until(() => latch.count === 2 && (form ? loopsWait : threadsWait)(latch));
      const mine = latch.arriveAndWaitAsync();
      expect([await stateOf(mine), latch.count]).to.deep.equal(['pending', 1]);
      expect(await latch.arriveAndWaitAsync(0)).to.equal(true);
      expect(await within(10_000, mine)).to.equal(true);
      for (const agent of agents) expect((await within(10_000, agent.result)).value).to.equal(true);
    });

    itCalling(form)(`has counted a caller that gives up: arriveAndWait${form}()`, async () => {
      const latch = Latch.create(2);
      expect(await latch[`arriveAndWait${form}`](1)).to.equal(false);
      expect(latch.count).to.equal(1);
    });

    itCalling(form)(`refuses an arrival when it is open: arriveAndWait${form}()`, async () => {
      const latch = new Latch();
      expect(await failure(async () => latch[`arriveAndWait${form}`]())).to.be.instanceOf(
        RangeError,
      );
      expect([...wordsOf(latch)]).to.deep.equal([0, 0]);
    });
  }

  it('has not counted a thread that may not block', async () => {
    const latch = Latch.create(2);
    let counted = 1;
    try {
      expect(latch.arriveAndWait(0)).to.equal(false);
    } catch (error) {
      expect(error).to.be.instanceOf(BlockingError);
      counted = 0;
    }
    expect(latch.count).to.equal(2 - counted);
  });

  it('cannot be counted down below 0: it says so, with nothing changed', async () => {
    const latch = Latch.create(2);
    const waiting = latch.waitAsync();
    for (const n of [3, MAX]) {
      const before = [...wordsOf(latch)];
      expect(await failure(() => latch.countDown(n))).to.be.instanceOf(RangeError);
      expect([...wordsOf(latch)]).to.deep.equal(before);
    }
    latch.countDown(2);
    expect(await within(10_000, waiting)).to.equal(true);
    expect(await failure(() => latch.countDown())).to.be.instanceOf(RangeError);
    expect(latch.count).to.equal(0);
    const largest = Latch.create(MAX);
    largest.countDown(MAX);
    expect(largest.tryWait()).to.equal(true);
  });

  it('shows what threads and tasks wrote before they counted down', async () => {
    const work = new Int32Array(new SharedArrayBuffer(4));
    const latches = Array.from({ length: 20 }, () => Latch.create(3));
    const job = async ({ Latch, data }) => {
      const seen = [];
      for (const handle of data.handles) {
        Atomics.add(data.work, 0, 1);
        await Latch.from(handle)[data.call]();
        seen.push(Atomics.load(data.work, 0));
      }
      return seen;
    };
    const handles = latches.map(({ handle }) => handle);
    const agents = FORMS.map((form) => spawn(job, { handles, work, call: `arriveAndWait${form}` }));
    for (const [i, latch] of latches.entries()) {
      Atomics.add(work, 0, 1);
      expect(await within(10_000, latch.arriveAndWaitAsync())).to.equal(true);
      expect(Atomics.load(work, 0)).to.be.at.least(3 * (i + 1));
    }
    for (const agent of agents) {
      const seen = await within(10_000, agent.result);
      for (const [i, sum] of seen.entries()) expect(sum).to.be.at.least(3 * (i + 1));
    }
  });
});
