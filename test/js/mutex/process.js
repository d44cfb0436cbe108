/** process.js: what process.test.js runs in processes of their own: `process.js SCENARIO MODE`. */
import { enter } from '../modes.js';

const { process } = globalThis;
const [scenario, mode] = process.argv.slice(2);
enter(mode);
// Deno's process would not end.
if (scenario === 'turns of a page' && !globalThis.Deno) delete globalThis.setImmediate;
if (scenario === 'turns in jsdom') {
  delete globalThis.setImmediate;
  delete globalThis.MessageChannel;
}
if (scenario === 'an AudioWorklet') {
  const missing = 'performance setTimeout clearTimeout setInterval clearInterval';
  for (const name of `${missing} setImmediate MessageChannel process`.split(' '))
    delete globalThis[name];
  Atomics.wait = () => {
    throw new TypeError('Atomics.wait cannot be called in this context');
  };
}

const { Condition, Mutex, Semaphore } = await import('../../../js/src/index.js');
const { STRANGER, Stranger, wordsOf } = await import('../support.js');

const warnings = [];
process.on('warning', ({ message }) => warnings.push(message));

const print = (text) => console.log(text);
const held = () => {
  const mutex = new Mutex();
  return { mutex, stranger: new Stranger(mutex).lock() };
};

/** What a test may put in place of the clock and the timers: it stands still until told to move. */
function fakeTimers() {
  const real = { performance, setTimeout, setInterval, clearTimeout, clearInterval };
  const set = [];
  const fake = (...timer) => set.push(timer);
  Object.defineProperty(globalThis, 'performance', {
    configurable: true,
    writable: true,
    value: { now: () => 0 },
  });
  Object.assign(globalThis, { setTimeout: fake, setInterval: fake });
  Object.assign(globalThis, { clearTimeout() {}, clearInterval() {} });
  return { set, remove: () => Object.assign(globalThis, real) };
}

/** Reports in the next turn: warnings are events. */
const report = (answers) => setTimeout(() => print(JSON.stringify({ answers, warnings })), 20);

