/**
 * Many asynchronous callers of one agent: they exclude each other, and cost the engine one waiter.
 */
import { expect } from 'chai';

import { Mutex } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import {
  failure,
  RESERVED,
  sleep,
  spin,
  stateOf,
  Stranger,
  until,
  within,
  wordsOf,
} from '../support.js';

const free = [0, 0];

describe('Mutex: asynchronous callers of one agent', () => {
  it('exclude each other', async () => {
    const mutex = new Mutex();
    expect(await mutex.lockAsync()).to.equal(true);
    const second = mutex.lockAsync();
    expect(await stateOf(second)).to.equal('pending');
    await sleep(20);
    expect(await stateOf(second)).to.equal('pending');
    mutex.unlock();
    expect(await within(10_000, second)).to.equal(true);
    expect(mutex.isMine).to.equal(true);
    mutex.unlock();
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('time out while their own agent holds the mutex', async () => {
    const mutex = new Mutex();
    await mutex.lockAsync();
    expect(await mutex.lockAsync(20)).to.equal(false);
    expect(await mutex.lockAsync(0)).to.equal(false);
    mutex.unlock();
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('are served in the order in which they came', async () => {
    const mutex = new Mutex();
    await mutex.lockAsync();
    const order = [];
    const waiting = Array.from({ length: 20 }, async (_, i) => {
      await mutex.lockAsync();
      order.push(i);
      mutex.unlock();
    });
    mutex.unlock();
    await within(10_000, Promise.all(waiting));
    expect(order).to.deep.equal(order.map((_, i) => i));
  });

  it('time out one by one, each no earlier than its own timeout, and the last gets the mutex', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    const start = performance.now();
    const timeouts = [40, 10, 30, 20, 0];
    const waiting = timeouts.map(async (timeout) => [
      await mutex.lockAsync(timeout),
      performance.now() - start,
    ]);
    const last = mutex.lockAsync();
    for (const [i, [taken, took]] of (await Promise.all(waiting)).entries()) {
      expect(taken).to.equal(false);
      expect(took).to.be.at.least(timeouts[i]);
    }
    expect(await stateOf(last)).to.equal('pending');
    stranger.unlock();
    expect(await within(10_000, last)).to.equal(true);
    mutex.unlock();
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('a timer ends the brief wait that it was set for, and no other', async () => {
    const job = async ({ Mutex, briefs, failure, wordsOf, RESERVED }) => {
      const mutex = new Mutex();
      wordsOf(mutex.handle)[0] = RESERVED;
      const controller = new AbortController();
      const first = failure(() => mutex.lockAsync({ signal: controller.signal }));
      controller.abort('enough');
      const answers = [await first];
      const second = mutex.lockAsync();
      await null;
      answers.push(briefs.length);
      briefs[0]();
      answers.push(mutex.isLocked);
      briefs[1]();
      return [...answers, mutex.isMine, await second];
    };
    const { result } = spawn(job, {}, 'brief');
    expect(await result).to.deep.equal(['enough', 2, false, true, true]);
  });

  it('take their reservation along when they give up', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    const controller = new AbortController();
    const first = mutex.lockAsync({ signal: controller.signal }).catch((reason) => reason);
    const second = mutex.lockAsync();
    // Wakes in vain, until the first reserves.
    await until(
      () => Atomics.notify(wordsOf(mutex.handle), 1) >= 0 && (stranger.state & RESERVED) !== 0,
    );
    controller.abort('enough');
    expect(await first).to.equal('enough');
    expect(stranger.state & RESERVED).to.equal(0);
    stranger.unlock();
    expect(await within(10_000, second)).to.equal(true);
    mutex.unlock();
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('try once more when their time is up', async () => {
    const mutex = new Mutex();
    new Stranger(mutex).lock();
    const timed = mutex.lockAsync(30);
    // Nobody notifies it.
    wordsOf(mutex.handle)[0] = 0;
    expect(await timed).to.equal(true);
    mutex.unlock();
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('survive a holder that throws', async () => {
    const mutex = new Mutex();
    const outcomes = await within(
      10_000,
      Promise.allSettled(
        Array.from({ length: 10 }, (_, i) =>
          mutex.runExclusive(async () => {
            await sleep(1);
            if (i % 2) throw new Error(`${i}`);
          }),
        ),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'rejected')).to.have.length(5);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('of many mutexes do not mix them up', async () => {
    const buffer = new SharedArrayBuffer(8 * 100);
    const mutexes = Array.from({ length: 100 }, (_, i) => new Mutex(buffer, 8 * i));
    for (const mutex of mutexes) await mutex.lockAsync();
    const granted = [];
    const waiting = mutexes.map((mutex, i) => mutex.lockAsync().then(() => granted.push(i)));
    const order = mutexes.map((_, i) => (i * 37) % 100);
    for (const i of order) {
      mutexes[i].unlock();
      await within(10_000, waiting[i]);
      expect(granted.at(-1)).to.equal(i);
    }
  });

  it('are served in the order in which they came, whether or not others have just been served', async () => {
    const mutex = new Mutex();
    const order = [];
    const ask = async (i) => {
      await mutex.lockAsync();
      order.push(i);
      mutex.unlock();
    };
    const first = mutex.lockAsync();
    const waiting = [ask(0), ask(1)];
    await first;
    // Free for a moment, and those who wait have not been told yet: who asks now comes after them.
    mutex.unlock();
    waiting.push(ask(2));
    await within(10_000, Promise.all(waiting));
    expect(order).to.deep.equal([0, 1, 2]);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('wait while the code that unlocks goes on, and takes it again', async () => {
    const mutex = new Mutex();
    await mutex.lockAsync();
    const other = mutex.lockAsync();
    mutex.unlock();
    expect([mutex.isLocked, mutex.tryLock()]).to.deep.equal([false, true]);
    expect(await stateOf(other)).to.equal('pending');
    mutex.unlock();
    expect(await within(10_000, other)).to.equal(true);
    mutex.unlock();
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('get on when the holder unlocks by hand, as C does, in their own agent', async () => {
    const mutex = new Mutex();
    const words = wordsOf(mutex.handle);
    await mutex.lockAsync();
    const waiting = Array.from({ length: 3 }, () => mutex.lockAsync());
    mutex.unlock();
    for (const lock of waiting) {
      await within(10_000, lock);
      const state = Atomics.exchange(words, 0, 0);
      if (state & 0x40000000) Atomics.notify(words, 1);
    }
    expect([...words]).to.deep.equal(free);
  });

  it('hand over to each other for some milliseconds before the event loop turns, and not longer', async () => {
    const mutex = new Mutex();
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const start = performance.now();
    const tasks = Array.from({ length: 200 }, () => mutex.runExclusive(() => spin(1)));
    await within(20_000, Promise.all(tasks));
    clearInterval(timer);
    expect(turns).to.be.above(1);
    expect(performance.now() - start).to.be.above(199);
  });

  it('100,000 of them cost no more each than 5,000 do', async function () {
    this.timeout(60_000);
    const each = async (n) => {
      const mutex = new Mutex();
      const start = performance.now();
      await Promise.all(Array.from({ length: n }, () => mutex.runExclusive(() => {})));
      return (performance.now() - start) / n;
    };
    await each(5_000);
    // Twenty times as much if each looked past those before it. On a busy machine either may get
    // less of a CPU than the other, but not each time.
    for (let tries = 1; ; tries++) {
      const few = await each(5_000);
      const many = await within(60_000, each(100_000));
      if (many < 8 * few + 0.02) break;
      expect(tries).to.be.below(4);
    }
  });

  it('1,000 of them get their turns', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    let inside = 0;
    let turns = 0;
    const waiting = Array.from({ length: 1000 }, async () => {
      await mutex.lockAsync();
      expect(++inside).to.equal(1);
      if (turns++ % 100 === 0) await sleep(0);
      inside--;
      mutex.unlock();
    });
    stranger.unlock();
    await within(20_000, Promise.all(waiting));
    expect(turns).to.equal(1000);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });
});

/** What a job returns in a worker that counts its waits in the engine. */
const inCounted = (job) => within(20_000, spawn(job, {}, 'counted').result);

if (mode === 'normal') {
  describe('Mutex: 1,000 pending lockAsync calls of one agent', () => {
    it('cost one engine waiter; aborting 999 is immediate, and the last gets the mutex', async () => {
      const mutex = new Mutex();
      const stranger = new Stranger(mutex).lock();
      const agent = spawn(
        async ({ Mutex, counts, data, heard, say, sleep }) => {
          const mutex = Mutex.from(data);
          const controllers = Array.from({ length: 1000 }, () => new AbortController());
          const waiting = controllers.map(({ signal }) => mutex.lockAsync({ signal }));
          await sleep(50);
          const whileWaiting = { ...counts };
          let rejected = 0;
          for (const lock of waiting.slice(0, 999)) lock.catch(() => rejected++);
          const start = performance.now();
          for (const controller of controllers.slice(0, 999)) controller.abort();
          await sleep(0);
          const aborting = { rejected, ms: performance.now() - start };
          say('aborted');
          await heard('unlocked');
          const last = await waiting[999];
          const { isMine } = mutex;
          mutex.unlock();
          return { whileWaiting, aborting, last, isMine, mostPending: counts.mostPending };
        },
        mutex.handle,
        'counted',
      );
      await agent.said('aborted');
      stranger.unlock();
      agent.say('unlocked');
      const { whileWaiting, aborting, last, isMine, mostPending } = await within(
        20_000,
        agent.result,
      );
      expect(whileWaiting).to.include({ calls: 1, pending: 1, mostPending: 1 });
      expect(aborting.rejected).to.equal(999);
      expect(aborting.ms).to.be.below(1_000);
      expect([last, isMine]).to.deep.equal([true, true]);
      expect(mostPending).to.be.at.most(2);
      expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
    });

    it('cost one engine waiter through any number of objects on the address', async () => {
      const mutex = new Mutex();
      const stranger = new Stranger(mutex).lock();
      const agent = spawn(
        async ({ Mutex, counts, data, say }) => {
          const waiting = Array.from({ length: 100 }, async () => {
            const mutex = Mutex.from(data);
            await mutex.lockAsync();
            mutex.unlock();
          });
          say('waiting', { ...counts });
          await Promise.all(waiting);
          return counts.mostPending;
        },
        mutex.handle,
        'counted',
      );
      expect(await agent.said('waiting')).to.include({ calls: 1, pending: 1, mostPending: 1 });
      stranger.unlock();
      expect(await within(20_000, agent.result)).to.equal(1);
    });

    it('hand over to each other without the engine: tasks that do nothing, or come back', async () => {
      const counted = await inCounted(async ({ Mutex, RecursiveMutex, counts }) => {
        const calls = [];
        for (const [tasks, turns] of [
          [1000, 1],
          [2, 1000],
        ]) {
          for (const mutex of [new Mutex(), new RecursiveMutex()]) {
            const before = counts.calls;
            const task = async () => {
              for (let i = 0; i < turns; i++) await mutex.runExclusive(() => {});
            };
            await Promise.all(Array.from({ length: tasks }, task));
            calls.push(counts.calls - before);
          }
        }
        return calls;
      });
      // Two for each turn of the event loop, which comes after some milliseconds.
      for (const calls of counted) expect(calls).to.be.below(200);
    });

    it('leave no wait behind in the engine for long, if they have given up', async () => {
      const counted = await inCounted(async ({ Mutex, Stranger, counts, until }) => {
        const mutexes = Array.from({ length: 100 }, () => new Mutex());
        for (const mutex of mutexes) new Stranger(mutex).lock();
        const taken = await Promise.all(mutexes.map((mutex) => mutex.lockAsync(1)));
        const { pending } = counts;
        await until(() => counts.pending === 0, 10_000);
        return { taken: taken.includes(true), pending };
      });
      expect(counted).to.deep.equal({ taken: false, pending: 100 });
    });

    it('that come and go by timeout leave at most one engine waiter behind', async () => {
      const counted = await inCounted(async ({ Mutex, Stranger, counts }) => {
        const mutex = new Mutex();
        const stranger = new Stranger(mutex).lock();
        for (let i = 0; i < 200; i++) await mutex.lockAsync(0);
        for (let i = 0; i < 20; i++)
          await Promise.all(Array.from({ length: 10 }, () => mutex.lockAsync(1)));
        const left = { ...counts };
        stranger.unlock();
        return {
          pending: left.pending,
          most: left.mostPending,
          taken: await mutex.lockAsync(5_000),
        };
      });
      const { pending, most, taken } = counted;
      expect(pending).to.be.at.most(1);
      expect(most).to.be.at.most(1);
      expect(taken).to.equal(true);
    });
  });

  describe('Mutex: the event loop', () => {
    // V8 keeps the timer of each engine wait that has a timeout, for as long as that is, and clears
    // them in quadratic time.
    it('does not stop after 100,000 waits', async () => {
      const mutex = new Mutex();
      const stranger = new Stranger(mutex);
      const end = performance.now() + 8_000;
      for (let i = 0; i < 100_000 && performance.now() < end; i++) {
        stranger.lock();
        const waiting = mutex.lockAsync();
        stranger.unlock();
        await waiting;
        mutex.unlock();
      }
      let longest = 0;
      for (const start = performance.now(); performance.now() < start + 1_500;) {
        const turn = performance.now();
        await sleep(1);
        longest = Math.max(longest, performance.now() - turn);
      }
      expect(longest).to.be.below(1_000);
    });
  });

  describe('Mutex: uncontended', () => {
    it('asks the engine for no waiter and no timer', async () => {
      const counted = await inCounted(async ({ Mutex, counts }) => {
        const mutex = new Mutex();
        let timers = 0;
        for (const name of ['setTimeout', 'setInterval']) {
          const real = globalThis[name];
          globalThis[name] = (...timer) => (timers++, real(...timer));
        }
        for (let i = 0; i < 100; i++) {
          await mutex.lockAsync();
          mutex.unlock();
          await mutex.lockAsync({ timeout: 1000, signal: new AbortController().signal });
          mutex.unlock();
          mutex.lock(1000);
          mutex.unlock();
          await mutex.runExclusive(() => {});
        }
        return { timers, calls: counts.calls };
      });
      expect(counted).to.deep.equal({ timers: 0, calls: 0 });
    });
  });
}
