/**
 * A worker that contends looks for a while before it sleeps, and lets others have its CPU now and
 * then. The clock and Atomics.wait are the test's.
 */
import { expect } from 'chai';

import { spawn } from '../agents.js';
import { mode } from '../modes.js';

if (mode === 'normal') {
  describe('Mutex: waiting awake', () => {
    it('who finds it freed while looking has left no mark, and not slept', async () => {
      const agent = spawn(({ Mutex, Stranger }) => {
        const mutex = new Mutex();
        const stranger = new Stranger(mutex).lock();
        const { load, wait } = Atomics;
        const states = [];
        let sleeps = 0;
        Atomics.load = (words, index) => {
          states.push(load(words, index));
          if (states.length === 3) {
            Atomics.load = load;
            stranger.unlock();
          }
          return states.at(-1);
        };
        Atomics.wait = (words, index, expected, ms) => {
          if (words.length > 1) sleeps++;
          return wait(words, index, expected, ms);
        };
        return { locked: mutex.lock(), isMine: mutex.isMine, states, sleeps };
      });
      expect(await agent.result).to.deep.equal({
        locked: true,
        isMine: true,
        states: [5, 5, 5],
        sleeps: 0,
      });
    });

    it('nobody looks for long, nor at one that is reserved', async () => {
      const agent = spawn(({ Mutex, Stranger, RESERVED, wordsOf }) => {
        const { load } = Atomics;
        let looks = 0;
        Atomics.load = (...word) => {
          looks++;
          return load(...word);
        };
        return [0, RESERVED].map((flags) => {
          const mutex = new Mutex();
          new Stranger(mutex).lock();
          wordsOf(mutex.handle)[0] |= flags;
          looks = 0;
          return { locked: mutex.lock(1), looks };
        });
      });
      const [free, reserved] = await agent.result;
      expect(free.locked).to.equal(false);
      expect(free.looks).to.be.within(10, 1000);
      // Once while awake; then two steps look, the second one when the time is up.
      expect(reserved).to.deep.equal({ locked: false, looks: 3 });
    });

    it('lets others have the CPU once in half a millisecond of contending, in two if nobody took it', async () => {
      const agent = spawn(({ Mutex, Stranger }) => {
        const mutex = new Mutex();
        const stranger = new Stranger(mutex);
        let now = Math.ceil(performance.now()) + 1000; // later than any nap before
        let napLasts;
        let naps = 0;
        Object.defineProperty(globalThis, 'performance', { value: { now: () => now } });
        Atomics.wait = (words, index, expected, ms) => {
          if (words.length > 1) throw new Error('it sleeps');
          // The first, of 0 ms, asks whether this thread may block at all.
          if (ms === 0) return 'timed-out';
          naps++;
          now += napLasts;
          return 'timed-out';
        };
        const { load } = Atomics;
        Atomics.load = (...word) => {
          const state = load(...word);
          stranger.unlock();
          return state;
        };
        /** How many naps a contended lock takes that comes so long after the last one. */
        const napsAfter = (ms, lasts = 0.08) => {
          stranger.lock();
          now += ms;
          napLasts = lasts;
          naps = 0;
          mutex.lock();
          mutex.unlock();
          return naps;
        };
        return {
          first: napsAfter(0),
          alone: [napsAfter(0.4), napsAfter(1.5), napsAfter(0.2, 5)],
          inCompany: [napsAfter(0.4), napsAfter(0.2, 0.3), napsAfter(0.4), napsAfter(0.2)],
        };
      });
      expect(await agent.result).to.deep.equal({
        first: 1,
        alone: [0, 0, 1],
        inCompany: [0, 1, 0, 1],
      });
    });

    it('one that is free costs nobody a nap', async () => {
      const agent = spawn(({ Mutex, RecursiveMutex }) => {
        let naps = 0;
        Atomics.wait = (words, index, expected, ms) => {
          naps += ms > 0;
          return 'timed-out';
        };
        for (const Class of [Mutex, RecursiveMutex]) {
          const mutex = new Class();
          mutex.lock();
          mutex.unlock();
        }
        return naps;
      });
      expect(await agent.result).to.equal(0);
    });
  });
}
