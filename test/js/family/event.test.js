/** The event: manual and automatic, and that no set is lost. */
import { expect } from 'chai';

import { Event } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import { itCalling, stateOf, until, within } from '../support.js';
import { askElsewhere, FORMS, loopsWait, threadsWait, wordsOf } from './waits.js';

const automatic = () => Event.create({ autoReset: true });
const waitsFor = (form, event) => askElsewhere({ call: 'wait', args: [] }, form, event);

describe('Event', () => {
  for (const form of FORMS) {
    itCalling(form)(`manual: stays set until it is reset: wait${form}()`, async () => {
      const event = new Event();
      expect([event.isSet, event.reset(), await event[`wait${form}`](0)]).to.deep.equal([
        false,
        false,
        false,
      ]);
      event.set();
      event.set();
      for (let i = 0; i < 3; i++)
        expect([await event[`wait${form}`](0), event.isSet]).to.deep.equal([true, true]);
      expect([event.reset(), event.reset(), event.isSet]).to.deep.equal([true, false, false]);
      expect(await event[`wait${form}`](2)).to.equal(false);
    });

    itCalling(form)(
      `automatic: releases one, once, also if it was set before: wait${form}()`,
      async () => {
        const event = automatic();
        event.set();
        event.set();
        expect([event.isSet, await event[`wait${form}`](0), event.isSet]).to.deep.equal([
          true,
          true,
          false,
        ]);
        expect(await event[`wait${form}`](2)).to.equal(false);
        event.set();
        expect([event.reset(), event.reset(), await event[`wait${form}`](0)]).to.deep.equal([
          true,
          false,
          false,
        ]);
      },
    );

    it(`manual: a set that is reset at once releases all who wait: wait${form}()`, async () => {
      const event = new Event();
      const agents = [0, 1].map(() => waitsFor(form, event));
      for (const agent of agents) await agent.said('calling');
      const mine = [event.waitAsync(), event.waitAsync()];
      await until(() => (form ? loopsWait : threadsWait)(event));
      event.set();
      event.reset();
      for (const waiting of mine) expect(await within(10_000, waiting)).to.equal(true);
      // One that had not begun to wait yet waits for the next set.
      event.set();
      for (const agent of agents) expect((await within(10_000, agent.result)).value).to.equal(true);
    });

    it(`automatic: each set releases one of many: wait${form}()`, async () => {
      const event = automatic();
      const agents = [0, 1, 2].map(() => waitsFor(form, event));
      for (const agent of agents) await agent.said('calling');
      await until(() => (form ? loopsWait : threadsWait)(event));
      let released = 0;
      for (const agent of agents) void agent.result.then(() => released++);
      for (let i = 1; i <= 3; i++) {
        event.set();
        await until(() => released === i);
        expect(event.isSet).to.equal(false);
      }
    });
  }

  it('goes on when its generation wraps', async () => {
    const event = new Event();
    wordsOf(event)[0] = 0x3ffffffc;
    const waiting = event.waitAsync();
    event.set();
    event.reset();
    expect(await within(10_000, waiting)).to.equal(true);
    expect(wordsOf(event)[0]).to.equal(0);
  });

  it('passes a baton between threads and tasks, and drops it never', async () => {
    const events = Array.from({ length: 4 }, automatic);
    const turns = new Int32Array(new SharedArrayBuffer(4));
    const job = async ({ Event, data }) => {
      const [mine, next] = data.handles.map((handle) => Event.from(handle));
      for (let i = 0; i < 200; i++) {
        await mine[data.call]();
        data.turns[0]++;
        next.set();
      }
    };
    const give = (i, call) => ({
      handles: [events[i].handle, events[(i + 1) % 4].handle],
      turns,
      call,
    });
    const agents = ['wait', 'waitAsync', 'wait'].map((call, i) => spawn(job, give(i, call)));
    const mine = job({ Event, data: give(3, 'waitAsync') });
    events[0].set();
    await within(20_000, Promise.all([mine, ...agents.map((agent) => agent.result)]));
    expect(turns[0]).to.equal(800);
    expect(events.map((event) => event.isSet)).to.deep.equal([true, false, false, false]);
  });

  it('automatic: timeouts and aborts lose no set', async () => {
    const event = automatic();
    let taken = 0;
    for (let i = 0; i < 100; i++) {
      const controller = new AbortController();
      const waits = Array.from({ length: 3 }, (_, j) =>
        event
          .waitAsync({ timeout: j === 0 ? Math.random() : 20_000, signal: controller.signal })
          .catch(() => false),
      );
      await null;
      event.set();
      if (i % 2) await new Promise((resolve) => setTimeout(resolve));
      controller.abort();
      const won = (await Promise.all(waits)).filter(Boolean).length;
      expect(won + Number(event.reset())).to.equal(1);
      taken += won;
    }
    expect(taken).to.be.above(0);
  });
});

if (mode === 'normal') {
  describe('Event: 1,000 pending waitAsync calls of one agent', () => {
    it('cost one engine waiter, and one set releases them all', async () => {
      const event = new Event();
      const agent = spawn(
        async ({ Event, counts, data, say }) => {
          const event = Event.from(data);
          const waiting = Array.from({ length: 1000 }, () => event.waitAsync());
          say('waiting', { ...counts });
          const released = await Promise.all(waiting);
          return [released.length, released.every(Boolean), counts.mostPending];
        },
        event.handle,
        'counted',
      );
      expect(await agent.said('waiting')).to.include({ calls: 1, pending: 1, mostPending: 1 });
      event.set();
      expect(await within(10_000, agent.result)).to.deep.equal([1000, true, 1]);
    });

    it('that are aborted but for one are gone at once, and the last is released', async () => {
      const event = new Event();
      const controller = new AbortController();
      const waiting = Array.from({ length: 1000 }, () =>
        event.waitAsync({ signal: controller.signal }),
      );
      const last = event.waitAsync();
      const ended = Promise.allSettled(waiting);
      controller.abort();
      expect((await ended).every(({ status }) => status === 'rejected')).to.equal(true);
      expect(await stateOf(last)).to.equal('pending');
      event.set();
      expect(await within(10_000, last)).to.equal(true);
    });
  });
}
