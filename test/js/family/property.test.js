/**
 * Any mixture of calls to any primitive, in any agents, with timeouts, aborts and strays: what it
 * promises holds, and everybody comes to an end.
 */
import { expect } from 'chai';
import fc from 'fast-check';

import * as lockword from '../../../js/src/index.js';
import * as agents from '../agents.js';
import { mode } from '../modes.js';
import * as support from '../support.js';
import { stateOf, wordsOf } from './waits.js';

const { within } = support;
const {
  Barrier,
  Condition,
  Counter,
  Event,
  Latch,
  Mutex,
  Once,
  RecursiveMutex,
  RWLock,
  Semaphore,
  WaitGroup,
} = lockword;

/**
 * How many scenarios of each primitive. More: `PROPERTY_RUNS=2000 mocha
 * test/js/family/property.test.js`.
 */
const RUNS = globalThis.process?.env.PROPERTY_RUNS ?? (mode === 'polling' ? 4 : 12);

/*
 * The programs below are what a caller does: a list of operations, one after the other. They cross
 * over to workers as source, and see nothing but their arguments: the library and the support,
 * `lock` (what is tested), `cells` (numbers that all agents share), the form, '' or 'Async', and
 * `options`, which makes options of an operation, and `pause`, which holds what is had for a while.
 */
