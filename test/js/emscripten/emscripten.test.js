/**
 * A program for Emscripten's Wasm Workers on lockword's locks: C in workers that block, C on a main
 * thread that does not, JavaScript beside both.
 */
import { expect } from 'chai';

import { imports as emscripten } from '../../../js/src/emscripten.js';
import { Condition, Mutex, Semaphore } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import { built, failure, sleep, Stranger, until, within, wordsOf as wordsAt } from '../support.js';

const PAGE = 65536;
const [OK, TIMED_OUT] = [0, 2];
const [SUCCESS, INVALID_PARAM] = [0, -5];
const NO_LIMIT = Infinity;

/** How long after its time was up a wait may return, on a machine that has better things to do. */
const LATE = 1500;

const wordsOf = ({ handle }) => wordsAt(handle);

/** Written by interop.build.js. */
const module = await built('emscripten.wasm');

/**
 * Makes an instance for this agent, and returns its exports. Crosses over into workers as source.
 */
async function open({ data, emscripten, finished = () => {}, counted = () => {} }) {
  const { memory, module, stack } = data;
  let c;
  const table = () => c.__indirect_function_table;
  const { instance } = await WebAssembly.instantiate(module, {
    env: { memory },
    test: { finished, counted },
    ...emscripten(memory, table),
  });
  c = instance.exports;
  if (stack) c.__stack_pointer.value = stack;
  return c;
}

/** A program: its memory, its main thread's instance, and its locks as JavaScript sees them. */
async function start() {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true });
  let count = () => {};
  const calls = [];
  const finished = (address, value, result, userData) =>
    calls.push({ address, value, result, userData });
  const c = await open({ data: { memory, module }, emscripten, finished, counted: () => count() });
  let workers = 0;
  return {
    c,
    calls,
    mutex: new Mutex(memory, c.the_lock()),
    semaphore: new Semaphore(memory, c.the_semaphore()),
    condition: new Condition(memory, c.the_condvar()),
    counted: () => new Promise((resolve) => (count = resolve)),
    /** Runs `job(c, { say, heard, data, … })` in a worker, which has an instance of its own. */
    worker: (job, more = {}) => {
      const data = { memory, module, stack: (8 + 2 * workers++) * PAGE, ...more };
      return spawn(`async (given) => (${job})(await (${open})(given), given)`, data);
    },
  };
}

