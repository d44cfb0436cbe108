/**
 * C as WebAssembly, JavaScript that blocks and JavaScript that must not, on one lock word of one
 * memory.
 */
import { expect } from 'chai';

import { Mutex } from '../../js/src/index.js';
import { spawn } from './agents.js';
import { mode } from './modes.js';
import { built, buryIfItHolds, sleep, Stranger, until, within, wordsOf } from './support.js';

const PAGE = 65536;
const C_TURNS = 110_000;
const JS_TURNS = 90_000;

/** errors.h, where there is no C library. */
const [EPERM, EBUSY, EDEADLK, ETIMEDOUT] = [1, 16, 35, 110];

/** Written by interop.build.js. */
const module = await built('interop.wasm');

/**
 * A memory with, from the third MiB on, a mutex and a counter; below, the module's data and a stack
 * for each of its instances.
 */
function share() {
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 65536, shared: true });
  const mutex = new Mutex(memory, 32 * PAGE + 8);
  return { memory, mutex, counter: new Uint32Array(memory.buffer, 32 * PAGE + 64, 1) };
}

/** What an agent needs: for C, each instance has a stack of its own. */
const given = ({ memory, mutex, counter, ...more }, i) => ({
  ...more,
  memory,
  module,
  handle: mutex.handle,
  stack: (8 + 2 * i) * PAGE,
  counter: counter.byteOffset,
});

/** Makes an instance in a worker, and returns its exports. Crosses over as source. */
async function open({ data: { memory, module, stack }, imports }) {
  const { instance } = await WebAssembly.instantiate(module, { env: { memory }, ...imports() });
  instance.exports.__stack_pointer.value = stack;
  return instance.exports;
}

/** Runs `job(c, { data, say, … })` in the i-th worker. */
const spawnC = (shared, i, job) =>
  spawn(`async (tools) => (${job})(await (${open})(tools), tools)`, given(shared, i));

const inC = (c, { data: { handle, counter, turns } }) =>
  c.interop_add(handle.byteOffset, counter, turns);

const inJavaScript = ({ Mutex, data }) => {
  const mutex = Mutex.from(data.handle);
  const counter = new Uint32Array(data.memory.buffer, data.counter, 1);
  for (let turn = 0; turn < data.turns; turn++) {
    if (turn % 4 !== 0 || !mutex.tryLock()) mutex.lock();
    counter[0]++;
    mutex.unlock();
  }
  return 0;
};