const programs = {
  /** cells: 0 how many hold it. Some calls only try. */
  async mutex({ lock, cells, form, operations, options, pause, attempt, assert }) {
    for (const operation of operations) {
      const call = operation.more && operation.n === 1 ? 'tryLock' : `lock${form}`;
      if (!(await attempt(() => lock[call](options(operation))))) continue;
      assert(Atomics.add(cells, 0, 1) === 0, 'two hold it');
      await pause(operation);
      Atomics.sub(cells, 0, 1);
      lock.unlock();
    }
  },

  /** cells: 0 readers, 1 upgradable readers, 2 writers. */
  async rwlock({ lock, cells, form, operations, options, pause, attempt, assert }) {
    const give = {
      readLock: 'readUnlock',
      writeLock: 'writeUnlock',
      upgradableLock: 'upgradableUnlock',
    };
    const cellOf = { readLock: 0, upgradableLock: 1, writeLock: 2 };
    const enter = (way) => {
      Atomics.add(cells, cellOf[way], 1);
      const [readers, upgradable, writers] = cells;
      if (way === 'writeLock')
        assert(readers + upgradable === 0 && writers === 1, 'writes beside others');
      else assert(writers === 0 && upgradable <= 1, 'reads beside a writer');
    };
    const leave = (way) => Atomics.sub(cells, cellOf[way], 1);
    for (const operation of operations) {
      let way = ['readLock', 'upgradableLock', 'writeLock'][operation.n - 1];
      if (!(await attempt(() => lock[way + form](options(operation))))) continue;
      enter(way);
      await pause(operation);
      if (way === 'upgradableLock' && operation.more) {
        leave(way);
        if (await attempt(() => lock[`upgrade${form}`](options(operation)))) way = 'writeLock';
        enter(way);
        await pause(operation);
      }
      if (way !== 'readLock' && operation.more) {
        leave(way);
        lock.downgrade();
        way = 'readLock';
        enter(way);
      }
      leave(way);
      lock[give[way]]();
    }
  },

  /**
   * The same, among tasks that take it out of each other's hands: then nothing is sure, but
   * whatever is taken is given back once.
   */
  async strays({ OwnershipError, lock, form, operations, options, pause, attempt }) {
    const give = { readLock: 'readUnlock', upgradableLock: 'upgradableUnlock' };
    const mine = async (call) => {
      try {
        return await call();
      } catch (error) {
        if (error instanceof OwnershipError) return false;
        throw error;
      }
    };
    const strays = [
      async () => (await mine(async () => (lock.downgrade(), true))) && lock.readUnlock(),
      () => mine(() => lock.upgradableUnlock()),
      async () =>
        (await mine(() => attempt(() => lock.upgradeAsync()))) && mine(() => lock.writeUnlock()),
    ];
    for (const operation of operations) {
      const { n, more } = operation;
      const way = ['readLock', 'upgradableLock', 'upgradableLock'][n - 1];
      if (more && form) {
        for (let i = 0; i < 5 && !lock.isMine; i++) await pause({ hold: 2 });
        await strays[n - 1]();
      } else if (await attempt(() => lock[way + form](options(operation)))) {
        await pause(operation);
        if (n > 1 && (await mine(() => lock[`upgrade${form}`](n === 3 ? Infinity : 1)))) {
          await pause(operation);
          await mine(() => lock.writeUnlock());
        } else await mine(() => lock[give[way]]());
      }
    }
  },

  /** cells: 0 permits that are had. There are three. */
  async semaphore({ lock, cells, form, operations, options, pause, attempt, assert }) {
    for (const operation of operations) {
      const { n } = operation;
      const wanted = { ...options(operation), permits: n };
      if (!(await attempt(() => lock[`wait${form}`](wanted)))) continue;
      assert(Atomics.add(cells, 0, n) + n <= 3, 'more permits are had than there are');
      await pause(operation);
      Atomics.sub(cells, 0, n);
      lock.release(n);
    }
  },

  /**
   * Whichever comes first of permits and a token, which is `hidden`. cells: 0 permits that are had,
   * 1 who has the token.
   */
  async any({ waitAny, lock, hidden, cells, form, operations, options, pause, attempt, assert }) {
    for (const operation of operations) {
      const { n } = operation;
      let which = 0;
      if (form)
        which = await attempt(() =>
          waitAny([lock.when(n), hidden.when(), lock.when(n)], options(operation)),
        );
      else if (!hidden.wait(options(operation))) which = -1;
      else which = 1;
      if (which === false || which < 0) continue;
      const [cell, much, most] = which === 1 ? [1, 1, 1] : [0, n, 3];
      assert(Atomics.add(cells, cell, much) + much <= most, 'more is had than there is');
      await pause(operation);
      Atomics.sub(cells, cell, much);
      if (which === 1) hidden.set();
      else lock.release(n);
    }
  },

  /** An automatic event as a token. cells: 0 who has it. */
  async event({ lock, cells, form, operations, options, pause, attempt, assert }) {
    for (const operation of operations) {
      if (!(await attempt(() => lock[`wait${form}`](options(operation))))) continue;
      assert(Atomics.add(cells, 0, 1) === 0, 'two are released by one set');
      await pause(operation);
      Atomics.sub(cells, 0, 1);
      lock.set();
    }
  },

  /**
   * cells: 0 how many meet in this round, at most; 1 leaders; 2 rounds. A party that sees it broken
   * stops.
   */
  async barrier({
    BrokenBarrierError,
    TimeoutError,
    lock,
    cells,
    form,
    operations,
    options,
    pause,
    assert,
  }) {
    for (const operation of operations) {
      await pause(operation);
      try {
        const leads = await lock[`wait${form}`](operation.more ? options(operation) : undefined);
        if (leads) Atomics.add(cells, 1, 1);
        Atomics.add(cells, 2, 1);
      } catch (error) {
        assert(lock.isBroken, 'is told that it broke, and it did not');
        assert(
          error === 'aborted' ||
            error instanceof TimeoutError ||
            error instanceof BrokenBarrierError,
          `${error}`,
        );
        return;
      }
    }
  },

  /**
   * cells: 0 how many run it, 1 how many have tried, 2 how many have succeeded. The first three
   * fail.
   */
  async once({ TimeoutError, lock, cells, form, operations, options, pause, assert }) {
    for (const operation of operations) {
      const begin = () => {
        assert(Atomics.add(cells, 0, 1) === 0, 'two run it');
        assert(cells[2] === 0, 'it is run again');
        const fails = Atomics.add(cells, 1, 1) < 3;
        if (!fails) Atomics.add(cells, 2, 1);
        return fails;
      };
      const end = (fails) => {
        Atomics.sub(cells, 0, 1);
        if (fails) throw 'failed';
      };
      const run = () => end(begin());
      const runSlowly = async () => {
        const fails = begin();
        await pause(operation);
        end(fails);
      };
      try {
        await lock[`run${form}`](form ? runSlowly : run, options(operation));
        assert(lock.done && cells[2] === 1, 'passes, and it has not been run');
      } catch (error) {
        assert(
          error === 'failed' || error === 'aborted' || error instanceof TimeoutError,
          `${error}`,
        );
      }
    }
  },

  /**
   * Every operation adds its size, and waits for what will certainly be there, or for a while.
   * cells: 0 the sum of what is added.
   */
  async counter({ lock, cells, form, operations, options, attempt, assert }) {
    for (const operation of operations) {
      Atomics.add(cells, 0, operation.n);
      lock.increment(operation.n);
      const least = operation.more ? 5 : lock.value + operation.n;
      const limited = operation.more ? options(operation) : { ...options(operation), timeout: 1 };
      const wanted = operation.hold ? least : (value) => value >= least;
      if (await attempt(() => lock[`waitUntil${form}`](wanted, limited)))
        assert(lock.value >= least, 'has waited in vain');
    }
  },

  /**
   * Every operation is a thing to do, after which some wait for all of them. cells: 0 how many are
   * done.
   */
  async waitgroup({ lock, cells, form, operations, options, pause, attempt, assert }) {
    for (const operation of operations) {
      await pause(operation);
      Atomics.add(cells, 0, 1);
      lock.done();
    }
    for (const operation of operations) {
      if (await attempt(() => lock[`wait${form}`](options(operation))))
        assert(cells[0] === cells[1], 'not all are done');
    }
  },

  /** The same, and the last thing that a caller does is to arrive. */
  async latch({ lock, cells, form, operations, options, pause, attempt, assert }) {
    for (const [i, operation] of operations.entries()) {
      await pause(operation);
      Atomics.add(cells, 0, 1);
      if (i < operations.length - 1) lock.countDown();
      else if (await attempt(() => lock[`arriveAndWait${form}`](options(operation))))
        assert(cells[0] === cells[1], 'not all are done');
    }
  },

  /** cells: 0 how many hold it. */
  async rmutex({ lock, cells, form, operations, options, pause, attempt, assert }) {
    for (const operation of operations) {
      const taken = await attempt(() => lock[`lock${form}`](options(operation)));
      if (!taken) continue;
      const guard = form ? taken : lock;
      for (let i = 1; i < operation.n; i++) guard.lock();
      assert(Atomics.add(cells, 0, 1) === 0, 'two hold it');
      await pause(form ? operation : { hold: 0 });
      Atomics.sub(cells, 0, 1);
      for (let i = 0; i < operation.n; i++) guard.unlock();
    }
  },

  /**
   * Players put something into a store, and others take it. cells: 0 how much is there, 1 how many
   * are inside, 2 taken. `hidden` is the mutex.
   */
  async condition({ lock, hidden, cells, form, operations, options, pause, attempt, assert }) {
    const mutex = hidden;
    for (const operation of operations) {
      await mutex[`lock${form}`]();
      assert(Atomics.add(cells, 1, 1) === 0, 'two are inside');
      if (operation.n === 1) {
        Atomics.sub(cells, 1, 1);
        const there = await attempt(() =>
          lock[`waitFor${form}`](mutex, () => cells[0] > 0, options(operation)),
        );
        assert(Atomics.add(cells, 1, 1) === 0, 'two are inside after a wait');
        assert(!there || cells[0] > 0, 'what was waited for is not there');
        if (there) cells[2]++;
        if (there) cells[0]--;
      } else cells[0]++;
      if (form) await pause(operation);
      Atomics.sub(cells, 1, 1);
      mutex.unlock();
      if (operation.n > 1) lock.notify();
    }
  },
};

