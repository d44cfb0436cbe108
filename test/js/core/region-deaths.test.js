/**
 * A region in one engine, whose agents end at each of their operations. The agents here are copies
 * of js/src/region.js in one thread, with operations and an engine that the test plays; so every
 * moment is tried: deaths in a turn, in watch, join and close, in burials, and in the burials of
 * those that buried. What is not tried is a weak memory, which engines do not have.
 */
import { expect } from 'chai';
import { buildSync } from 'esbuild';

const { outputFiles } = buildSync({
  entryPoints: [new URL('../../../js/src/region.js', import.meta.url).pathname],
  bundle: true,
  format: 'cjs',
  write: false,
});
const load = new Function('module', 'Atomics', 'globalThis', outputFiles[0].text);

const NOTHING = () => {};
/** What an agent that has ended throws at its next operation, which is not done. */
const ENDED = new Error('the agent has ended');
const AGENTS = 5;

/** The engine: what it will call back, and its locks. */
let events = [];
let waits = [];
let holders = new Map();
let requests = [];

/** Lets all event loops turn. */
function turn() {
  while (events.length) {
    const { agent, call } = events.shift();
    if (agent.isAlive) agent.run(call);
  }
}

function grant() {
  for (const request of [...requests]) {
    const { agent, name, call } = request;
    if (!agent.isAlive || holders.has(name)) continue;
    requests = requests.filter((other) => other !== request);
    holders.set(name, agent);
    events.push({
      agent,
      call: () => {
        if (call({ name }) instanceof Promise) return;
        holders.delete(name);
        grant();
      },
    });
  }
}

class Agent {
  /** After so many operations it ends: of those that change something, or tell somebody. */
  left = Infinity;
  isAlive = true;
  /** Called before each operation. */
  meanwhile = NOTHING;

  /** @param {'exits' | 'locks'} engine */
  constructor(engine) {
    const operations = {};
    for (const name of Object.getOwnPropertyNames(Atomics)) {
      if (typeof Atomics[name] !== 'function') continue;
      operations[name] = (...args) => {
        this.#step(name === 'load' || name === 'wait');
        return Atomics[name](...args);
      };
    }
    operations.waitAsync = (words, index, expected) => {
      this.#step();
      if (Atomics.load(words, index) !== expected) return { async: false, value: 'not-equal' };
      const value = {
        then: (call) => waits.push({ agent: this, at: words.byteOffset + 4 * index, call }),
      };
      return { async: true, value };
    };
    operations.notify = (words, index) => {
      this.#step();
      const at = words.byteOffset + 4 * index;
      const ended = waits.filter((wait) => wait.at === at);
      waits = waits.filter((wait) => wait.at !== at);
      events.push(...ended);
      return ended.length;
    };
    const request = (name, options, call = options) => {
      const mine = { agent: this, name, call };
      requests.push(mine);
      grant();
      if (options.ifAvailable && requests.includes(mine)) {
        requests = requests.filter((other) => other !== mine);
        events.push({ agent: this, call: () => call(null) });
      }
      return { catch: NOTHING };
    };
    const module = { exports: {} };
    const navigator = engine === 'locks' ? { locks: { request } } : {};
    // Polls, which are all that has a timeout, look again when all else has been done.
    const setTimeout = (call) => void events.push({ agent: this, call });
    const timers = { setInterval: () => ({}), clearInterval: NOTHING, setTimeout };
    load(module, operations, { performance, SharedArrayBuffer, navigator, ...timers });
    this.engine = engine;
    this.Region = module.exports.Region;
  }

  #step(onlyLooks = false) {
    if (!this.isAlive || (!onlyLooks && this.left <= 0)) throw ENDED;
    if (!onlyLooks) this.left--;
    this.meanwhile();
  }

  /** Makes it alive, as a new agent, with a watcher or none. */
  begin(watcher) {
    Object.assign(this, { left: Infinity, isAlive: true, meanwhile: NOTHING, watcher });
    this.wards = [];
    watcher?.wards.push(this);
    return this;
  }

  /**
   * Calls it, and returns whether it lived on.
   *
   * @param {(agent: Agent) => void} call
   */
  run(call) {
    try {
      call(this);
    } catch (error) {
      if (error !== ENDED) throw error;
    }
    if (this.left > 0) return true;
    this.end();
    return false;
  }

  /** It ends, and its own workers with it, of which the engine tells whoever lives. */
  end() {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.left = 0;
    for (const ward of this.wards) ward.end();
    if (this.worker?.exit) events.push({ agent: this.watcher, call: this.worker.exit });
    for (const [name, holder] of [...holders]) if (holder === this) holders.delete(name);
    waits = waits.filter(({ agent }) => agent !== this);
    requests = requests.filter(({ agent }) => agent !== this);
    grant();
  }

  /** Watches another agent, which gets the seat. */
  watch(other) {
    const worker = {
      postMessage: NOTHING,
      terminate: NOTHING,
      ...(this.engine === 'exits' && { once: (_, exit) => (worker.exit = exit) }),
    };
    other.worker = worker;
    other.seat = this.region.watch(worker);
  }

  async join() {
    let joined;
    this.run(() => {
      this.region = this.Region.from(this.seat);
      joined = this.region.join();
    });
    turn();
    if (!this.isAlive) return false;
    const error = await joined.then(NOTHING, (caught) => caught);
    if (error && error !== ENDED) throw error;
    return this.run(NOTHING);
  }
}