const scenarios = {
  async timeout() {
    print(await held().mutex.lockAsync(400));
  },

  async chain() {
    const { mutex, stranger } = held();
    setTimeout(() => stranger.unlock(), 100);
    const answers = [await mutex.lockAsync()];
    answers.push(await mutex.lockAsync({ timeout: 300 }));
    mutex.unlock();
    answers.push(await mutex.lockAsync());
    print(answers.join(' '));
  },

  /** An abort that comes after the grant changes nothing, also not what is counted as pending. */
  async 'late abort'() {
    const { mutex, stranger } = held();
    const controller = new AbortController();
    const waiting = mutex.lockAsync({ signal: controller.signal });
    stranger.unlock();
    const answers = [await waiting];
    controller.abort();
    answers.push(await mutex.lockAsync(300));
    print(answers.join(' '));
  },

  /** The worker does not count: nothing but the lockAsync keeps this process alive. */
  async worker() {
    const { Worker } = await import('node:worker_threads');
    const { mutex } = held();
    const source = `
      const words = new Int32Array(require('node:worker_threads').workerData);
      Atomics.wait(words, 1, 0, 500);
      const state = Atomics.and(words, 0, 0);
      if (state & 0x40000000) Atomics.notify(words, 1);
    `;
    const worker = new Worker(source, { eval: true, workerData: wordsOf(mutex.handle).buffer });
    worker.unref();
    print(await mutex.lockAsync());
    mutex.unlock();
  },

  async granted() {
    const { mutex, stranger } = held();
    const waiting = [mutex.lockAsync(30_000), mutex.lockAsync()];
    stranger.unlock();
    for (const lock of waiting) {
      await lock;
      mutex.unlock();
    }
    print('done');
  },

  async aborted() {
    const { mutex } = held();
    const controller = new AbortController();
    const waiting = mutex.lockAsync({ timeout: 60_000, signal: controller.signal });
    controller.abort();
    await waiting.catch(() => print('done'));
  },

  async 'timed out'() {
    await held().mutex.lockAsync(10);
    print('done');
  },

  /** The clock does not show so little time. */
  async 'timed out at once'() {
    await held().mutex.lockAsync(1e-13);
    print('done');
  },

  /** After each turn of the event loop the next task queues. To make a channel takes long. */
  async 'turns of a page'() {
    let channels = 0;
    const { MessageChannel } = globalThis;
    globalThis.MessageChannel = function () {
      channels++;
      return new MessageChannel();
    };
    const { mutex, stranger } = held();
    const waiting = Array.from({ length: 100 }, () => mutex.lockAsync());
    stranger.unlock();
    for (const lock of waiting) {
      await lock;
      await new Promise((resolve) => setTimeout(resolve));
      mutex.unlock();
    }
    print(channels > 1 ? `${channels} channels` : 'done');
  },

  /** Jest's jsdom has neither setImmediate nor MessageChannel. */
  async 'turns in jsdom'() {
    const mutex = new Mutex();
    const semaphore = Semaphore.create(1);
    const order = [];
    const inTurn = (i) => async () => {
      await new Promise((resolve) => setTimeout(resolve, 12));
      order.push(i);
    };
    await Promise.all([0, 1, 2].map((i) => mutex.runExclusive(inTurn(i))));
    await Promise.all([3, 4, 5].map((i) => semaphore.runExclusive(inTurn(i))));
    print(`${order}` === '0,1,2,3,4,5' ? 'done' : `${order}`);
  },

  /** It has no timers, so that it cannot wait; what does not wait works. */
  async 'an AudioWorklet'() {
    const mutex = new Mutex();
    const answers = [mutex.tryLock(), mutex.tryLock()];
    const condition = new Condition();
    const refused = [
      () => mutex.lock(),
      () => mutex.lockAsync(),
      () => condition.waitAsync(mutex),
      () => Semaphore.create(0).waitAsync(5),
    ];
    for (const call of refused) {
      const error = await (async () => call())().catch(({ name }) => name);
      answers.push(error === 'BlockingError' || error === 'TypeError');
    }
    answers.push(mutex.isMine);
    mutex.unlock();
    // None of these has left a waiter behind.
    answers.push(await mutex.lockAsync(), condition.notify());
    print(`${answers}` === 'true,false,true,true,true,true,true,true,0' ? 'done' : `${answers}`);
  },

  /** A blocked thread moves no fake clock on. */
  async 'a blocking call beside a fake clock'() {
    const condition = new Condition();
    const mutex = new Mutex();
    mutex.tryLock();
    fakeTimers();
    const answers = [
      Semaphore.create(0).wait({ timeout: 20 }),
      held().mutex.lock(20),
      condition.wait(mutex, 20),
      condition.waitFor(mutex, () => false, 20),
    ];
    print(answers.some(Boolean) ? `${answers}` : 'done');
  },

  /** The timers that were set before are the engine's own. */
  async 'pending when fake timers come'() {
    const { mutex, stranger } = held();
    const condition = new Condition();
    const other = new Mutex();
    other.tryLock();
    const waiting = [mutex.lockAsync(), condition.waitAsync(other)];
    const { set } = fakeTimers();
    stranger.unlock();
    condition.notify();
    await Promise.all(waiting);
    print(set.length ? `${set}` : 'done');
  },

  async 'pending when fake timers go'() {
    const { mutex, stranger } = held();
    const condition = new Condition();
    const other = new Mutex();
    other.tryLock();
    const { set, remove } = fakeTimers();
    const waiting = [mutex.lockAsync(), condition.waitAsync(other)];
    remove();
    // Nothing else keeps the process alive.
    setTimeout(() => stranger.unlock(), 600).unref();
    await waiting[0];
    setTimeout(() => condition.notify(), 600).unref();
    await waiting[1];
    print(set.length ? `${set}` : 'true');
  },

  /** A user's time limit is what a test may want to move. */
  async 'a limit by fake timers'() {
    const { mutex } = held();
    const { set, remove } = fakeTimers();
    const waiting = mutex.lockAsync(5000);
    const [look, ms, ...of] = set[0];
    performance.now = () => 5000;
    look(...of);
    const answers = [ms, set.length, await waiting];
    remove();
    print(answers.join(' '));
  },

  /** As those of node:test, beside which performance.now goes on. */
  async 'a limit by fake timers beside the real clock'() {
    const { mutex } = held();
    const { setTimeout } = globalThis;
    const set = [];
    globalThis.setTimeout = (...timer) => set.push(timer);
    const waiting = mutex.lockAsync(5000);
    const [look, ms, ...of] = set[0];
    look(...of);
    globalThis.setTimeout = setTimeout;
    print(`${Math.ceil(ms / 1000)} ${set.length} ${set.length > 1 || (await waiting)}`);
    process.exit();
  },

  /** Node's and others' timers may be a millisecond early; those of a test are at its tick. */
  async 'short limits by fake timers beside a clock that hardly moves'() {
    const { mutex } = held();
    const { setTimeout } = globalThis;
    const ended = [];
    let now = 1000.3;
    const value = { now: () => (now += 0.01) };
    Object.defineProperty(globalThis, 'performance', { configurable: true, value });
    for (const limit of [2, 3, 4, 5, 6]) {
      const set = [];
      globalThis.setTimeout = (...timer) => set.push(timer);
      const waiting = mutex.lockAsync(limit);
      const [look, ms, ...of] = set[0];
      look(...of);
      globalThis.setTimeout = setTimeout;
      ended.push(ms <= limit && set.length === 1 ? await waiting : `${limit}: ${set.length}`);
    }
    print(ended.join(' '));
    process.exit();
  },

  /** Fake timers do not clear the engine's own: one of these fires when its call has ended. */
  async 'after a timer that fake ones have not cleared'() {
    const { mutex, stranger } = held();
    const granted = mutex.lockAsync(50);
    const { remove } = fakeTimers();
    stranger.unlock();
    await granted;
    remove();
    await new Promise((resolve) => setTimeout(resolve, 150));
    // Nothing else keeps the process alive.
    setTimeout(() => mutex.unlock(), 600).unref();
    print(await mutex.lockAsync());
  },

  /** Many mutexes, all given up: no waiter that is left in the engine keeps the process alive. */
  async abandoned() {
    await Promise.all(Array.from({ length: 100 }, () => held().mutex.lockAsync(10)));
    print('done');
  },

  /** The share of a CPU that it takes to wait. */
  async 'many pending'() {
    const { mutex } = held();
    for (let i = 0; i < 100_000; i++) mutex.lockAsync(60_000 + (i % 1000));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const [began, before] = [performance.now(), process.cpuUsage()];
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const { user, system } = process.cpuUsage(before);
    print((user + system) / 1000 / (performance.now() - began));
    process.exit();
  },

  warning() {
    const { mutex } = held();
    const answers = [
      new Mutex().lock(),
      mutex.lock(10),
      mutex.lock({ timeout: 10 }),
      new Mutex().lock(),
    ];
    report(answers);
  },

  'warning of a guard'() {
    report([new Mutex().acquire().unlock()]);
  },

  'warning of a condition'() {
    const mutex = new Mutex();
    mutex.tryLock();
    report([new Condition().waitFor(mutex, () => false, 10)]);
  },

  async 'no warning'() {
    const { mutex, stranger } = held();
    const waiting = mutex.lockAsync();
    mutex.tryLock();
    stranger.unlock();
    await waiting;
    mutex.unlock();
    (await mutex.acquireAsync(5)).unlock();
    await mutex.runExclusive(() => {});
    report([STRANGER]);
  },

  async 'worker blocks'() {
    const { spawn } = await import('../agents.js');
    const { mutex } = held();
    await spawn(({ Mutex, data }) => Mutex.from(data).lock(10), mutex.handle).result;
    report([]);
  },
};

await scenarios[scenario]();