describe("emscripten: Wasm Workers' names", () => {
  it('counts exactly in two workers and on the main thread, by every form of acquiring the lock', async function () {
    this.timeout(60_000);
    const { c, worker, counted, mutex } = await start();
    const agents = [1, 2].map(() =>
      worker((c, { data }) => c.count(data.times), { times: 20_000 }),
    );
    const done = counted();
    c.count_async(100);
    await within(50_000, Promise.all([done, ...agents.map((agent) => agent.result)]));
    expect(c.the_count()).to.equal(40_100);
    expect([...wordsOf(mutex)]).to.deep.equal([0, 0]);
  });

  it('moves items from workers to workers and the main thread by condition variables', async function () {
    this.timeout(60_000);
    const { c, worker, counted } = await start();
    const items = 400;
    const done = counted();
    c.consume_async(items);
    const agents = [
      worker((c, { data }) => c.produce(data.items), { items: 2 * items }),
      worker((c, { data }) => c.consume(data.items), { items }),
    ];
    await within(50_000, Promise.all([done, ...agents.map((agent) => agent.result)]));
    expect(c.the_consumed()).to.equal(2 * items);
  });

  describe('the lock', () => {
    it('is the same as a Mutex', async () => {
      const { c, mutex } = await start();
      expect(c.lock_try_acquire()).to.equal(1);
      expect(mutex.isMine).to.equal(true);
      mutex.unlock();
      expect(await mutex.lockAsync()).to.equal(true);
      expect(c.lock_try_acquire()).to.equal(0);
      c.lock_release();
      expect(mutex.isLocked).to.equal(false);
    });

    it('is given up on in time, not before, even if woken in vain all the time', async () => {
      const { c, mutex, worker } = await start();
      const stranger = new Stranger(mutex).lock();
      const agent = worker((c, { say }) => {
        const took = [];
        const answers = [];
        say('waiting');
        for (const [call, ms] of [
          ['lock_wait_acquire', 120],
          ['lock_busyspin_wait_acquire', 30],
          ['lock_wait_acquire', 0],
          ['lock_wait_acquire', -1],
          ['lock_busyspin_wait_acquire', -1e300],
          ['lock_busyspin_wait_acquire', NaN],
        ]) {
          const start = performance.now();
          answers.push(c[call](ms));
          took.push(performance.now() - start);
        }
        return { answers, took };
      });
      await agent.said('waiting');
      const timer = setInterval(() => Atomics.notify(wordsOf(mutex), 0), 10);
      const { answers, took } = await within(10_000, agent.result);
      clearInterval(timer);
      expect(answers).to.deep.equal([0, 0, 0, 0, 0, 0]);
      expect(took[0]).to.be.within(120, 120 + LATE);
      expect(took[1]).to.be.within(30, 30 + LATE);
      expect(took[2] + took[3] + took[4] + took[5]).to.be.below(LATE);
      stranger.unlock();
      expect(c.lock_busyspin_wait_acquire(Infinity)).to.equal(1);
    });

    it('calls back later with its user data: when held, or when the time is up', async () => {
      const { c, calls, mutex } = await start();
      const address = mutex.handle.byteOffset;
      c.lock_async_acquire(7, NO_LIMIT);
      // It begins when the caller has returned to its event loop: until then the lock is free.
      expect(c.lock_try_acquire()).to.equal(1);
      await sleep(30);
      expect(calls).to.deep.equal([]);
      c.lock_release();
      await until(() => calls.length === 1);
      expect(calls[0]).to.deep.equal({ address, value: 0, result: OK, userData: 7 });
      expect(mutex.isMine).to.equal(true);

      const began = performance.now();
      c.lock_async_acquire(8, 60);
      c.lock_async_acquire(9, 0);
      c.lock_async_acquire(10, NaN);
      await until(() => calls.length === 3);
      const took = performance.now() - began;
      expect(calls.slice(1)).to.deep.equal([
        { address, value: -1, result: TIMED_OUT, userData: 9 },
        { address, value: -1, result: TIMED_OUT, userData: 8 },
      ]);
      expect(took).to.be.within(60, 60 + LATE);
      c.lock_release();
      await until(() => calls.length === 4);
      expect(calls[3]).to.deep.equal({ address, value: 0, result: OK, userData: 10 });
      c.lock_release();
      expect([...wordsOf(mutex)][0] & 0x1fffffff).to.equal(0);
    });

    it('knows its owner', async () => {
      const { c, mutex } = await start();
      expect((await failure(() => c.lock_release())).name).to.equal('OwnershipError');
      const stranger = new Stranger(mutex).lock();
      expect((await failure(() => c.lock_release())).name).to.equal('OwnershipError');
      stranger.unlock();
      expect(c.lock_try_acquire()).to.equal(1);
      for (const call of ['lock_waitinf_acquire', 'lock_busyspin_waitinf_acquire']) {
        expect((await failure(() => c[call]())).name).to.equal('DeadlockError');
      }
      expect(c.lock_wait_acquire(1e6)).to.equal(0);
      expect(c.lock_busyspin_wait_acquire(1e6)).to.equal(0);
      c.lock_release();
      expect((await failure(() => c.condvar_waitinf())).name).to.equal('OwnershipError');
      expect((await failure(() => c.condvar_wait(10))).name).to.equal('OwnershipError');
      expect((await failure(() => c.condvar_wait_async(1, 10))).name).to.equal('OwnershipError');
      expect([...wordsOf(mutex)]).to.deep.equal([0, 0]);
    });
  });

  describe('the semaphore', () => {
    it('tells which permits it gave', async () => {
      const { c, semaphore, calls } = await start();
      expect(semaphore.permits).to.equal(3);
      expect([2, 2, 0, 1, 1].map((n) => c.semaphore_try_acquire(n))).to.deep.equal([
        1, -1, 1, 0, -1,
      ]);
      expect([2, 5].map((n) => c.semaphore_release(n))).to.deep.equal([0, 2]);
      expect([c.semaphore_wait_acquire(4, 1000), c.semaphore_waitinf_acquire(1)]).to.deep.equal([
        3, 2,
      ]);
      c.semaphore_async_acquire(2, 11, NO_LIMIT);
      await until(() => calls.length === 1);
      expect(calls[0]).to.deep.equal({
        address: semaphore.handle.byteOffset,
        value: 0,
        result: OK,
        userData: 11,
      });
    });

    it('strands nobody, whatever the sizes', async () => {
      const { c, semaphore, worker, calls } = await start();
      c.semaphore_waitinf_acquire(3);
      const words = new Int32Array(semaphore.handle.buffer, semaphore.handle.byteOffset, 3);
      const wait = (n) => worker((c, { data }) => c.semaphore_waitinf_acquire(data.n), { n });
      const one = wait(1);
      await until(() => words[0] < 0);
      const three = wait(3);
      await until(() => words[2] !== 0);
      await sleep(20);
      c.semaphore_async_acquire(2, 12, NO_LIMIT);
      await sleep(20);
      c.semaphore_release(1);
      expect(await within(10_000, one.result)).to.equal(0);
      c.semaphore_release(3);
      expect(await within(10_000, three.result)).to.equal(0);
      c.semaphore_release(2);
      await until(() => calls.length === 1);
      expect(calls[0]).to.include({ value: 0, result: OK, userData: 12 });
    });

    it('is given up on in time, not before, even if woken in vain all the time', async () => {
      const { c, semaphore, worker, calls } = await start();
      c.semaphore_waitinf_acquire(2);
      const agent = worker((c, { say }) => {
        say('waiting');
        const start = performance.now();
        const answers = [c.semaphore_wait_acquire(2, 120)];
        const took = performance.now() - start;
        answers.push(c.semaphore_wait_acquire(2, -1), c.semaphore_wait_acquire(2, 0));
        return { answers, took };
      });
      await agent.said('waiting');
      const began = performance.now();
      c.semaphore_async_acquire(2, 13, 100);
      const timer = setInterval(() => Atomics.notify(wordsOf(semaphore), 0), 10);
      const { answers, took } = await within(10_000, agent.result);
      await until(() => calls.length === 1);
      clearInterval(timer);
      expect(answers).to.deep.equal([-1, -1, -1]);
      expect(took).to.be.within(120, 120 + LATE);
      expect(performance.now() - began).to.be.within(100, 120 + LATE);
      expect(calls[0]).to.include({ value: -1, result: TIMED_OUT, userData: 13 });
      expect(semaphore.permits).to.equal(1);
    });

    it('refuses what it cannot count', async () => {
      const { c, semaphore } = await start();
      const calls = [
        ...[
          () => c.semaphore_release(2 ** 30 - 3),
          () => c.semaphore_release(-1),
          () => c.semaphore_try_acquire(-1),
        ],
        ...[
          () => c.semaphore_wait_acquire(-1, 1),
          () => c.semaphore_waitinf_acquire(-1),
          () => c.semaphore_async_acquire(-1, 0, 1),
        ],
        ...[() => c.semaphore_wait_acquire(2 ** 28, 1), () => c.semaphore_waitinf_acquire(2 ** 30)],
        ...[() => c.make_again(-1), () => c.make_again(2 ** 30)],
      ];
      for (const call of calls) expect(await failure(call)).to.be.instanceOf(RangeError);
      expect(semaphore.permits).to.equal(3);
      expect(c.semaphore_try_acquire(2 ** 31 - 1)).to.equal(-1);
    });
  });

  describe('the condition variable', () => {
    it('wakes one, or all, each of whom holds the lock', async () => {
      const { c, condition, worker } = await start();
      const wait = (c, { data }) => {
        c.lock_waitinf_acquire();
        if (data.ms) var signaled = c.condvar_wait(data.ms);
        else c.condvar_waitinf();
        c.lock_release();
        return signaled;
      };
      const agents = [0, 60_000, -1].map((ms) => worker(wait, { ms }));
      await until(() => wordsOf(condition)[1] === 3);
      await sleep(50);
      c.condvar_signal(1);
      await within(10_000, Promise.race(agents.map((agent) => agent.result)));
      c.condvar_signal(-1);
      expect(await within(10_000, Promise.all(agents.map((agent) => agent.result)))).to.deep.equal([
        undefined,
        1,
        1,
      ]);
      expect(wordsOf(condition)[1]).to.equal(0);
    });

    it('is given up on in time, not before, without the lock', async () => {
      const { mutex, condition, worker } = await start();
      const agent = worker((c, { Mutex }) => {
        c.lock_waitinf_acquire();
        const start = performance.now();
        const answers = [c.condvar_wait(60)];
        const took = performance.now() - start;
        answers.push(c.lock_try_acquire(), c.condvar_wait(0), c.lock_try_acquire());
        c.lock_release();
        return { answers, took };
      });
      const { answers, took } = await within(10_000, agent.result);
      expect(answers).to.deep.equal([0, 1, 0, 1]);
      expect(took).to.be.within(60, 60 + LATE);
      expect([...wordsOf(mutex), wordsOf(condition)[1]]).to.deep.equal([0, 0, 0]);
    });

    it('keeps its time though somebody else keeps the lock, and passes on a signal that came too late', async () => {
      const { c, mutex, condition, calls, worker } = await start();
      const agent = worker((c) => {
        c.lock_waitinf_acquire();
        const start = performance.now();
        const answer = c.condvar_wait(200);
        return { answer, took: performance.now() - start };
      });
      await until(() => wordsOf(condition)[1] === 1 && !mutex.isLocked);
      await sleep(30);
      expect(c.lock_try_acquire()).to.equal(1);
      expect(c.condvar_wait_async(21, NO_LIMIT)).to.be.below(0);
      expect(c.lock_try_acquire()).to.equal(1);
      // Wakes the worker, which came first, and which cannot have the lock.
      c.condvar_signal(1);
      const { answer, took } = await within(10_000, agent.result);
      expect(answer).to.equal(0);
      expect(took).to.be.within(200, 200 + LATE);
      await until(() => calls.length === 1);
      expect(calls[0]).to.include({ result: OK, userData: 21 });
      c.lock_release();
    });

    it('calls back with its user data and without the lock: when signaled, or when the time is up', async () => {
      const { c, calls, mutex, condition } = await start();
      const address = condition.handle.byteOffset;
      c.lock_try_acquire();
      expect(c.condvar_wait_async(31, NO_LIMIT)).to.be.below(0);
      expect(mutex.isLocked).to.equal(false);
      await sleep(20);
      expect(calls).to.deep.equal([]);
      // The lock being held does not keep it waiting.
      const stranger = new Stranger(mutex).lock();
      c.condvar_signal(1);
      await until(() => calls.length === 1);
      expect(calls[0]).to.deep.equal({ address, value: 0, result: OK, userData: 31 });
      stranger.unlock();
      c.lock_try_acquire();
      const began = performance.now();
      c.condvar_wait_async(32, 50);
      await until(() => calls.length === 2);
      expect(performance.now() - began).to.be.within(50, 50 + LATE);
      expect(calls[1]).to.deep.equal({ address, value: 1, result: TIMED_OUT, userData: 32 });
      // Nobody waits; that a wait was left behind is all that is said there.
      expect([...wordsOf(mutex), wordsOf(condition)[1] & 0x7fffffff]).to.deep.equal([0, 0, 0]);
    });

    it('calls nobody back who has cancelled, and loses no signal by it', async () => {
      const { c, calls, mutex, condition } = await start();
      const wait = (userData) => {
        c.lock_try_acquire();
        return c.condvar_wait_async(userData, NO_LIMIT);
      };
      const tokens = [41, 42, 43].map(wait);
      expect(new Set(tokens).size).to.equal(3);
      expect(c.cancel(tokens[0])).to.equal(SUCCESS);
      expect(c.cancel(tokens[0])).to.equal(INVALID_PARAM);
      expect(c.cancel(0)).to.equal(INVALID_PARAM);
      // Signaled and cancelled in one go: the signal is for the next.
      c.condvar_signal(1);
      expect(c.cancel(tokens[1])).to.equal(SUCCESS);
      await until(() => calls.length > 0);
      await sleep(30);
      expect(calls.map(({ userData }) => userData)).to.deep.equal([43]);
      expect(c.cancel(tokens[2])).to.equal(INVALID_PARAM);
      wait(44);
      expect(c.cancel_all_at(mutex.handle.byteOffset)).to.equal(0);
      expect(c.cancel_all_at(condition.handle.byteOffset)).to.equal(1);
      wait(45);
      wait(46);
      expect(c.cancel_all()).to.equal(2);
      expect(c.cancel_all()).to.equal(0);
      c.condvar_signal(-1);
      await sleep(30);
      expect(calls).to.have.lengthOf(1);
      // Without the bit that says that waits may have been left behind.
      await until(() => (wordsOf(condition)[1] & 0x7fffffff) === 0);
    });
  });

  if (mode === 'normal') {
    for (const again of ['make_again', 'assign_again']) {
      it(`is made at run time as by its initializer: ${again}`, async () => {
        const { c, mutex, semaphore, condition } = await start();
        c.lock_try_acquire();
        c.semaphore_try_acquire(1);
        expect(c[again](9)).not.to.equal(0);
        const words = [mutex, semaphore, condition].flatMap((lock) => [...wordsOf(lock)]);
        expect(words).to.deep.equal([0, 0, 9, 0, 0, 0]);
      });
    }
  }
});
