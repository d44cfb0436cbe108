/**
 * The condition: giving the mutex up and holding it again, whatever ends the wait; notifies that
 * find somebody who wants them.
 */
import { expect } from 'chai';

import { Condition, Mutex, OwnershipError, RecursiveMutex, RWLock } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import { failure, itBlocks, itCalling, sleep, until, within } from '../support.js';
import { FORMS, wordsOf } from './waits.js';

/** How many have announced that they wait. */
const waitersOf = (condition) => Atomics.load(wordsOf(condition), 1) & 0x7fffffff;

/**
 * A worker that waits once, and returns what the wait returned and whether it held the mutex then.
 */
const waitElsewhere = (form, condition, mutex, options) =>
  spawn(
    async ({ Condition, data, ...lockword }) => {
      const condition = Condition.from(data.condition);
      const mutex = lockword[data.mutex.type].from(data.mutex);
      const depth = data.mutex.type === 'Mutex' ? 1 : 3;
      for (let i = 0; i < depth; i++) mutex.lock();
      const answer = await condition[data.call](mutex, data.options);
      const held = mutex.isMine && (mutex.depth ?? 1) === depth;
      for (let i = 0; i < depth; i++) mutex.unlock();
      return [answer, held];
    },
    { condition: condition.handle, mutex: mutex.handle, call: `wait${form}`, options },
  );

/** Notifies until the agent has answered: one that is about to fall asleep need not be found. */
async function notifyUntil(condition, promise) {
  let over = false;
  void promise.finally(() => (over = true)).catch(() => {});
  while (!over) {
    condition.notify();
    await sleep(1);
  }
  return promise;
}

