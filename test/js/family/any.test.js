/** waitAny: the first of several, and of that one only. */
import { expect } from 'chai';

import {
  Counter,
  Event,
  Latch,
  Permits,
  Semaphore,
  waitAny,
  WaitGroup,
} from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import { failure, sleep, stateOf, within } from '../support.js';

const automatic = () => Event.create({ autoReset: true });

/** One of each kind, none of which is there, and what makes it so. */
function sources() {
  const [event, auto, semaphore, group, rising, falling, latch, permits] = [
    new Event(),
    automatic(),
    Semaphore.create(1),
    new WaitGroup(),
    Counter.create(1),
    Counter.create(9),
    Latch.create(2),
    Permits.create(2),
  ];
  group.add(2);
  const [, second] = [permits.tryAcquire(), permits.tryAcquire()];
  return {
    whens: [
      event.when(),
      auto.when(),
      semaphore.when(2),
      group.when(),
      rising.whenAtLeast(5),
      falling.whenAtMost(5),
      latch.when(),
      permits.when(),
    ],
    ends: [
      () => event.set(),
      () => auto.set(),
      () => semaphore.release(),
      () => group.done(2),
      () => rising.increment(4),
      () => falling.decrement(4),
      () => latch.countDown(2),
      () => second.release(),
    ],
    /** What can be consumed: permits, and a set. */
    left: () => [auto.isSet, semaphore.permits],
  };
}