/** Runs a program for a list of operations. Returns what went wrong. Crosses over, too. */
async function play(library, { program, handle, hiddenHandle, cells, form, operations }) {
  const errors = [];
  const attach = (handle) => handle && library[handle.type].from(handle);
  const assert = (condition, what) => condition || errors.push(what);
  const attempt = async (call) => {
    try {
      return await call();
    } catch (error) {
      if (error === 'aborted') return false;
      throw error;
    }
  };
  const options = ({ timeout, abort }) => {
    const controller = new AbortController();
    if (abort === 0) queueMicrotask(() => controller.abort('aborted'));
    else if (abort !== undefined) library.sleep(abort).then(() => controller.abort('aborted'));
    return {
      timeout: timeout ?? Infinity,
      signal: abort === undefined ? undefined : controller.signal,
    };
  };
  const pause = async ({ hold }) => {
    if (hold === 1) await null;
    if (hold === 2) await library.sleep(1);
    if (hold === 3) library.spin(0.2);
  };
  try {
    const lock = attach(handle);
    await program({
      ...library,
      lock,
      hidden: attach(hiddenHandle),
      cells,
      form,
      operations,
      options,
      pause,
      attempt,
      assert,
    });
  } catch (error) {
    errors.push(`${error?.stack ?? error}`);
  }
  return errors;
}

