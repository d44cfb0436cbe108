/**
 * Storms: many who come, give up and come again, in threads and tasks, on every primitive whose
 * waiters are released together. In the mode 'unhealed' nothing but a notify ends a wait, so that
 * each wake that gets lost is a hang.
 */
import { expect } from 'chai';

import {
  Barrier,
  Condition,
  Counter,
  Event,
  Mutex,
  RecursiveMutex,
  Semaphore,
  WaitGroup,
} from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import { sleep, within } from '../support.js';
import { FORMS, WAITS } from './waits.js';

/** What is waited for, and what makes it so. */
const STORMS = {
  'a manual event': {
    make: () => new Event(),
    call: 'wait',
    args: () => [],
    end: (event) => event.set(),
  },
  'a wait group': {
    make: () => {
      const group = new WaitGroup();
      group.add(3);
      return group;
    },
    call: 'wait',
    args: () => [],
    end: async (group) => {
      for (let i = 0; i < 3; i++) {
        group.done();
        await sleep(0);
      }
    },
  },
  'a counter': {
    make: () => new Counter(),
    call: 'waitUntil',
    args: () => [5],
    end: async (counter) => {
      for (let i = 0; i < 5; i++) {
        counter.increment();
        await sleep(0);
      }
    },
  },
};

/**
 * Waits impatiently, again and again, until it has happened; with a signal in the async form.
 * Returns how often it gave up.
 */
const impatient = async ({ data, ...lockword }) => {
  const primitive = lockword[data.handle.type].from(data.handle);
  for (let times = 0; ; times++) {
    const controller = new AbortController();
    const options = {
      timeout: Math.random() * 3,
      signal: data.call.endsWith('Async') ? controller.signal : undefined,
    };
    const waiting = primitive[data.call](...data.args, options);
    if (times % 3 === 1) controller.abort();
    if (await Promise.resolve(waiting).catch(() => false)) return times;
    if (times % 10 === 9) await new Promise((resolve) => setTimeout(resolve));
  }
};

const patient = ({ data, ...lockword }) =>
  lockword[data.handle.type].from(data.handle)[data.call](...data.args);

describe('liveness of the family', () => {
  for (const [what, { make, call, args, end }] of Object.entries(STORMS)) {
    it(`${what} releases the patient among those who time out and are aborted`, async () => {
      for (let round = 0; round < 2; round++) {
        const primitive = make();
        const give = (form) => ({ handle: primitive.handle, call: call + form, args: args() });
        const storm = ['', 'Async'].map((form) => spawn(impatient, give(form)));
        const still = ['', 'Async'].map((form) => spawn(patient, give(form)));
        const mine = Array.from({ length: 20 }, () => primitive[`${call}Async`](...args()));
        await sleep(30);
        await end(primitive);
        for (const answer of await within(10_000, Promise.all(mine), 'the main thread'))
          expect(answer).to.equal(true);
        for (const agent of still)
          expect(await within(10_000, agent.result, 'a patient agent')).to.equal(true);
        for (const agent of storm)
          expect(await within(10_000, agent.result, 'an impatient agent')).to.be.at.least(0);
      }
    });
  }

  it('a release reaches a sleeper behind one that was aborted when it had been woken', async () => {
    for (let round = 0; round < 20; round++) {
      const semaphore = Semaphore.create(0);
      const controller = new AbortController();
      const first = semaphore.waitAsync({ signal: controller.signal }).catch(() => false);
      const agent = spawn(({ Semaphore, data }) => Semaphore.from(data).wait(), semaphore.handle);
      if (round % 2) await sleep(round);
      semaphore.release();
      controller.abort();
      const second = (await first) ? semaphore.release() : undefined;
      expect(second).to.equal(undefined);
      expect(await within(10_000, agent.result)).to.equal(true);
      expect(semaphore.permits).to.equal(0);
    }
  });

  it('an aborted lockAsync of a recursive mutex strands nobody', async () => {
    const mutex = new RecursiveMutex();
    const job = async ({ RecursiveMutex, data }) => {
      const mutex = RecursiveMutex.from(data.handle);
      let taken = 0;
      for (let i = 0; i < 200; i++) {
        const controller = new AbortController();
        const asking = data.blocks
          ? mutex.lock(Math.random()) && mutex
          : mutex
              .lockAsync({ timeout: 1 + Math.random(), signal: controller.signal })
              .catch(() => undefined);
        if (i % 4 === 0) controller.abort();
        const held = await asking;
        if (!held) continue;
        taken++;
        held.lock();
        held.unlock();
        held.unlock();
      }
      return taken;
    };
    const agents = [true, true, false].map((blocks) =>
      spawn(job, { handle: mutex.handle, blocks }),
    );
    for (let i = 0; i < 100; i++) {
      await within(
        10_000,
        mutex.runExclusive(() => {}),
      );
      if (i % 10 === 0) await sleep(0);
    }
    for (const agent of agents) expect(await within(20_000, agent.result)).to.be.above(0);
    expect([mutex.isLocked, mutex.depth]).to.deep.equal([false, 0]);
  });
});

