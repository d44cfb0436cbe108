/** The wait group: its count, its limits, and that it can be used again at once. */
import { expect } from 'chai';

import { WaitGroup } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, itCalling, stateOf, until, within } from '../support.js';
import { askElsewhere, FORMS, loopsWait, threadsWait, wordsOf } from './waits.js';

const MAX = 2 ** 22 - 1;
/** Of its state: how often the count has left 0. */
const ROUND = 0x3fc00000;
const groupOf = (n) => {
  const group = new WaitGroup();
  group.add(n);
  return group;
};

describe('WaitGroup', () => {
  for (const form of FORMS) {
    itCalling(form)(`of nothing is done: wait${form}()`, async () => {
      const group = new WaitGroup();
      expect(await group[`wait${form}`]()).to.equal(true);
      expect(await group[`wait${form}`](0)).to.equal(true);
      group.add(0);
      expect([await group[`wait${form}`](0), group.count]).to.deep.equal([true, 0]);
    });

    it(`releases all who wait when all is done, and is used again at once: wait${form}()`, async () => {
      const group = groupOf(2);
      const agents = [0, 1].map(() => askElsewhere({ call: 'wait', args: [] }, form, group));
      for (const agent of agents) await agent.said('calling');
      const mine = group.waitAsync();
      await until(() => (form ? loopsWait : threadsWait)(group));
      group.done();
      expect(await stateOf(mine)).to.equal('pending');
      group.done();
      // A waiter until now must not wait for what comes next.
      group.add(3);
      expect(await within(10_000, mine)).to.equal(true);
      expect(group.count).to.equal(3);
      // An agent that had not begun to wait yet waits for it, rightly.
      group.done(3);
      for (const agent of agents) expect((await within(10_000, agent.result)).value).to.equal(true);
    });
  }

  it('counts', () => {
    const group = new WaitGroup();
    group.add();
    group.add(4);
    expect(group.count).to.equal(5);
    group.done();
    group.done(2);
    group.done(0);
    expect(group.count).to.equal(2);
  });

  it('is never negative, and never more than 2^22 - 1: it says so, with nothing changed', async () => {
    const group = groupOf(2);
    for (const [call, n] of [
      ['done', 3],
      ['done', MAX],
      ['add', MAX - 1],
      ['add', MAX],
    ]) {
      const before = [...wordsOf(group)];
      expect(await failure(() => group[call](n))).to.be.instanceOf(RangeError);
      expect([...wordsOf(group)]).to.deep.equal(before);
    }
    group.add(MAX - 2);
    expect(group.count).to.equal(MAX);
    group.done(MAX);
    expect(await failure(() => group.done())).to.be.instanceOf(RangeError);
    expect(group.count).to.equal(0);
  });

  it('goes on when its rounds wrap', async () => {
    const group = new WaitGroup();
    wordsOf(group)[0] = ROUND;
    group.add();
    expect(wordsOf(group)[0]).to.equal(1);
    const waiting = group.waitAsync();
    group.done();
    expect(await within(10_000, waiting)).to.equal(true);
  });

  it('waits for work in threads and tasks, round after round', async () => {
    const group = new WaitGroup();
    const work = new Int32Array(new SharedArrayBuffer(4));
    const job = async ({ WaitGroup, data, heard, say }) => {
      const group = WaitGroup.from(data.handle);
      for (let round = 0; round < 20; round++) {
        await heard(`go ${round}`);
        for (let i = 0; i < 50; i++) {
          Atomics.add(data.work, 0, 1);
          group.done();
        }
        await group[data.call]();
        say(`saw ${round}`, Atomics.load(data.work, 0));
      }
    };
    const agents = FORMS.map((form) =>
      spawn(job, { handle: group.handle, work, call: `wait${form}` }),
    );
    for (let round = 0; round < 20; round++) {
      group.add(110);
      for (const agent of agents) agent.say(`go ${round}`);
      for (let i = 0; i < 10; i++) {
        Atomics.add(work, 0, 1);
        group.done();
      }
      expect(await within(10_000, group.waitAsync())).to.equal(true);
      expect(Atomics.load(work, 0)).to.equal(110 * (round + 1));
      for (const agent of agents)
        expect(await within(10_000, agent.said(`saw ${round}`))).to.equal(110 * (round + 1));
    }
  });
});