describe('interop: one lock word', () => {
  it(`counts exactly in C, C, JavaScript and the main thread, at least ${2 * C_TURNS + JS_TURNS} times`, async function () {
    this.timeout(90_000);
    const shared = share();
    const { mutex, counter } = shared;
    const agents = [
      spawnC({ ...shared, turns: C_TURNS }, 0, inC),
      spawnC({ ...shared, turns: C_TURNS }, 1, inC),
      spawn(inJavaScript, given({ ...shared, turns: JS_TURNS }, 2)),
    ];
    let working = true;
    const done = Promise.all(agents.map((agent) => agent.result)).finally(() => (working = false));
    let turns = 0;
    await until(() => Atomics.load(counter, 0) > 0);
    while (working) {
      await within(20_000, mutex.lockAsync(), 'lockAsync() on the main thread');
      counter[0]++;
      mutex.unlock();
      // Without a task of its own in between, the main thread would never hear that the workers are
      // done.
      if (++turns % 8 === 0) await sleep(0);
    }
    expect(await done).to.deep.equal([0, 0, 0]);
    expect(turns).to.be.above(0);
    expect(counter[0]).to.equal(2 * C_TURNS + JS_TURNS + turns);
    expect(counter[0]).to.be.at.least(300_000);
    expect([...wordsOf(mutex.handle)]).to.deep.equal([0, 0]);
  });

  it('C and JavaScript of one worker are one agent', async () => {
    const shared = share();
    const agent = spawnC(shared, 0, async (c, { Mutex, data }) => {
      const mutex = Mutex.from(data.handle);
      const at = data.handle.byteOffset;
      const answers = [
        c.interop_unlock(at),
        c.interop_lock(at),
        mutex.isMine,
        c.interop_trylock(at),
        c.interop_lock(at),
      ];
      mutex.unlock();
      answers.push(
        mutex.tryLock(),
        c.interop_lock(at),
        c.interop_unlock(at),
        mutex.isLocked,
        await mutex.lockAsync(),
      );
      answers.push(c.interop_unlock(at), c.interop_unlock(at));
      return answers;
    });
    expect(await agent.result).to.deep.equal([
      EPERM,
      0,
      true,
      EBUSY,
      EDEADLK,
      true,
      EDEADLK,
      0,
      false,
      true,
      0,
      EPERM,
    ]);
    expect([...wordsOf(shared.mutex.handle)]).to.deep.equal([0, 0]);
  });

  it('C obeys what JavaScript holds, and gives up in time, not before', async () => {
    const shared = share();
    await shared.mutex.lockAsync();
    const agent = spawnC(shared, 0, async (c, { data, say }) => {
      const at = data.handle.byteOffset;
      const answers = [c.interop_trylock(at), c.interop_unlock(at)];
      const start = performance.now();
      answers.push(c.interop_lock_for(at, 40));
      const took = performance.now() - start;
      say('waiting');
      answers.push(c.interop_lock(at), c.interop_unlock(at));
      return { answers, took };
    });
    await agent.said('waiting');
    await until(() => wordsOf(shared.mutex.handle)[0] < 0);
    shared.mutex.unlock();
    const { answers, took } = await within(10_000, agent.result);
    expect(answers).to.deep.equal([EBUSY, EPERM, ETIMEDOUT, 0, 0]);
    expect(took).to.be.at.least(40);
    expect([...wordsOf(shared.mutex.handle)]).to.deep.equal([0, 0]);
  });

  it('an unlock in C wakes a thread and a promise, each at its word', async () => {
    const shared = share();
    const { mutex } = shared;
    const stranger = new Stranger(mutex).lock();
    const agent = spawnC(shared, 0, async (c, { data, heard, say }) => {
      const at = data.handle.byteOffset;
      say('waiting');
      const answers = [c.interop_lock(at)];
      say('holding');
      await heard('queued');
      answers.push(c.interop_unlock(at));
      return answers;
    });
    await agent.said('waiting');
    await until(() => stranger.state < 0);
    stranger.unlock();
    await agent.said('holding');
    const thread = spawn(({ Mutex, data }) => {
      const mutex = Mutex.from(data);
      mutex.lock();
      mutex.unlock();
    }, mutex.handle);
    const promise = mutex.lockAsync();
    await until(() => stranger.state >>> 30 === 3);
    agent.say('queued');
    expect(await within(10_000, agent.result)).to.deep.equal([0, 0]);
    expect(await within(10_000, promise)).to.equal(true);
    mutex.unlock();
    await within(10_000, thread.result);
    expect([...wordsOf(mutex.handle)]).to.deep.equal([0, 0]);
  });

  if (mode === 'normal') {
    it('a worker terminated in C delays the others by a re-check at most', async () => {
      const victim = (c, { data, imports, say }) => {
        say('id', imports().lockword.self());
        return c.interop_add(data.handle.byteOffset, data.counter, 1);
      };
      const race = async () => {
        const shared = share();
        const { mutex } = shared;
        expect(mutex.tryLock()).to.equal(true);
        const agent = spawnC(shared, 0, victim);
        const id = await agent.said('id');
        await until(() => wordsOf(mutex.handle)[0] < 0);
        const survivor = spawnC(shared, 1, victim);
        await survivor.said('id');
        await sleep(20);
        mutex.unlock();
        await agent.terminate();
        const stop = buryIfItHolds(mutex, id);
        await within(5_000, survivor.result, 'the survivor');
        stop();
        expect(shared.counter[0]).to.be.within(1, 2);
      };
      await Promise.all(Array.from({ length: 3 }, race));
    });
  }
});