/** A turn with everything that a death frees. Some of that it holds in the end. */
function use({ region }) {
  const pair = new Int32Array(region.handle.buffer, region.bytes('pair', 8).byteOffset, 2);
  const mutex = region.mutex('mutex');
  if (mutex.tryLock()) {
    if (mutex.ownerDied) pair[1] = pair[0];
    expect(pair[0]).to.equal(pair[1]);
    pair[0]++;
    region.permits('permits', 2).tryAcquire()?.release();
    pair[1]++;
    mutex.unlock();
  }
  const table = region.rwtable('table');
  if (table.tryReadLock()) table.readUnlock();
  if (table.tryWriteLock()) {
    const other = new Int32Array(region.handle.buffer, region.bytes('other', 8).byteOffset, 2);
    if (table.ownerDied) other[1] = other[0];
    expect(other[0]).to.equal(other[1]);
    other[0]++;
    region.once('once').run(() => {});
    region.semaphore('semaphore', 1).release();
    other[1]++;
    table.writeUnlock();
  }
  if (mutex.tryLock()) pair[0]++;
  region.permits('permits', 2).tryAcquire();
  table.tryReadLock();
}

/** A turn of one that lives on, which ends all of it. */
function useAndLeave(agent) {
  const { region } = agent;
  const mutex = region.mutex('mutex');
  const permits = region.permits('permits', 2);
  const table = region.rwtable('table');
  permits.tryAcquire()?.release();
  if (table.tryReadLock()) table.readUnlock();
  if (!mutex.tryLock()) return;
  const pair = new Int32Array(region.handle.buffer, region.bytes('pair', 8).byteOffset, 2);
  if (pair[0] !== pair[1]) expect(mutex.ownerDied).to.equal(true);
  pair[1] = pair[0];
  mutex.unlock();
}

/** Whether a row has an agent or a seat: docs/layout.md. */
function isTaken({ region }, row) {
  const state = new Int32Array(region.handle.buffer)[32 + 16 * row];
  return state < 0 || state >= 2 ** 28;
}

/** Nothing is left of those that have ended, and everything works. */
function check({ region }) {
  const taken = Array.from({ length: AGENTS }, (_, row) => isTaken({ region }, row));
  expect(taken).to.deep.equal([true, false, false, false, false]);
  const pair = new Int32Array(region.handle.buffer, region.bytes('pair', 8).byteOffset, 2);
  const other = new Int32Array(region.handle.buffer, region.bytes('other', 8).byteOffset, 2);
  const mutex = region.mutex('mutex');
  const table = region.rwtable('table');
  expect(mutex.tryLock()).to.equal(true);
  if (pair[0] !== pair[1]) expect(mutex.ownerDied).to.equal(true);
  mutex.unlock();
  const permits = region.permits('permits', 2);
  expect(permits.available).to.equal(2);
  expect(table.readers).to.equal(0);
  expect(table.tryWriteLock()).to.equal(true);
  if (other[0] !== other[1]) expect(table.ownerDied).to.equal(true);
  table.writeUnlock();
  expect(table.tryReadLock()).to.equal(true);
  table.readUnlock();
  region.once('once').run(() => {});
  expect(region.once('once').done).to.equal(true);
}

