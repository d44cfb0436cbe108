/** The counter: its value, its limits, and waiting for a value. */
import { expect } from 'chai';

import { Counter } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, itCalling, sleep, stateOf, until, within } from '../support.js';
import { askElsewhere, FORMS, loopsWait, threadsWait } from './waits.js';

const MAX = 2 ** 30 - 1;

describe('Counter', () => {
  it('returns the value before', () => {
    const counter = Counter.create(5);
    expect([
      counter.increment(),
      counter.increment(4),
      counter.decrement(),
      counter.decrement(9),
    ]).to.deep.equal([5, 6, 10, 9]);
    expect([
      counter.value,
      counter.increment(0),
      counter.decrement(0),
      counter.value,
    ]).to.deep.equal([0, 0, 0, 0]);
  });

  it('stays from 0 to 2^30 - 1, and says so with nothing changed', async () => {
    const counter = Counter.create(MAX - 1);
    expect(counter.increment()).to.equal(MAX - 1);
    for (const [call, n] of [
      ['increment', 1],
      ['increment', MAX],
    ])
      expect(await failure(() => counter[call](n))).to.be.instanceOf(RangeError);
    expect([counter.value, counter.decrement(MAX), counter.value]).to.deep.equal([MAX, MAX, 0]);
    for (const n of [1, MAX])
      expect(await failure(() => counter.decrement(n))).to.be.instanceOf(RangeError);
    expect(counter.value).to.equal(0);
  });

  for (const form of FORMS) {
    const waitUntil = `waitUntil${form}`;

    itCalling(form)(`is waited for no longer than needed: ${waitUntil}()`, async () => {
      const counter = Counter.create(4);
      for (const wanted of [0, 4, (value) => value < 5, () => 1])
        expect(await counter[waitUntil](wanted, 0)).to.equal(true);
      expect(await counter[waitUntil](5, 0)).to.equal(false);
      expect(await counter[waitUntil]((value) => value > 4, 3)).to.equal(false);
    });

    it(`wakes who waits for a threshold when it is reached, and not before: ${waitUntil}()`, async () => {
      const counter = Counter.create();
      const agent = askElsewhere({ call: 'waitUntil', args: [3] }, form, counter);
      const mine = counter.waitUntilAsync(3);
      await until(() => (form ? loopsWait : threadsWait)(counter));
      counter.increment(2);
      expect(await stateOf(mine)).to.equal('pending');
      counter.increment(7);
      expect(await within(10_000, mine)).to.equal(true);
      expect((await within(10_000, agent.result)).value).to.equal(true);
    });

    itCalling(form)(
      `asks a predicate of each value that it finds, and hands its error on: ${waitUntil}()`,
      async () => {
        const counter = Counter.create(1);
        const error = new Error('mine');
        const wrong = () => {
          throw error;
        };
        expect(await failure(async () => counter[waitUntil](wrong))).to.equal(error);
        const seen = [];
        const wanted = (value) => seen.push(value) && value === 0;
        const agent = spawn(async ({ Counter, data, heard }) => {
          const counter = Counter.from(data);
          await heard('go');
          for (const n of [5, 2]) counter.increment(n);
          counter.decrement(8);
        }, counter.handle);
        const waiting = counter.waitUntilAsync(wanted, 20_000);
        agent.say('go');
        expect(await within(10_000, waiting)).to.equal(true);
        expect(seen[0]).to.equal(1);
        expect(seen.at(-1)).to.equal(0);
        await agent.result;
      },
    );

    itCalling(form)(`refuses an async predicate: ${waitUntil}()`, async () => {
      const counter = Counter.create(3);
      for (const predicate of [
        async () => true,
        async () => false,
        async () => Promise.reject(new EvalError('on purpose')),
      ]) {
        const error = await failure(async () => counter[waitUntil](predicate, 20));
        expect([error.name, error.message]).to.deep.equal(['TypeError', 'the predicate is async']);
      }
      await sleep(5);
    });

    itCalling(form)(`a predicate's timeout bounds the whole wait: ${waitUntil}()`, async () => {
      const counter = Counter.create(1);
      const stop = new Int32Array(new SharedArrayBuffer(4));
      const agent = spawn(
        ({ Counter, data, say }) => {
          const counter = Counter.from(data.handle);
          say('counting');
          while (Atomics.wait(data.stop, 0, 0, 1) === 'timed-out') counter.increment();
        },
        { handle: counter.handle, stop },
      );
      await agent.said('counting');
      const start = performance.now();
      expect(await counter[waitUntil](() => false, 50)).to.equal(false);
      expect(performance.now() - start).to.be.within(50, 5_000);
      Atomics.store(stop, 0, 1);
      Atomics.notify(stop, 0);
      await agent.result;
    });
  }

  it('counts exactly in threads and tasks, and tells when all have', async () => {
    const counter = Counter.create();
    const job = async ({ Counter, data }) => {
      const counter = Counter.from(data.handle);
      for (let i = 0; i < 1000; i++) {
        counter.increment(2);
        counter.decrement();
      }
      return counter[data.call](3000);
    };
    const agents = FORMS.map((form) =>
      spawn(job, { handle: counter.handle, call: `waitUntil${form}` }),
    );
    const waiting = Array.from({ length: 100 }, (_, i) => counter.waitUntilAsync(i * 30));
    const all = counter.waitUntilAsync((value) => value === 3000);
    for (let i = 0; i < 1000; i++) counter.increment();
    expect((await within(20_000, Promise.all(waiting))).every(Boolean)).to.equal(true);
    expect(await within(20_000, all)).to.equal(true);
    for (const agent of agents) expect(await within(20_000, agent.result)).to.equal(true);
    expect(counter.value).to.equal(3000);
  });
});