if (mode === 'normal') {
  describe('waitAny(): 100 calls of one agent that are over', () => {
    it('leave no engine waiter behind once each source has been notified', async () => {
      const agent = spawn(
        async ({ Event, Semaphore, counts, sleep, waitAny }) => {
          const [event, semaphore] = [new Event(), Semaphore.create(0)];
          const waiting = Array.from({ length: 100 }, () =>
            waitAny([semaphore.when(), event.when()]),
          );
          const before = counts.pending;
          event.set();
          const answers = await Promise.all(waiting);
          semaphore.release();
          await sleep(10);
          return [before, answers.every((index) => index === 1), semaphore.permits, counts.pending];
        },
        {},
        'counted',
      );
      expect(await within(20_000, agent.result)).to.deep.equal([2, true, 1, 0]);
    });
  });
}

/** How long a busy loop computes, and how long nobody may wait for it, ms. */
const BUSY = 1500;
const SOON = 700;

/**
 * Two agents wait: one whose event loop is busy from then on, and another. Then one is let through.
 * These are the rows of waits.js in which one that gives up leaves no trace, and two that need rows
 * of their own: a party that gives up would break its barrier.
 */
const PENDING = [
  ...WAITS.filter(
    ({ call, before, breaks, counts }) =>
      !before && !breaks && !counts && !call.startsWith('acquire'),
  ),
  {
    title: 'Condition: wait',
    make: () => new Condition(),
    call: 'wait',
    args: [],
    mutex: new Mutex(),
    end: (condition) => condition.notify(),
  },
  {
    title: 'Barrier: wait',
    make: () => Barrier.create(3),
    call: 'wait',
    args: [],
    isPatient: true,
    end: (barrier) => barrier.waitAsync(),
  },
];

/**
 * Waits; says 'waits' when it does. With `busy`, it computes for as long, once its wait is pending
 * or was given up; or until it `mayStop`.
 */
const waitBehind = async ({
  data: { handle, mutex, call, args, options, isPatient, busy, mayStop },
  say,
  sleep,
  spinUntil,
  ...lockword
}) => {
  const primitive = lockword[handle.type].from(handle);
  const around = mutex && lockword.Mutex.from(mutex);
  if (around) await around.lockAsync();
  const all = args.map((arg) => (arg === 'fn' ? (value) => value === 0 : arg));
  if (around) all.unshift(around);
  if (!busy) say('waits');
  const limit = busy && !isPatient ? { timeout: 1 } : {};
  const waiting = primitive[call](...all, { ...options, ...limit });
  if (busy && isPatient) await sleep(1);
  else await Promise.resolve(waiting).catch(() => {});
  if (around) around.unlock();
  if (!busy) return;
  say('waits');
  spinUntil(() => Atomics.load(mayStop, 0) === 1, busy);
};

describe('beside an event loop that computes, and has a wait pending', () => {
  for (const { title, make, call, args, permits, mutex, isPatient, end } of PENDING) {
    for (const form of FORMS) {
      it(`another gets on: ${title}${form}()`, async () => {
        const primitive = make();
        const give = {
          handle: primitive.handle,
          mutex: mutex?.handle,
          args,
          options: permits && { permits },
          isPatient,
        };
        const mayStop = new Int32Array(new SharedArrayBuffer(4));
        const busy = spawn(waitBehind, { ...give, call: `${call}Async`, busy: BUSY, mayStop });
        await within(10_000, busy.said('waits'), 'the one that is busy');
        const agent = spawn(waitBehind, { ...give, call: call + form });
        await within(10_000, agent.said('waits'), 'the other');
        await sleep(100);
        const start = performance.now();
        end(primitive);
        await within(10_000, agent.result, 'the other');
        expect(performance.now() - start).to.be.below(SOON);
        Atomics.store(mayStop, 0, 1);
        await within(10_000, busy.result, 'the one that is busy');
      });
    }
  }
});