for (const engine of ['exits', 'locks']) {
  describe(`deaths in a region, of which the engine tells by ${engine}`, function () {
    this.timeout(300_000);
    const agents = Array.from({ length: 4 }, () => new Agent(engine));
    const [root] = agents;

    /** So many agents, each watched by the one before it. All but the last have joined. */
    async function begin(length) {
      [events, waits, requests] = [[], [], []];
      holders = new Map();
      const chain = agents.slice(0, length);
      chain.forEach((agent, i) => agent.begin(chain[i - 1]));
      const region = root.Region.create(new SharedArrayBuffer(8192), { agents: AGENTS });
      root.region = await region.join();
      for (let i = 1; i < length; i++) {
        chain[i - 1].watch(chain[i]);
        if (i < length - 1) await chain[i].join();
      }
      return chain;
    }

    /** All end but the root, which learns of it. */
    function finish(chain) {
      turn();
      chain[1].end();
      turn();
      check(root);
    }

    /** Tries 0, 1, 2, … operations, until `once` returns that the agent has lived. */
    async function atEach(once) {
      let n = 0;
      while (!(await once(n))) n++;
      return n;
    }

    it('frees what is held at any moment, also if the burial ends at any moment', async () => {
      let tried = 0;
      const held = await atEach(async (k) => {
        let lived;
        await atEach(async (j) => {
          const chain = await begin(3);
          const [, burier, last] = chain;
          await last.join();
          last.left = k;
          lived = last.run(use);
          burier.left = j;
          last.end();
          turn();
          const buried = burier.isAlive;
          finish(chain);
          tried++;
          return buried;
        });
        return lived;
      });
      expect(held).to.be.above(30);
      expect(tried).to.be.above(1000);
    });

    it('goes on with a burial of one that buried, at any two moments', async () => {
      let tried = 0;
      await atEach(async (i) => {
        let first;
        await atEach(async (j) => {
          const chain = await begin(4);
          const [, second, third, last] = chain;
          await last.join();
          last.run(use);
          third.left = i;
          second.left = Infinity;
          last.end();
          turn();
          first = third.isAlive;
          second.left = j;
          third.end();
          turn();
          const buried = second.isAlive;
          finish(chain);
          tried++;
          return buried;
        });
        return first;
      });
      expect(tried).to.be.above(100);
    });

    for (const call of ['watch', 'join', 'close']) {
      it(`frees the row of one that ends in ${call}, at any moment`, async () => {
        const moments = await atEach(async (k) => {
          const chain = await begin(3);
          const [, second, last] = chain;
          let lived;
          if (call === 'watch') {
            const another = new Agent(engine).begin(second);
            second.left = k;
            lived = second.run(() => second.watch(another));
          } else {
            if (call === 'close') {
              await last.join();
              last.run(use);
            }
            last.left = k;
            lived = call === 'join' ? await last.join() : last.run(() => last.region.close());
            last.end();
            turn();
            // One that ends before it has joined is known by its exit, or by `terminate`.
            if (engine === 'exits' || call === 'close') expect(isTaken(root, 2)).to.equal(false);
          }
          finish(chain);
          return lived;
        });
        expect(moments).to.be.above(0);
      });
    }

    if (engine === 'locks') {
      it('frees the row of one that is terminated while it joins, and runs on for a while', async () => {
        const seen = new Set();
        await atEach(async (k) => {
          const chain = await begin(3);
          const [, second, last] = chain;
          let n = k;
          last.meanwhile = () => {
            if (n-- === 0) second.run(() => last.worker.terminate());
          };
          const error = await last.join().catch((caught) => caught);
          seen.add(error.code ?? 'joined');
          last.meanwhile = NOTHING;
          if (error === true) last.run(use);
          last.end();
          turn();
          expect(isTaken(root, 2)).to.equal(false);
          expect(second.isAlive).to.equal(true);
          finish(chain);
          return n >= 0;
        });
        expect([...seen]).to.have.members(['ERR_LOCK', 'joined']);
      });
    }

    it('buries whom one watched that has closed the region, and frees the row of that one', async () => {
      for (const endsFirst of [true, false]) {
        const chain = await begin(3);
        const [, second, last] = chain;
        await last.join();
        last.run(use);
        second.run(() => second.region.close());
        if (endsFirst) last.end();
        finish(chain);
      }
      const chain = await begin(3);
      const [, second, last] = chain;
      await last.join();
      second.region.close();
      second.region = second.Region.from(root.region.handle);
      await second.region.join();
      expect(second.region.mutex('mutex').tryLock()).to.equal(true);
      second.region.close();
      last.run(() => last.region.close());
      last.end();
      turn();
      check(root);
    });

    it('buries several at once, and takes nothing from one that lives', async () => {
      let moments = 0;
      await atEach(async (k) => {
        const chain = await begin(3);
        const [, second, last] = chain;
        await last.join();
        last.run(use);
        const [live, other] = [agents[3], (begin.other ??= new Agent(engine))];
        for (const agent of [live, other]) {
          agent.begin(root);
          root.watch(agent);
          await agent.join();
        }
        expect(live.region.mutex('live').tryLock()).to.equal(true);
        expect(live.region.permits('numbers', 2).tryAcquire().number).to.equal(0);
        expect(other.region.mutex('its').tryLock()).to.equal(true);
        expect(other.region.permits('numbers', 2).tryAcquire().number).to.equal(1);
        let n = k;
        let done = true;
        second.meanwhile = () => {
          if (n-- !== 0) return;
          done = false;
          // The root, at this very moment: a turn, and a burial.
          const numbers = root.region.permits('numbers', 2);
          expect(root.region.mutex('live').tryLock()).to.equal(false);
          expect(numbers.available).to.equal(0);
          const before = events;
          events = [];
          other.end();
          turn();
          events = before;
          expect([numbers.available, root.region.mutex('live').tryLock()]).to.deep.equal([
            1,
            false,
          ]);
          const mutex = root.region.mutex('its');
          expect([mutex.tryLock(), mutex.ownerDied]).to.deep.equal([true, true]);
          mutex.unlock();
          useAndLeave(root);
          moments++;
        };
        last.end();
        turn();
        second.meanwhile = NOTHING;
        if (other.isAlive) other.end();
        turn();
        expect(live.region.mutex('live').isMine).to.equal(true);
        live.end();
        finish(chain);
        return done;
      });
      expect(moments).to.be.above(50);
    });
  });
}
