/**
 * A worker may be terminated at any moment: while it waits, or when it has just been notified and
 * takes that wake with it. That delays the others by a re-check, about a second, and never for
 * good.
 */
import { expect } from 'chai';

import { Mutex } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import { buryIfItHolds, sleep, spin, until, within, wordsOf } from '../support.js';

const RACES = 12;

/** A re-check, and plenty for a slow machine. */
const LONGEST_MS = 1_000 + 4_000;

/** Tells its agent id, waits for the mutex, and frees it: it is ended anywhere in between. */
const victim = async ({ Mutex, data, say, wordsOf }) => {
  const mutex = Mutex.from(data.handle);
  const own = new Mutex();
  own.tryLock();
  say('id', wordsOf(own.handle)[0]);
  await mutex[data.how]();
  mutex.unlock();
};

/** Takes the mutex that it is sent, blocking, and frees it. */
const survivor = async ({ Mutex, heard, say }) => {
  const mutex = Mutex.from(await heard('take'));
  mutex.lock();
  mutex.unlock();
  say('took');
};

/**
 * One victim, one blocking survivor and this agent; returns how long the survivors were delayed.
 */
async function race(blocking, i) {
  const mutex = new Mutex();
  expect(mutex.tryLock()).to.equal(true);
  const agent = spawn(victim, { handle: mutex.handle, how: i % 2 ? 'lock' : 'lockAsync' });
  const id = await agent.said('id');
  await until(() => wordsOf(mutex.handle)[0] >>> 30 !== 0);
  blocking?.say('take', mutex.handle);
  const mine = mutex.lockAsync().then(() => mutex.unlock());
  await sleep(Math.random() * 3);

  let dead;
  if (i % 3 === 0) dead = agent.terminate();
  mutex.unlock();
  if (Math.random() < 0.5) spin(Math.random() * 0.5);
  const start = performance.now();
  await (dead ?? agent.terminate());
  const stop = buryIfItHolds(mutex, id);
  await within(LONGEST_MS, mine, 'lockAsync() of a survivor');
  if (blocking) await within(LONGEST_MS, blocking.said('took'), 'lock() of a survivor');
  stop();
  return performance.now() - start;
}

if (mode === 'normal') {
  describe('Mutex: workers that are terminated', () => {
    it(`delay the others by a re-check at most, ${RACES} times`, async function () {
      this.timeout(60_000);
      const survivors = Array.from({ length: RACES / 2 }, () => spawn(survivor));
      const races = Array.from({ length: RACES }, (_, i) => race(survivors[i], i));
      expect(Math.max(...(await Promise.all(races)))).to.be.below(LONGEST_MS);
      for (const agent of survivors) await agent.result;
    });

    it('while they wait in a queue of many leave the others their turns', async () => {
      const mutex = new Mutex();
      mutex.tryLock();
      const agents = Array.from({ length: 6 }, (_, i) =>
        spawn(victim, { handle: mutex.handle, how: i % 2 ? 'lock' : 'lockAsync' }),
      );
      const ids = await Promise.all(agents.map((agent) => agent.said('id')));
      const queued = Array.from({ length: 10 }, () => mutex.lockAsync().then(() => mutex.unlock()));
      await sleep(20);
      await Promise.all(agents.map((agent) => agent.terminate()));
      mutex.unlock();
      // Browsers do not tell when a worker has ended: one may still take the mutex.
      const stops = ids.map((id) => buryIfItHolds(mutex, id));
      await within(15_000, Promise.all(queued));
      for (const stop of stops) stop();
      expect(mutex.isLocked).to.equal(false);
    });
  });
}