describe('waitAny()', () => {
  for (let which = 0; which < 8; which++) {
    it(`returns the index of what happens: ${which}`, async () => {
      const { whens, ends, left } = sources();
      const waiting = waitAny(whens, 20_000);
      expect(await stateOf(waiting)).to.equal('pending');
      ends[which]();
      expect(await within(10_000, waiting)).to.equal(which);
      expect(left()).to.deep.equal([false, which === 2 ? 0 : 1]);
      expect(whens[7].permit?.number).to.equal(which === 7 ? 1 : undefined);
    });

    it(`returns at once what is there: ${which}`, async () => {
      const { whens, ends, left } = sources();
      ends[which]();
      expect(await waitAny(whens, 0)).to.equal(which);
      expect(left()).to.deep.equal([false, which === 2 ? 0 : 1]);
      expect(whens[7].permit?.number).to.equal(which === 7 ? 1 : undefined);
    });
  }

  it('takes from the first that is there, and from no other', async () => {
    const { whens, ends, left } = sources();
    for (const end of ends.slice(1)) end();
    expect(await waitAny(whens)).to.equal(1);
    expect(left()).to.deep.equal([false, 2]);
    expect(await waitAny(whens)).to.equal(2);
    expect(left()).to.deep.equal([false, 0]);
  });

  it('gives a permit that it did not take to the next one', async () => {
    const permits = Permits.create(1);
    const event = new Event();
    for (let i = 0; i < 20; i++) {
      const held = permits.acquireAsync();
      const [first, second] = [permits.when(), permits.when()];
      const either = waitAny([event.when(), first], 20_000);
      const other = waitAny([second], 20_000);
      event.set();
      expect(await within(10_000, either)).to.equal(0);
      (await held).release();
      expect(await within(10_000, other)).to.equal(0);
      expect([first.permit, second.permit.number]).to.deep.equal([undefined, 0]);
      second.permit.release();
      event.reset();
    }
    expect(permits.available).to.equal(1);
    expect((await failure(() => new Permits().when())).name).to.equal('RangeError');
  });

  it('takes from one only of those that happen at once while it waits', async () => {
    for (let i = 0; i < 20; i++) {
      const [a, b] = [Semaphore.create(0), Semaphore.create(0)];
      const [x, y] = [automatic(), automatic()];
      const waiting = waitAny([a.when(), x.when(), b.when(), y.when()], 20_000);
      if (i % 2) await sleep(0);
      for (const release of [() => a.release(), () => x.set(), () => b.release(), () => y.set()])
        release();
      const which = await within(10_000, waiting);
      expect([a.permits, Number(x.isSet), b.permits, Number(y.isSet)]).to.deep.equal(
        [0, 1, 2, 3].map((j) => Number(j !== which)),
      );
    }
  });

  it('gives up in time, not before, and takes nothing', async () => {
    for (const timeout of [0, 20]) {
      const { whens, left } = sources();
      const start = performance.now();
      expect(await waitAny(whens, timeout)).to.equal(-1);
      expect(performance.now() - start).to.be.at.least(timeout);
      expect(left()).to.deep.equal([false, 1]);
    }
  });

  it('rejects when it is aborted, before and while it waits, and takes nothing', async () => {
    const { whens, ends, left } = sources();
    expect(await failure(() => waitAny(whens, { signal: AbortSignal.abort('enough') }))).to.equal(
      'enough',
    );
    const controller = new AbortController();
    const waiting = failure(() => waitAny(whens, { signal: controller.signal }));
    await sleep(2);
    controller.abort('later');
    expect(await within(10_000, waiting)).to.equal('later');
    for (const end of ends) end();
    await sleep(5);
    expect(left()).to.deep.equal([true, 2]);
  });

  it('refuses bad options', async () => {
    const { whens } = sources();
    for (const options of [NaN, { timeout: NaN }])
      expect(await failure(() => waitAny(whens, options))).to.be.instanceOf(RangeError);
    for (const options of [-1, { timeout: -0.5 }])
      expect(await waitAny(whens, options)).to.equal(-1);
    for (const options of ['1', { signal: {} }])
      expect(await failure(() => waitAny(whens, options))).to.be.instanceOf(TypeError);
    const semaphore = Semaphore.create(3);
    const several = { permits: 3 };
    expect(await failure(() => waitAny([semaphore.when()], several))).to.be.instanceOf(TypeError);
    expect(semaphore.permits).to.equal(3);
  });

  it('refuses what is no source, names it, says what to write, and touches nothing', async () => {
    const { whens, ends, left } = sources();
    const semaphore = Semaphore.create(0);
    const words = new Int32Array(semaphore.handle.buffer);
    for (const bad of [
      semaphore,
      null,
      undefined,
      5,
      Promise.resolve(),
      () => semaphore.when(),
      {},
    ]) {
      const error = await failure(() => waitAny([semaphore.when(), bad], 50));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.include('sources[1]').and.to.include('.when(');
      expect([...words]).to.deep.equal([0, 0, 0]);
    }
    expect(await failure(() => waitAny(new Array(1), 50))).to.be.instanceOf(TypeError);
    semaphore.release();
    expect(semaphore.permits).to.equal(1);
    expect(await failure(() => waitAny(semaphore.when(), 50))).to.be.instanceOf(TypeError);
    expect(await failure(() => waitAny(undefined, 50))).to.be.instanceOf(TypeError);

    expect(await failure(() => waitAny([...whens, null]))).to.be.instanceOf(TypeError);
    for (const end of ends) end();
    await sleep(2);
    expect(left()).to.deep.equal([true, 2]);
  });

  it('of nothing is an error, not a wait for ever', async () => {
    for (const options of [undefined, 0, 5])
      expect(await failure(() => waitAny([], options))).to.be.instanceOf(RangeError);
  });

  it('gives the permit to the source that was given, also if the array has changed since', async () => {
    const [one, other] = [Permits.create(1), Permits.create(1)];
    const held = [one.tryAcquire(), other.tryAcquire()];
    const sources = [one.when(), other.when()];
    const [first, second] = sources;
    const waiting = waitAny(sources, 20_000);
    sources.reverse();
    held[1].release();
    expect(await within(10_000, waiting)).to.equal(1);
    expect([first.permit, second.permit?.number]).to.deep.equal([undefined, 0]);

    const again = waitAny(sources, 20_000);
    sources.length = 0;
    held[0].release();
    expect(await within(10_000, again)).to.equal(1);
    expect(first.permit?.number).to.equal(0);
  });

  it('takes a set of sources, too', async () => {
    const event = new Event();
    expect(await within(10_000, waitAny(new Set([event.when()]), 5))).to.equal(-1);
    event.set();
    expect(await within(10_000, waitAny(new Set([event.when()]), 5))).to.equal(0);
    expect(await failure(() => waitAny(new Set()))).to.be.instanceOf(RangeError);
  });

  it('sees an event that was set since its when(), or then, though it has been reset', async () => {
    const event = new Event();
    const since = event.when();
    event.set();
    const set = event.when();
    event.reset();
    expect([
      await waitAny([since], 0),
      await waitAny([set], 0),
      await waitAny([event.when()], 0),
    ]).to.deep.equal([0, 0, -1]);
  });

  it('takes a source that stands there twice once', async () => {
    const semaphore = Semaphore.create(0);
    const waiting = waitAny([semaphore.when(1), semaphore.when(2)], 20_000);
    semaphore.release(1);
    expect(await within(10_000, waiting)).to.equal(0);
    expect(semaphore.permits).to.equal(0);
  });

  it('leaves those who wait for one of the sources their turn', async () => {
    const [semaphore, event] = [Semaphore.create(0), new Event()];
    const agent = spawn(({ Semaphore, data, say }) => {
      say('calling');
      return Semaphore.from(data).wait({ timeout: 20_000 });
    }, semaphore.handle);
    await agent.said('calling');
    const waiting = waitAny([semaphore.when(), event.when()]);
    event.set();
    expect(await within(10_000, waiting)).to.equal(1);
    semaphore.release();
    expect(await within(10_000, agent.result)).to.equal(true);
    expect(semaphore.permits).to.equal(0);
  });

  it('sees at once what lets all through, though others wait and the loop has long not turned', async () => {
    const [event, semaphore] = [new Event(), Semaphore.create(5)];
    const other = event.waitAsync();
    await sleep(5);
    event.set();
    for (const start = performance.now(); performance.now() < start + 20;);
    expect(await waitAny([event.when(), semaphore.when()])).to.equal(0);
    expect([await within(10_000, other), semaphore.permits]).to.deep.equal([true, 5]);
  });

  it('hands permits from two semaphores to threads and tasks, none twice', async () => {
    const [a, b] = [Semaphore.create(0), Semaphore.create(0)];
    const job = async ({ Semaphore, waitAny, data }) => {
      const [a, b] = data.map((handle) => Semaphore.from(handle));
      const taken = [0, 0];
      for (;;) {
        const which = await waitAny([a.when(), b.when()], 300);
        if (which < 0) return taken;
        taken[which]++;
      }
    };
    const handles = [a.handle, b.handle];
    const agents = [0, 1].map(() => spawn(job, handles));
    const mine = job({ Semaphore, waitAny, data: handles });
    for (let i = 0; i < 200; i++) {
      (i % 2 ? a : b).release(1 + (i % 3));
      if (i % 10 === 0) await sleep(1);
    }
    const taken = await within(25_000, Promise.all([mine, ...agents.map((agent) => agent.result)]));
    const sum = taken.reduce(([x, y], [p, q]) => [x + p, y + q], [a.permits, b.permits]);
    expect(sum[0] + sum[1]).to.equal(399);
    expect([a.permits, b.permits]).to.deep.equal([0, 0]);
  });
});

if (mode === 'normal') {
  describe('waitAny(): 200 calls of one agent', () => {
    it('leave at most one engine waiter at each source', async () => {
      const agent = spawn(
        async ({ Event, Semaphore, counts, waitAny }) => {
          const [event, semaphore] = [new Event(), Semaphore.create(0)];
          for (let i = 0; i < 50; i++) await waitAny([event.when(), semaphore.when()], 0);
          await Promise.all(
            Array.from({ length: 50 }, () => waitAny([event.when(), semaphore.when()], 1)),
          );
          for (let i = 0; i < 100; i++) {
            const waiting = waitAny([event.when(), semaphore.when()]);
            semaphore.release();
            await waiting;
          }
          return [counts.mostPending, semaphore.permits];
        },
        {},
        'counted',
      );
      expect(await within(20_000, agent.result)).to.deep.equal([2, 0]);
    });
  });
}