describe('Condition', () => {
  for (const form of FORMS) {
    const wait = `wait${form}`;

    it(`gives the mutex up while it waits, and holds it again when notified: ${wait}()`, async () => {
      const [condition, mutex] = [new Condition(), new Mutex()];
      const agent = waitElsewhere(form, condition, mutex);
      await until(() => waitersOf(condition) === 1 && !mutex.isLocked);
      expect(await mutex.lockAsync()).to.equal(true);
      const found = condition.notify();
      expect(found).to.be.within(0, 1);
      mutex.unlock();
      expect(await within(10_000, agent.result)).to.deep.equal([true, true]);
      expect([waitersOf(condition), mutex.isLocked]).to.deep.equal([0, false]);
    });

    itCalling(form)(`holds it again when the time is up, not before: ${wait}()`, async () => {
      for (const timeout of [0, 20]) {
        const [condition, mutex] = [new Condition(), new Mutex()];
        mutex.tryLock();
        const start = performance.now();
        expect(await condition[wait](mutex, timeout)).to.equal(false);
        expect(performance.now() - start).to.be.at.least(timeout);
        expect([mutex.isMine, waitersOf(condition)]).to.deep.equal([true, 0]);
      }
    });

    itCalling(form)(
      `is for the holder only, and touches nothing otherwise: ${wait}()`,
      async () => {
        const [condition, mutex] = [new Condition(), new Mutex()];
        const refused = async () => {
          const before = [...wordsOf(mutex)];
          const error = await failure(async () => condition[wait](mutex));
          expect([error instanceof OwnershipError, error.code]).to.deep.equal([
            true,
            'ERR_NOT_OWNER',
          ]);
          expect([...wordsOf(condition), ...wordsOf(mutex)]).to.deep.equal([0, 0, ...before]);
        };
        await refused();
        wordsOf(mutex)[0] = 5;
        await refused();
      },
    );

    itCalling(form)(
      `refuses bad options and aborted signals, and keeps the mutex: ${wait}()`,
      async () => {
        const [condition, mutex] = [new Condition(), new Mutex()];
        mutex.tryLock();
        for (const [kind, options] of [
          [RangeError, NaN],
          [RangeError, { timeout: NaN }],
          [TypeError, '1'],
          [TypeError, { signal: {} }],
        ])
          expect(await failure(async () => condition[wait](mutex, options))).to.be.instanceOf(kind);
        const signal = AbortSignal.abort('enough');
        expect(await failure(async () => condition[wait](mutex, { signal }))).to.equal('enough');
        expect([mutex.isMine, ...wordsOf(condition)]).to.deep.equal([true, 0, 0]);
      },
    );

    if (form) {
      it('refuses a signal that throws when it is listened to, and keeps the mutex', async () => {
        const [condition, mutex] = [new Condition(), new Mutex()];
        mutex.tryLock();
        const { signal } = new AbortController();
        signal.addEventListener = () => {
          throw new EvalError('deaf');
        };
        expect(await failure(() => condition.waitAsync(mutex, { signal }))).to.be.instanceOf(
          EvalError,
        );
        expect([mutex.isMine, ...wordsOf(condition)]).to.deep.equal([true, 0, 0]);
      });

      it('reads options once, before it gives up the mutex', async () => {
        const [condition, mutex] = [new Condition(), new Mutex()];
        mutex.tryLock();
        for (const name of ['timeout', 'signal']) {
          let reads = 0;
          const options = {
            timeout: 5,
            get [name]() {
              if (reads++ > 0) throw new EvalError('read twice');
              return name === 'timeout' ? 5 : undefined;
            },
          };
          expect(await condition.waitAsync(mutex, options)).to.equal(false);
          expect([mutex.isMine, waitersOf(condition)]).to.deep.equal([true, 0]);
        }
      });
    }

    // Else the next holder would notify nobody.
    itCalling(wait)(`counts its waiter before the mutex is free: ${wait}()`, async () => {
      const [condition, mutex] = [new Condition(), new Mutex()];
      await mutex.lockAsync();
      let counted;
      mutex.unlock = () => {
        counted = [waitersOf(condition), mutex.isLocked];
        Mutex.prototype.unlock.call(mutex);
      };
      expect(await condition[wait](mutex, 1)).to.equal(false);
      expect(counted).to.deep.equal([1, true]);
    });

    it(`waitFor${form}() asks its predicate under the mutex, as often as needed`, async () => {
      const [condition, mutex] = [new Condition(), new Mutex()];
      const ready = new Int32Array(new SharedArrayBuffer(8));
      const agent = spawn(
        async ({ Condition, Mutex, data }) => {
          const condition = Condition.from(data.condition);
          const mutex = Mutex.from(data.mutex);
          mutex.lock();
          const held = [];
          const answer = await condition[data.call](
            mutex,
            () => held.push(mutex.isMine) && data.ready[0] === 1,
          );
          return [answer, held.every(Boolean), held.length > 1, mutex.isMine];
        },
        { condition: condition.handle, mutex: mutex.handle, call: `waitFor${form}`, ready },
      );
      await until(() => waitersOf(condition) === 1 && !mutex.isLocked);
      condition.notifyAll();
      await sleep(2);
      await mutex.runExclusive(() => (ready[0] = 1));
      expect(await within(10_000, notifyUntil(condition, agent.result))).to.deep.equal([
        true,
        true,
        true,
        true,
      ]);
    });

    itCalling(form)(
      `waitFor${form}() refuses an async predicate, and keeps the mutex`,
      async () => {
        const [condition, mutex] = [new Condition(), new Mutex()];
        mutex.tryLock();
        for (const answer of [true, false]) {
          const predicate = async () => answer;
          const error = await failure(async () =>
            condition[`waitFor${form}`](mutex, predicate, 20),
          );
          expect([error.name, error.message]).to.deep.equal([
            'TypeError',
            'the predicate is async',
          ]);
        }
        let asked = 0;
        const later = () => asked++ > 0 && Promise.reject(new EvalError('on purpose'));
        const error = await failure(async () => condition[`waitFor${form}`](mutex, later, 5));
        expect(error).to.be.instanceOf(TypeError);
        await sleep(5);
        expect([mutex.isMine, waitersOf(condition)]).to.deep.equal([true, 0]);
      },
    );

    itCalling(form)(
      `waitFor${form}() returns the predicate when the time is up, however often it was notified`,
      async () => {
        const [condition, mutex] = [new Condition(), new Mutex()];
        mutex.tryLock();
        expect(await condition[`waitFor${form}`](mutex, () => true, 0)).to.equal(true);
        const start = performance.now();
        expect(await condition[`waitFor${form}`](mutex, () => false, 20)).to.equal(false);
        expect(performance.now() - start).to.be.at.least(20);
        let asked = 0;
        expect(await condition[`waitFor${form}`](mutex, () => asked++ > 0, 5)).to.equal(true);
        const error = new Error('mine');
        const wrong = () => {
          throw error;
        };
        expect(await failure(async () => condition[`waitFor${form}`](mutex, wrong))).to.equal(
          error,
        );
        expect(mutex.isMine).to.equal(true);
      },
    );
  }

  itBlocks('a recursive mutex is given up whole, and held as often again', async () => {
    const [condition, mutex] = [new Condition(), new RecursiveMutex()];
    const agent = waitElsewhere('', condition, mutex, 20_000);
    await until(() => waitersOf(condition) === 1 && !mutex.isLocked);
    expect(await within(10_000, notifyUntil(condition, agent.result))).to.deep.equal([true, true]);
    for (let i = 0; i < 3; i++) mutex.lock();
    expect(condition.wait(mutex, 5)).to.equal(false);
    expect([mutex.isMine, mutex.depth]).to.deep.equal([true, 3]);
  });

  it('a task gives a recursive mutex up whole by its guard, which stays good, and has it as often again', async () => {
    const [condition, mutex] = [new Condition(), new RecursiveMutex()];
    const controller = new AbortController();
    const task = async (depth, options) => {
      const guard = await mutex.lockAsync();
      for (let i = 1; i < depth; i++) guard.lock();
      const answer = await condition.waitAsync(guard, options).catch((reason) => reason);
      const held = [guard.depth, mutex.depth, guard.isMine];
      guard[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
      return [answer, ...held, guard.isMine];
    };
    expect(await task(2, 0)).to.deep.equal([false, 2, 2, true, false]);
    const tasks = [task(3), task(1, { signal: controller.signal })];
    await until(() => waitersOf(condition) === 2 && !mutex.isLocked);
    const other = await mutex.lockAsync();
    controller.abort('enough');
    await sleep(2);
    condition.notifyAll();
    expect([mutex.depth, other.depth]).to.deep.equal([1, 1]);
    other.unlock();
    expect(await within(10_000, Promise.all(tasks))).to.deep.equal([
      [true, 3, 3, true, false],
      ['enough', 1, 1, true, false],
    ]);
    expect([waitersOf(condition), mutex.isLocked]).to.deep.equal([0, false]);
  });

  it('waitForAsync() refuses who does not hold the mutex, also if the predicate is true', async () => {
    const [condition, mutex, recursive] = [new Condition(), new Mutex(), new RecursiveMutex()];
    const yes = () => true;
    const wait = (it) => failure(() => condition.waitForAsync(it, yes));
    expect(await wait(mutex)).to.be.instanceOf(OwnershipError);
    const guard = await mutex.acquireAsync();
    const written = new RWLock();
    written.tryWriteLock();
    for (const wrong of [guard, undefined, recursive, written]) {
      expect((await failure(() => condition.waitAsync(wrong))).constructor).to.equal(TypeError);
      expect(waitersOf(condition)).to.equal(0);
      const error = await wait(wrong);
      expect([error.constructor, error.message]).to.deep.equal([
        TypeError,
        'pass the Mutex or the TaskGuard',
      ]);
    }
    expect(await condition.waitForAsync(mutex, yes)).to.equal(true);
    guard.unlock();
  });

  itBlocks(
    'waitFor() refuses who does not hold the mutex, also if the predicate is true',
    async () => {
      const condition = new Condition();
      const error = await failure(() => condition.waitFor(new Mutex(), () => true));
      expect(error).to.be.instanceOf(OwnershipError);
    },
  );

  it('waitForAsync() asks its predicate while the task has the recursive mutex', async () => {
    const [condition, mutex] = [new Condition(), new RecursiveMutex()];
    const guard = await mutex.lockAsync();
    let asked = 0;
    const waiting = condition.waitForAsync(
      guard,
      () => guard.isMine && mutex.isMine && asked++ > 1,
    );
    expect(await within(10_000, notifyUntil(condition, waiting))).to.equal(true);
    expect([asked, guard.depth]).to.deep.equal([3, 1]);
  });

  itBlocks(
    'a thread waits with a RecursiveMutex, a task with its guard, while it has it',
    async () => {
      const [condition, mutex] = [new Condition(), new RecursiveMutex()];
      const guard = await mutex.lockAsync();
      for (const [call, wrong] of [
        ['waitAsync', mutex],
        ['wait', guard],
      ]) {
        const error = await failure(async () => condition[call](wrong, 0));
        expect([
          error instanceof TypeError,
          error.message.startsWith('pass the Mutex or the '),
        ]).to.deep.equal([true, true]);
      }
      expect((await failure(async () => condition.wait(mutex, 0))).code).to.equal('ERR_DEADLOCK');
      expect([guard.depth, ...wordsOf(condition)]).to.deep.equal([1, 0, 0]);
      guard.unlock();
      expect(await failure(async () => condition.waitAsync(guard, 0))).to.be.instanceOf(
        OwnershipError,
      );
      expect([mutex.isLocked, ...wordsOf(condition)]).to.deep.equal([false, 0, 0]);
    },
  );

  it('an abort rejects when the mutex is held again', async () => {
    const [condition, mutex] = [new Condition(), new Mutex()];
    const controller = new AbortController();
    await mutex.lockAsync();
    const waiting = condition.waitAsync(mutex, { signal: controller.signal }).then(
      () => 'notified',
      (reason) => [reason, mutex.isMine],
    );
    await until(() => !mutex.isLocked);
    wordsOf(mutex)[0] = 5;
    controller.abort('enough');
    await sleep(5);
    expect(waitersOf(condition)).to.equal(0);
    wordsOf(mutex)[0] = 0;
    Atomics.notify(wordsOf(mutex), 1);
    expect(await within(10_000, waiting)).to.deep.equal(['enough', true]);
  });

  it('notify() with nobody waiting is 0 and writes nothing; numbers count the found', async () => {
    const [condition, mutex] = [new Condition(), new Mutex()];
    expect([condition.notify(), condition.notify(5), condition.notifyAll()]).to.deep.equal([
      0, 0, 0,
    ]);
    expect([...wordsOf(condition)]).to.deep.equal([0, 0]);
    if (mode === 'polling') return;
    const waiting = [];
    for (let i = 0; i < 5; i++) {
      await mutex.lockAsync();
      waiting.push(condition.waitAsync(mutex).then(() => (mutex.unlock(), i)));
    }
    await until(() => waitersOf(condition) === 5);
    expect(condition.notify(0)).to.equal(0);
    expect(condition.notify(2)).to.equal(2);
    expect(await within(10_000, Promise.all(waiting.slice(0, 2)))).to.deep.equal([0, 1]);
    expect(condition.notifyAll()).to.equal(3);
    expect(await within(10_000, Promise.all(waiting))).to.deep.equal([0, 1, 2, 3, 4]);
    expect(waitersOf(condition)).to.equal(0);
  });

  if (mode === 'normal') {
    it('a wait that was left behind ends with its re-check', async () => {
      const agent = spawn(
        async ({ Condition, Mutex, counts, sleep }) => {
          const [condition, mutex] = [new Condition(), new Mutex()];
          await mutex.lockAsync();
          const notified = await condition.waitAsync(mutex, 1);
          const { pending } = counts;
          for (let i = 0; i < 10 && counts.pending > 0; i++) await sleep(400);
          return [notified, pending, counts.pending];
        },
        {},
        'counted',
      );
      expect(await within(10_000, agent.result)).to.deep.equal([false, 1, 0]);
    });

    it('a re-check that finds that others were notified ends the wait, and says that the engine has it still', async () => {
      const [condition, mutex] = [new Condition(), new Mutex()];
      await mutex.lockAsync();
      const waiting = condition.waitAsync(mutex);
      const words = wordsOf(condition);
      // As if a worker that was terminated had been woken.
      Atomics.add(words, 0, 1);
      expect(await within(10_000, waiting)).to.equal(true);
      expect(Atomics.load(words, 1) >>> 31).to.equal(1);
      mutex.unlock();
    });
  }

  for (const [how, giveUp] of [
    ['aborted', (controller) => ({ signal: controller.signal })],
    ['timed out', () => ({ timeout: 5 })],
  ]) {
    for (const form of FORMS) {
      it(`a notify that reaches waiters that were ${how} is passed on to one in ${form ? 'waitAsync' : 'wait'}()`, async () => {
        const [condition, mutex] = [new Condition(), new Mutex()];
        const controller = new AbortController();
        const gone = [];
        for (let i = 0; i < 5; i++) {
          await mutex.lockAsync();
          gone.push(
            condition
              .waitAsync(mutex, giveUp(controller))
              .catch(() => {})
              .then(() => mutex.unlock()),
          );
        }
        const agent = waitElsewhere(form, condition, mutex);
        await until(() => waitersOf(condition) >= 1 && !mutex.isLocked);
        controller.abort();
        await within(10_000, Promise.all(gone));
        await until(() => waitersOf(condition) === 1 && !mutex.isLocked);
        // Under the mutex, the agent is known to have given it up; 20 ms later it sleeps, behind
        // those that have gone.
        await sleep(20);
        condition.notify();
        expect(await within(10_000, agent.result)).to.deep.equal([true, true]);
      });
    }
  }

  for (const Class of [Mutex, RecursiveMutex]) {
    it(`passes every item of a bounded queue from threads and tasks to threads and tasks: ${Class.name}`, async () => {
      const forms = Class === Mutex ? ['', '', 'Async'] : ['', '', ''];
      const [notFull, notEmpty, mutex] = [new Condition(), new Condition(), new Class()];
      const queue = new Int32Array(new SharedArrayBuffer(8));
      const job = async ({ data, ...lockword }) => {
        const [notFull, notEmpty] = data.conditions.map((handle) =>
          lockword.Condition.from(handle),
        );
        const mutex = lockword[data.mutex.type].from(data.mutex);
        const { queue, produces, items, form } = data;
        for (let i = 0; i < items; i++) {
          if (form) await mutex.lockAsync();
          else mutex.lock();
          const waits = produces ? notFull : notEmpty;
          await waits[`waitFor${form}`](mutex, () => (produces ? queue[0] < 4 : queue[0] > 0));
          queue[0] += produces ? 1 : -1;
          if (!produces) queue[1]++;
          mutex.unlock();
          (produces ? notEmpty : notFull).notify();
        }
      };
      const conditions = [notFull.handle, notEmpty.handle];
      const give = (produces, form, items) => ({
        conditions,
        mutex: mutex.handle,
        queue,
        produces,
        items,
        form,
      });
      const agents = forms.flatMap((form) =>
        [true, false].map((produces) => spawn(job, give(produces, form, 200))),
      );
      await within(25_000, Promise.all(agents.map((agent) => agent.result)));
      expect([...queue]).to.deep.equal([0, 600]);
      expect([waitersOf(notFull), waitersOf(notEmpty), mutex.isLocked]).to.deep.equal([
        0,
        0,
        false,
      ]);
    });
  }

  it('timeouts and aborts beside notifies strand nobody', async () => {
    const [condition, mutex] = [new Condition(), new Mutex()];
    const tokens = new Int32Array(new SharedArrayBuffer(8));
    const job = async ({ Condition, Mutex, data }) => {
      const [condition, mutex] = [Condition.from(data.condition), Mutex.from(data.mutex)];
      const { form, impatient, tokens } = data;
      for (let taken = 0; taken < 60;) {
        if (form) await mutex.lockAsync();
        else mutex.lock();
        const options = impatient ? { timeout: Math.random() * 2 } : undefined;
        if (await condition[`waitFor${form}`](mutex, () => tokens[0] > 0, options)) {
          tokens[0]--;
          taken++;
        }
        mutex.unlock();
      }
    };
    const handles = { condition: condition.handle, mutex: mutex.handle, tokens };
    const kinds = FORMS.flatMap((form) =>
      [true, false].map((impatient) => ({ ...handles, form, impatient })),
    );
    const agents = kinds.map((data) => spawn(job, data));
    for (let i = 0; i < 240; i++) {
      await within(10_000, mutex.lockAsync());
      tokens[0]++;
      mutex.unlock();
      condition.notify();
      if (i % 20 === 0) await sleep(1);
    }
    // An impatient one may have taken a notify and a token that was there anyway: an agent that
    // sleeps beside tokens is told.
    const ended = Promise.all(agents.map((agent) => agent.result));
    await within(25_000, notifyUntil(condition, ended));
    expect([tokens[0], waitersOf(condition), mutex.isLocked]).to.deep.equal([0, 0, false]);
  });
});

if (mode === 'normal') {
  describe('Condition: where Atomics.wait throws', () => {
    it('wait() and waitFor() throw, keep the mutex, and name the call that does not block', async () => {
      const agent = spawn(
        async ({ Condition, Mutex }) => {
          const [condition, mutex] = [new Condition(), new Mutex()];
          mutex.tryLock();
          const errors = [];
          for (const [call, ...args] of [
            ['wait'],
            ['waitFor', () => false],
            ['waitFor', () => true],
          ]) {
            try {
              condition[call](mutex, ...args);
            } catch ({ code, message }) {
              errors.push([code, message.includes(`${call}Async()`)]);
            }
          }
          return [...errors, mutex.isMine, await condition.waitAsync(mutex, 5), mutex.isMine];
        },
        {},
        'page',
      );
      const refused = ['ERR_CANNOT_BLOCK', true];
      expect(await agent.result).to.deep.equal([refused, refused, refused, true, false, true]);
    });
  });
}
