/**
 * Nobody is stranded, and nobody starves. In the mode 'unhealed' nothing but a notify ends a wait,
 * so that each wake that gets lost is a hang.
 */
import { expect } from 'chai';

import { Mutex } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import {
  ASYNC,
  BLOCKED,
  median,
  sleep,
  spin,
  spinUntil,
  Stranger,
  until,
  within,
  wordsOf,
} from '../support.js';

const free = [0, 0];

/** A worker that takes the mutex once and frees it; it says 'waiting' when it waits. */
const waiter = (mutex, how) =>
  spawn(
    async ({ Mutex, data, say }) => {
      const mutex = Mutex.from(data.handle);
      if (data.how === 'lock') say('waiting');
      const taken = mutex[data.how]();
      if (data.how === 'lockAsync') say('waiting');
      await taken;
      mutex.unlock();
      return performance.now();
    },
    { handle: mutex.handle, how },
  );

async function waiting(mutex, how) {
  const agent = waiter(mutex, how);
  await agent.said('waiting');
  const flag = how === 'lock' ? BLOCKED : ASYNC;
  await until(() => (wordsOf(mutex.handle)[0] & flag) !== 0);
  return agent;
}

describe('Mutex: liveness', () => {
  for (const how of ['lock', 'lockAsync']) {
    it(`an aborted lockAsync that had been notified strands no worker in ${how}()`, async () => {
      for (let round = 0; round < 5; round++) {
        const mutex = new Mutex();
        const stranger = new Stranger(mutex).lock();
        const controller = new AbortController();
        const aborted = mutex.lockAsync({ signal: controller.signal }).catch((reason) => reason);
        const agent = await waiting(mutex, how);
        stranger.unlock();
        controller.abort('enough');
        expect(await aborted).to.equal('enough');
        await within(10_000, agent.result, 'the other waiter');
        expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
      }
    });

    it(`100 callers that are aborted after a notify strand no worker in ${how}()`, async () => {
      const mutex = new Mutex();
      const stranger = new Stranger(mutex).lock();
      const controller = new AbortController();
      const abort = { signal: controller.signal };
      // One of them may be granted the mutex while those before it are told.
      const aborted = Array.from({ length: 100 }, () =>
        mutex.lockAsync(abort).then(
          () => mutex.unlock(),
          (reason) => reason,
        ),
      );
      const agent = await waiting(mutex, how);
      stranger.unlock();
      controller.abort('enough');
      expect(
        (await Promise.all(aborted)).filter((reason) => reason === 'enough').length,
      ).to.be.at.least(99);
      await within(10_000, agent.result, 'the other waiter');
    });

    it(`a lockAsync that was notified and whose time is up before it runs strands no worker in ${how}()`, async () => {
      for (let round = 0; round < 5; round++) {
        const mutex = new Mutex();
        const stranger = new Stranger(mutex).lock();
        const agent = await waiting(mutex, how);
        const timed = mutex.lockAsync(15).then((taken) => taken && mutex.unlock());
        stranger.unlock();
        spin(20);
        await timed;
        await within(10_000, agent.result, 'the other waiter');
      }
    });
  }

  it('a timed waiter that was woken, overtaken, and gave up strands neither of two others', async () => {
    for (let round = 0; round < 5; round++) {
      const mutex = new Mutex();
      const go = new Int32Array(new SharedArrayBuffer(8));
      const stranger = new Stranger(mutex).lock();
      const timed = mutex.lockAsync(40);
      const asynchronous = await waiting(mutex, 'lockAsync');
      const overtaking = spawn(
        async ({ Mutex, data }) => {
          const mutex = Mutex.from(data.handle);
          mutex.lock();
          Atomics.store(data.go, 0, 1);
          Atomics.wait(data.go, 1, 0);
          mutex.unlock();
        },
        { handle: mutex.handle, go },
      );
      await until(() => (stranger.state & BLOCKED) !== 0);
      // Wakes the thread and this agent's own waiter, which cannot run: the thread takes the mutex
      // and keeps it.
      stranger.unlock();
      expect(spinUntil(() => Atomics.load(go, 0) === 1)).to.equal(true);
      const taken = await timed;
      Atomics.store(go, 1, 1);
      Atomics.notify(go, 1);
      expect(taken).to.equal(false);
      await within(10_000, overtaking.result, 'the worker that overtook');
      await within(10_000, asynchronous.result, 'the worker in lockAsync()');
      expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
    }
  });

  it('workers with short timeouts strand neither each other nor one that waits as long as it takes', async () => {
    const mutex = new Mutex();
    const job = async ({ Mutex, data }) => {
      const mutex = Mutex.from(data.handle);
      let taken = 0;
      for (let i = 0; i < 1500; i++) {
        if (!(await mutex[data.how](data.patient ? Infinity : Math.random()))) continue;
        taken++;
        mutex.unlock();
      }
      return taken;
    };
    const agents = ['lock', 'lock', 'lockAsync', 'lock'].map((how, i) =>
      spawn(job, { handle: mutex.handle, how, patient: i === 3 }),
    );
    const turns = await within(25_000, Promise.all(agents.map((agent) => agent.result)));
    expect(turns[3]).to.equal(1500);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('a busy event loop at the head of the queue does not keep a blocked worker off a free mutex', async () => {
    for (let round = 0; round < 3; round++) {
      const mutex = new Mutex();
      const done = new Int32Array(new SharedArrayBuffer(4));
      const stranger = new Stranger(mutex).lock();
      const mine = mutex.lockAsync();
      const agent = spawn(
        ({ Mutex, data }) => {
          const mutex = Mutex.from(data.handle);
          mutex.lock();
          Atomics.store(data.done, 0, 1);
          mutex.unlock();
        },
        { handle: mutex.handle, done },
      );
      await until(() => (stranger.state & BLOCKED) !== 0);
      await sleep(5);
      stranger.unlock();
      const start = performance.now();
      const passed = spinUntil(() => Atomics.load(done, 0) === 1, 10_000);
      const took = performance.now() - start;
      expect(passed, 'the worker got the mutex while the event loop was busy').to.equal(true);
      if (mode === 'normal') expect(took).to.be.below(900);
      expect(await within(10_000, mine)).to.equal(true);
      mutex.unlock();
      await agent.result;
    }
  });

  it('a busy event loop that was notified does not lose its turn for good', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    const mine = mutex.lockAsync();
    stranger.unlock();
    spin(50);
    expect(await within(10_000, mine)).to.equal(true);
    mutex.unlock();
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('an event loop that is kept busy under a reservation does not bar a newcomer', async () => {
    const mutex = new Mutex();
    const words = wordsOf(mutex.handle);
    for (const how of ['lock', 'lockAsync']) {
      Atomics.store(words, 0, 0x20000000);
      const agent = waiter(mutex, how);
      await within(10_000, agent.result, 'the newcomer');
      expect([...words]).to.deep.equal(free);
    }
  });

  it('event loops that never turn starve neither each other nor one that does', async () => {
    const mutex = new Mutex();
    const go = new Int32Array(new SharedArrayBuffer(4));
    const counts = new Int32Array(new SharedArrayBuffer(12));
    const job = async ({ Mutex, data, say, sleep }) => {
      const { counts, go, i, turns } = data;
      const mutex = Mutex.from(data.handle);
      say('ready');
      Atomics.wait(go, 0, 0);
      let longest = 0;
      for (const began = performance.now(); ;) {
        const start = performance.now();
        const all = start > began + 1_000 && counts.every((_, k) => Atomics.load(counts, k) >= 50);
        if (all || start > began + 2_000) return longest;
        await mutex.lockAsync();
        longest = Math.max(longest, performance.now() - start);
        mutex.unlock();
        Atomics.add(counts, i, 1);
        if (turns) await sleep(0);
      }
    };
    const agents = [false, false, true].map((turns, i) =>
      spawn(job, { handle: mutex.handle, counts, go, i, turns }),
    );
    await Promise.all(agents.map((agent) => agent.said('ready')));
    Atomics.store(go, 0, 1);
    Atomics.notify(go, 0);
    const longest = await within(20_000, Promise.all(agents.map((agent) => agent.result)));
    // One that starved would have waited for the others' whole two seconds.
    expect(Math.max(...longest), `${longest}`).to.be.below(1500);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('1,000 callers in two agents, and a thread, get their turns', async () => {
    const mutex = new Mutex();
    const shared = new Int32Array(new SharedArrayBuffer(4));
    const job = async ({ Mutex, data, sleep }) => {
      const mutex = Mutex.from(data.handle);
      const turn = async (i) => {
        await mutex.lockAsync();
        const seen = data.shared[0];
        if (i % 50 === 0) await sleep(0);
        data.shared[0] = seen + 1;
        mutex.unlock();
      };
      if (data.how === 'lockAsync')
        return void (await Promise.all(Array.from({ length: 500 }, (_, i) => turn(i))));
      for (let i = 0; i < 500; i++) {
        mutex.lock();
        data.shared[0]++;
        mutex.unlock();
      }
    };
    const agents = ['lockAsync', 'lockAsync', 'lock'].map((how) =>
      spawn(job, { handle: mutex.handle, shared, how }),
    );
    await within(25_000, Promise.all(agents.map((agent) => agent.result)));
    expect(shared[0]).to.equal(1500);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });
});

if (mode !== 'unhealed') {
  describe('Mutex: a wake that is lost', () => {
    for (const how of ['lock', 'lockAsync']) {
      it(`costs a worker a re-check: ${how}()`, async () => {
        const mutex = new Mutex();
        const stranger = new Stranger(mutex).lock();
        const agent = spawn(
          async ({ Mutex, data }) => {
            const mutex = Mutex.from(data.handle);
            return mutex[data.how]();
          },
          { handle: mutex.handle, how },
        );
        await until(() => stranger.state >>> 30 !== 0);
        await sleep(100);
        Atomics.store(wordsOf(mutex.handle), 0, 0);
        expect(await within(10_000, agent.result)).to.equal(true);
      });
    }
  });
}

if (mode === 'normal') {
  describe('Mutex: fairness', () => {
    /**
     * Workers that relock without a gap until they are told to stop; resolves once all of them do.
     */
    async function relock(mutex, n) {
      const stop = new Int32Array(new SharedArrayBuffer(4));
      const turns = new Int32Array(new SharedArrayBuffer(4 * n));
      const job = ({ Mutex, data: { handle, stop, turns, i } }) => {
        const mutex = Mutex.from(handle);
        while (Atomics.load(stop, 0) === 0) {
          mutex.lock();
          turns[i]++;
          mutex.unlock();
        }
      };
      const agents = Array.from({ length: n }, (_, i) =>
        spawn(job, { handle: mutex.handle, stop, turns, i }),
      );
      await until(() => turns.every((n) => n > 100));
      const before = [...turns];
      return async () => {
        Atomics.store(stop, 0, 1);
        for (const agent of agents) await within(10_000, agent.result);
        return turns.map((n, i) => n - before[i]);
      };
    }

    for (const relockers of [1, 2]) {
      it(`lockAsync gets its turn within milliseconds against ${relockers} worker(s) that relock without a gap`, async () => {
        const mutex = new Mutex();
        const stop = await relock(mutex, relockers);
        const waits = [];
        for (let i = 0; i < 200; i++) {
          const start = performance.now();
          expect(await mutex.lockAsync()).to.equal(true);
          waits.push(performance.now() - start);
          mutex.unlock();
          // Or else this agent would relock without a gap, too, and meet nobody.
          await sleep(1);
        }
        const turns = await stop();
        expect(turns.reduce((sum, n) => sum + n)).to.be.above(0);
        expect(median(waits)).to.be.below(relockers === 1 ? 10 : 50);
        expect(Math.max(...waits)).to.be.below(relockers === 1 ? 1_000 : 5_000);
      });
    }

    it('lock() gets its turn against a worker that relocks without a gap', async () => {
      const mutex = new Mutex();
      const stop = await relock(mutex, 1);
      const agent = spawn(({ Mutex, data }) => {
        const mutex = Mutex.from(data);
        return Array.from({ length: 100 }, () => {
          const start = performance.now();
          mutex.lock();
          const wait = performance.now() - start;
          mutex.unlock();
          return wait;
        });
      }, mutex.handle);
      const waits = await within(20_000, agent.result);
      await stop();
      expect(median(waits)).to.be.below(50);
      expect(Math.max(...waits)).to.be.below(2_500);
    });
  });
}