/** A worker that plays whatever it is sent, until it is sent nothing. */
const player = async (tools) => {
  const play = (0, eval)(`(${tools.data.play})`);
  for (let round = 0; ; round++) {
    const work = await tools.heard(`play ${round}`);
    if (!work) return;
    // The source of a method lacks a word.
    const program = (0, eval)(`(${work.program.replace('async ', 'async function ')})`);
    const played = work.callers.map((operations) => play(tools, { ...work, program, operations }));
    tools.say(`played ${round}`, (await Promise.all(played)).flat());
  }
};

const operation = fc.record({
  n: fc.constantFrom(1, 2, 3),
  more: fc.boolean(),
  timeout: fc.option(fc.constantFrom(0, 0.3, 1, 3), { nil: undefined }),
  abort: fc.option(fc.constantFrom(0, 0, 1, 2), { nil: undefined }),
  hold: fc.constantFrom(0, 0, 1, 2, 3),
});
const callers = (n, least, most) =>
  fc.array(fc.array(operation, { minLength: least, maxLength: most }), {
    minLength: 1,
    maxLength: n,
  });

/**
 * Those of one agent block only if they are alone in it. `most` operations each, `least` of them.
 */
const scenarios = (least, most) =>
  fc.record({
    here: callers(4, least, most),
    loop: callers(3, least, most),
    thread: callers(1, least, most),
    anotherThread: callers(1, least, most),
  });

const everybody = (scenario) => Object.values(scenario).flat();
const operationsOf = (scenario) => everybody(scenario).flat();

/** An automatic event that is set. */
const token = () => {
  const event = Event.create({ autoReset: true });
  event.set();
  return event;
};

/**
 * What is tested: `make` it, for a scenario, `help` everybody to an end, and `check` what is left.
 * `rounds`: all callers have as many operations; `times`: as many more scenarios.
 */
