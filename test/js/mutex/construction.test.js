/** Where a mutex lives, and how it travels. */
import { expect } from 'chai';

import { Mutex } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { OWNER, Stranger, within, wordsOf } from '../support.js';

const memoryOf = (pages, maximum = pages) =>
  new WebAssembly.Memory({ initial: pages, maximum, shared: true });
const bytesOf = (buffer) => [...new Uint8Array(buffer)];

const places = {
  'its own buffer': () => new Mutex(),
  'a SharedArrayBuffer': () => new Mutex(new SharedArrayBuffer(8)),
  'an offset in a SharedArrayBuffer': () => new Mutex(new SharedArrayBuffer(64), 44),
  'the last words of a SharedArrayBuffer': () => new Mutex(new SharedArrayBuffer(64), 56),
  'a shared WebAssembly.Memory': () => new Mutex(memoryOf(1), 1024),
  'the buffer of a shared WebAssembly.Memory': () => new Mutex(memoryOf(1).buffer, 65528),
};

describe('Mutex: construction', () => {
  for (const [place, construct] of Object.entries(places)) {
    it(`lives in ${place}`, async () => {
      const mutex = construct();
      expect(mutex.isLocked).to.equal(false);
      expect(await mutex.lockAsync()).to.equal(true);
      expect(wordsOf(mutex.handle)[0] & OWNER).to.not.equal(0);
      expect(mutex.isMine).to.equal(true);
      mutex.unlock();
      expect([...wordsOf(mutex.handle)]).to.deep.equal([0, 0]);
    });

    it(`is handed to a worker from ${place}`, async () => {
      const mutex = construct();
      const agent = spawn(({ Mutex, data }) => {
        const mutex = Mutex.from(data);
        return {
          wasLocked: mutex.isLocked,
          wasMine: mutex.isMine,
          taken: mutex.tryLock(),
          isMine: mutex.isMine,
        };
      }, mutex.handle);
      expect(await agent.result).to.deep.equal({
        wasLocked: false,
        wasMine: false,
        taken: true,
        isMine: true,
      });
      expect(mutex.isLocked).to.equal(true);
      expect(mutex.isMine).to.equal(false);
    });
  }

  it('touches its two words only', async () => {
    const buffer = new SharedArrayBuffer(24);
    new Uint8Array(buffer).fill(0xa5);
    new Int32Array(buffer).fill(0, 2, 4);
    const before = bytesOf(buffer);
    const mutex = new Mutex(buffer, 8);
    mutex.tryLock();
    expect(
      bytesOf(buffer).filter((byte, i) => (i < 8 || i >= 12) && byte !== before[i]),
    ).to.deep.equal([]);
    await mutex.lockAsync(5);
    mutex.unlock();
    expect(bytesOf(buffer)).to.deep.equal(before);
  });

  it('is the same lock through every object on its address', async () => {
    const buffer = new SharedArrayBuffer(32);
    const [one, two] = [new Mutex(buffer, 8), new Mutex(buffer, 8)];
    expect(one.tryLock()).to.equal(true);
    expect(two.isMine).to.equal(true);
    expect(two.tryLock()).to.equal(false);
    const queued = [two.lockAsync(), one.lockAsync(), Mutex.from(one.handle).lockAsync()];
    two.unlock();
    for (const lock of queued) {
      expect(await lock).to.equal(true);
      one.unlock();
    }
    expect(one.isLocked).to.equal(false);
  });

  it('is another lock at another address of the same buffer', () => {
    const buffer = new SharedArrayBuffer(16);
    const [one, two] = [new Mutex(buffer, 0), new Mutex(buffer, 8)];
    expect(one.tryLock()).to.equal(true);
    expect(two.isLocked).to.equal(false);
    expect(two.tryLock()).to.equal(true);
    one.unlock();
    expect(two.isMine).to.equal(true);
  });

  it('works in a memory that grows, before and after', async () => {
    const memory = memoryOf(1, 4);
    const before = new Mutex(memory, 16);
    const queued = [];
    expect(before.tryLock()).to.equal(true);
    const lock = async (mutex) => {
      const taken = await mutex.lockAsync();
      mutex.unlock();
      return taken;
    };
    queued.push(lock(before));
    memory.grow(2);
    const after = new Mutex(memory, 16);
    const beyond = new Mutex(memory, 2 * 65536);
    expect(after.isMine).to.equal(true);
    expect(beyond.tryLock()).to.equal(true);
    queued.push(lock(after), lock(before));
    after.unlock();
    expect(await within(10_000, Promise.all(queued))).to.deep.equal([true, true, true]);
    expect(after.isLocked).to.equal(false);
  });

  it('wakes a worker that waits while the memory grows', async () => {
    const memory = memoryOf(1, 4);
    const mutex = new Mutex(memory, 0);
    const stranger = new Stranger(mutex).lock();
    const agents = ['lock', 'lockAsync'].map((how) =>
      spawn(
        async ({ Mutex, data, say }) => {
          const mutex = Mutex.from(data.handle);
          say('waiting');
          const taken = await mutex[data.how]();
          mutex.unlock();
          return taken;
        },
        { handle: mutex.handle, how },
      ),
    );
    for (const agent of agents) await agent.said('waiting');
    memory.grow(3);
    stranger.unlock();
    for (const agent of agents) expect(await agent.result).to.equal(true);
  });

  it('works beyond 2 GiB', async function () {
    let memory;
    try {
      memory = memoryOf(2 ** 15 + 16);
      new Int32Array(memory.buffer)[2 ** 29] = 0;
    } catch {
      this.skip();
    }
    const mutex = new Mutex(memory, 2 ** 31 + 65536);
    const stranger = new Stranger(mutex).lock();
    const agents = ['lock', 'lockAsync'].map((how) =>
      spawn(
        async ({ Mutex, data, say }) => {
          const mutex = Mutex.from(data.handle);
          const early = await mutex[data.how](1);
          say('waiting');
          const taken = await mutex[data.how]();
          const mine = mutex.isMine;
          mutex.unlock();
          return { early, taken, mine };
        },
        { handle: mutex.handle, how },
      ),
    );
    const mine = mutex.lockAsync().then((taken) => {
      mutex.unlock();
      return taken;
    });
    expect(await mutex.lockAsync(20)).to.equal(false);
    for (const agent of agents) await agent.said('waiting');
    stranger.unlock();
    expect(await mine).to.equal(true);
    for (const agent of agents)
      expect(await agent.result).to.deep.equal({ early: false, taken: true, mine: true });
    expect([...wordsOf(mutex.handle)]).to.deep.equal([0, 0]);
  });
});
