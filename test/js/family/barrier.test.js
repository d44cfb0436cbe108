/** The barrier: cycles, leaders, parties that leave, and what breaks it. */
import { expect } from 'chai';

import { Barrier, BrokenBarrierError, LockError, TimeoutError } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, itBlocks, itCalling, sleep, stateOf, until, within } from '../support.js';
import { askElsewhere, FORMS, loopsWait, threadsWait, wordsOf } from './waits.js';

/** Of its state: how many cycles have ended. */
const GENERATION = 0x00fff000;

/** Expects a call to find the barrier broken. */
async function expectBroken(call) {
  const error = await failure(call);
  expect([
    error instanceof BrokenBarrierError,
    error instanceof LockError,
    error.code,
  ]).to.deep.equal([true, true, 'ERR_BROKEN_BARRIER']);
}

const waitsOn = (form, barrier, options) =>
  askElsewhere({ call: 'wait', args: [] }, form, barrier, options);

describe('Barrier', () => {
  for (const form of FORMS) {
    itCalling(form)(
      `of one party lets it through as the leader, every time: wait${form}()`,
      async () => {
        const barrier = Barrier.create(1);
        for (let i = 0; i < 5; i++) expect(await barrier[`wait${form}`](0)).to.equal(true);
      },
    );

    itCalling(form)(`that has not been made says so: wait${form}()`, async () => {
      const barrier = new Barrier();
      expect(await failure(async () => barrier[`wait${form}`](5))).to.be.instanceOf(RangeError);
      expect(await failure(() => barrier.arriveAndDrop())).to.be.instanceOf(RangeError);
      expect([...wordsOf(barrier)]).to.deep.equal([0, 0, 0]);
    });

    itBlocks(
      `is broken for all by one whose time is up, until it is reset: wait${form}()`,
      async () => {
        const barrier = Barrier.create(4);
        const others = FORMS.map((other) => waitsOn(other, barrier));
        for (const agent of others) await agent.said('calling');
        await until(() => threadsWait(barrier) && loopsWait(barrier));
        expect(barrier.isBroken).to.equal(false);
        expect(await failure(async () => barrier[`wait${form}`](10))).to.be.instanceOf(
          TimeoutError,
        );
        expect(barrier.isBroken).to.equal(true);
        for (const agent of others)
          expect((await within(10_000, agent.result)).code).to.equal('ERR_BROKEN_BARRIER');
        for (const again of FORMS) await expectBroken(async () => barrier[`wait${again}`]());
        // A party that leaves a broken barrier gets an error, and has left.
        await expectBroken(() => barrier.arriveAndDrop());
        barrier.reset();
        expect(barrier.isBroken).to.equal(false);
        const met = await within(
          10_000,
          Promise.all([barrier.waitAsync(), barrier.waitAsync(), barrier.arriveAndDrop()]),
        );
        expect(met).to.deep.equal([false, false, true]);
      },
    );

    it(`that is reset tells those who wait: wait${form}()`, async () => {
      const barrier = Barrier.create(2);
      const agent = waitsOn(form, barrier);
      await until(() => (form ? loopsWait : threadsWait)(barrier));
      barrier.reset();
      expect((await within(10_000, agent.result)).code).to.equal('ERR_BROKEN_BARRIER');
      expect(barrier.isBroken).to.equal(false);
      const met = await within(10_000, Promise.all([barrier.waitAsync(), barrier.waitAsync()]));
      expect(met).to.deep.equal([false, true]);
    });
  }

  it('is broken by an abort, whose reason the aborted party is given', async () => {
    const barrier = Barrier.create(3);
    const controller = new AbortController();
    const other = failure(() => barrier.waitAsync());
    const aborted = failure(() => barrier.waitAsync({ signal: controller.signal }));
    await sleep(2);
    controller.abort('enough');
    expect(await within(10_000, aborted)).to.equal('enough');
    expect(await within(10_000, other)).to.be.instanceOf(BrokenBarrierError);
    expect(barrier.isBroken).to.equal(true);
  });

  it('is not broken by an abort after all have met', async () => {
    const barrier = Barrier.create(2);
    const controller = new AbortController();
    const waiting = barrier.waitAsync({ signal: controller.signal });
    await sleep(2);
    expect(barrier.arriveAndDrop()).to.equal(true);
    controller.abort('enough');
    expect(await within(10_000, waiting)).to.equal(false);
    expect(barrier.isBroken).to.equal(false);
  });

  it('reset before anybody has arrived breaks nothing', async () => {
    const barrier = Barrier.create(2);
    barrier.reset();
    barrier.reset();
    expect(barrier.isBroken).to.equal(false);
    expect(await Promise.all([barrier.waitAsync(), barrier.waitAsync()])).to.deep.equal([
      false,
      true,
    ]);
  });

  it('loses a party for good by arriveAndDrop()', async () => {
    const barrier = Barrier.create(3);
    expect(barrier.arriveAndDrop()).to.equal(false);
    expect(await Promise.all([barrier.waitAsync(), barrier.waitAsync()])).to.deep.equal([
      false,
      true,
    ]);
    expect(await Promise.all([barrier.waitAsync(), barrier.waitAsync()])).to.deep.equal([
      false,
      true,
    ]);
    const last = barrier.waitAsync();
    expect(await stateOf(last)).to.equal('pending');
    expect(barrier.arriveAndDrop()).to.equal(true);
    expect(await within(10_000, last)).to.equal(false);
    expect(await barrier.waitAsync()).to.equal(true);
    expect(barrier.arriveAndDrop()).to.equal(true);
    expect(await failure(() => barrier.waitAsync())).to.be.instanceOf(RangeError);
  });

  itBlocks('goes on through all generations', async () => {
    const barrier = Barrier.create(2);
    wordsOf(barrier)[0] = GENERATION | 2;
    const waiting = barrier.waitAsync();
    expect(barrier.wait(1_000_000)).to.equal(true);
    expect(await within(10_000, waiting)).to.equal(false);
    expect(wordsOf(barrier)[0] & 0x3fffffff).to.equal(2);
    const again = barrier.waitAsync();
    expect([barrier.wait(1_000_000), await within(10_000, again)]).to.deep.equal([true, false]);
  });

  itBlocks('holds 4095 parties', async () => {
    const barrier = Barrier.create(4095);
    const waiting = Array.from({ length: 4094 }, () => barrier.waitAsync());
    expect(barrier.wait()).to.equal(true);
    const met = await within(20_000, Promise.all(waiting));
    expect(met.every((leads) => !leads)).to.equal(true);
  });

  it('keeps threads and tasks in step, and each cycle has one leader', async () => {
    const PARTIES = 5;
    const CYCLES = 100;
    const barrier = Barrier.create(PARTIES);
    const shared = new Int32Array(new SharedArrayBuffer(12));
    const job = async ({ Barrier, data }) => {
      const barrier = Barrier.from(data.handle);
      for (let cycle = 0; cycle < data.cycles; cycle++) {
        Atomics.add(data.shared, 0, 1);
        if (await barrier[data.call]()) Atomics.add(data.shared, 1, 1);
        if (Atomics.load(data.shared, 0) < (cycle + 1) * data.parties)
          Atomics.add(data.shared, 2, 1);
        await barrier[data.call]();
      }
    };
    const data = { handle: barrier.handle, shared, parties: PARTIES, cycles: CYCLES };
    const agents = ['wait', 'wait', 'waitAsync'].map((call) => spawn(job, { ...data, call }));
    const tasks = [0, 1].map(() => job({ Barrier, data: { ...data, call: 'waitAsync' } }));
    await within(25_000, Promise.all([...tasks, ...agents.map((agent) => agent.result)]));
    expect([...shared]).to.deep.equal([PARTIES * CYCLES, CYCLES, 0]);
    expect(barrier.isBroken).to.equal(false);
  });
});