const rows = {
  mutex: {
    make: () => new Mutex(),
    check: (lock) => expect([...wordsOf(lock)]).to.deep.equal([0, 0]),
    times: 5,
  },
  rwlock: {
    make: () => new RWLock(),
    check: (lock) => expect([...stateOf(lock)]).to.deep.equal([0, 0, 0, 0]),
  },
  strays: {
    make: () => new RWLock(),
    check: (lock) => expect([...stateOf(lock)]).to.deep.equal([0, 0, 0, 0]),
  },
  semaphore: { make: () => Semaphore.create(3), check: (lock) => expect(lock.permits).to.equal(3) },
  any: {
    make: () => Semaphore.create(3),
    hidden: token,
    check: (lock, cells, scenario, event) =>
      expect([lock.permits, event.isSet]).to.deep.equal([3, true]),
  },
  event: { make: token, check: (lock) => expect(lock.isSet).to.equal(true) },
  barrier: {
    make: (scenario) => Barrier.create(everybody(scenario).length),
    check(lock, [, leaders, passed], scenario) {
      const parties = everybody(scenario).length;
      if (!lock.isBroken) expect(passed).to.equal(operationsOf(scenario).length);
      // Of a cycle that tripped, some may not know yet when they are told of the next one.
      expect(leaders).to.be.within(Math.floor(passed / parties), Math.ceil(passed / parties));
    },
    rounds: 3,
  },
  once: {
    make: () => new Once(),
    check: (lock, cells) => expect([lock.done, lock.runner]).to.deep.equal([cells[2] === 1, 0]),
  },
  counter: {
    make: () => new Counter(),
    help: (lock) => lock.increment(5),
    check: (lock, [sum]) => expect(lock.value).to.equal(sum + 5),
  },
  waitgroup: {
    make: (scenario, cells) => {
      const group = new WaitGroup();
      group.add((cells[1] = operationsOf(scenario).length));
      return group;
    },
    check: (lock) => expect(lock.count).to.equal(0),
  },
  latch: {
    make: (scenario, cells) =>
      Latch.create((cells[1] = Math.max(operationsOf(scenario).length, 1))),
    help: (lock, cells, scenario) => operationsOf(scenario).length || lock.countDown(),
    check: (lock) => expect(lock.count).to.equal(0),
  },
  rmutex: {
    make: () => new RecursiveMutex(),
    check: (lock) => expect(stateOf(lock)[0]).to.equal(0),
  },
  condition: {
    make: () => new Condition(),
    hidden: () => new Mutex(),
    async help(lock, cells, scenario, mutex) {
      for (const { n } of operationsOf(scenario)) {
        if (n > 1) continue;
        await mutex.runExclusive(() => cells[0]++);
        lock.notify();
      }
    },
    check(lock, [left, , taken], scenario, mutex) {
      expect([...stateOf(mutex)]).to.deep.equal([0, 0]);
      expect(left + taken).to.equal(operationsOf(scenario).length);
      // Nobody is counted. Waits that were left behind may be.
      expect(wordsOf(lock)[1] & 0x7fffffff).to.equal(0);
    },
  },
};

describe('the family: property', () => {
  for (const [name, row] of Object.entries(rows)) {
    it(`whatever is called: ${name}`, async function () {
      this.timeout(120_000 + 1000 * RUNS);
      const workers = ['loop', 'thread', 'anotherThread'].map((name) => ({
        name,
        form: name === 'loop' ? 'Async' : '',
        agent: agents.spawn(player, { play: `${play}` }),
      }));
      let round = 0;
      const check = async (scenario) => {
        const cells = new Int32Array(new SharedArrayBuffer(16));
        const lock = row.make(scenario, cells);
        const hidden = row.hidden?.();
        const work = { handle: lock.handle, hiddenHandle: hidden?.handle, cells };
        const now = round++;
        const there = workers.map(({ name: whose, form, agent }) => {
          agent.say(`play ${now}`, {
            ...work,
            program: `${programs[name]}`,
            form,
            callers: scenario[whose],
          });
          return agent.said(`played ${now}`);
        });
        const library = { ...lockword, ...support };
        const here = scenario.here.map((operations) =>
          play(library, { ...work, program: programs[name], form: 'Async', operations }),
        );
        await row.help?.(lock, cells, scenario, hidden);
        const errors = await within(20_000, Promise.all([...there, ...here]), 'a caller');
        expect(errors.flat()).to.deep.equal([]);
        row.check(lock, cells, scenario, hidden);
      };
      const scenario = row.rounds ? scenarios(row.rounds, row.rounds) : scenarios(0, 5);
      await fc.assert(fc.asyncProperty(scenario, check), {
        numRuns: +RUNS * (row.times ?? 1),
        endOnFailure: true,
      });
      for (const { agent } of workers) agent.say(`play ${round}`, null);
      for (const { agent } of workers) await agent.result;
    });
  }
});
