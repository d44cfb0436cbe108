/** Where primitives live, how they are made and laid out, and how they travel. */
import { expect } from 'chai';

import { LW_BARRIER_MISSING } from '../../../js/src/core/constants.js';
import * as lockword from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import { PRIMITIVES } from '../primitives.js';
import { failure } from '../support.js';
import { wordsOf } from './waits.js';

const { Barrier, Counter, Event, Latch, layout, Mutex, Permits, Semaphore, WaitGroup } = lockword;

/**
 * Every class, and its size in bytes; test/js/core/layout.test.js compares that with
 * docs/layout.md.
 */
const SIZES = new Map(PRIMITIVES.map((Class) => [Class, Class.BYTE_LENGTH]));

/** Those that need a first value: what makes them, and what they hold then. */
const MADE = [
  [Semaphore, 3, [3, 0, 0], (it) => it.permits === 3],
  [Barrier, 3, [3, 0, 3], (it) => !it.isBroken],
  [Counter, 3, [3, 0], (it) => it.value === 3],
  [Latch, 3, [3, 0], (it) => it.count === 3],
  [Permits, 3, [0, 0, 3, ...Array(253).fill(0)], (it) => it.count === 3 && it.available === 3],
  [Event, { autoReset: true }, [2, 0], (it) => !it.isSet],
  [Event, {}, [0, 0], (it) => !it.isSet],
  [Event, undefined, [0, 0], (it) => !it.isSet],
];

const LIMITS = [
  [Semaphore, 0, 2 ** 28 - 1],
  [Barrier, 1, 4095],
  [Counter, 0, 2 ** 30 - 1],
  [Latch, 1, 2 ** 30 - 1],
  [Permits, 1, 252],
];

/** The words, less the cycle that a barrier is in. */
const firstWords = (primitive) =>
  [...wordsOf(primitive)].map((word, i) =>
    primitive instanceof Barrier && i === 0 ? word & LW_BARRIER_MISSING : word,
  );

/** Enough bytes for any of them, and more. */
const ROOM = 2048;

describe('construction of every primitive', () => {
  for (const [Class, size] of SIZES) {
    it(`${Class.name} is ${size} bytes at any multiple of 4, says its name, and never writes when it attaches`, async () => {
      expect([Class.BYTE_LENGTH, Class.ALIGN, Class.type]).to.deep.equal([size, 4, Class.name]);
      const buffer = new SharedArrayBuffer(ROOM);
      new Uint8Array(buffer).fill(0xff);
      const primitive = new Class(buffer, 4);
      const { handle } = primitive;
      expect(handle).to.deep.equal({ type: Class.name, buffer, byteOffset: 4 });
      expect(Class.from({ ...handle }).handle).to.deep.equal(handle);
      for (const name of Object.keys(Object.getOwnPropertyDescriptors(Class.prototype))) {
        const { get } = Object.getOwnPropertyDescriptor(Class.prototype, name);
        get?.call(primitive);
      }
      expect([...new Uint8Array(buffer)].every((byte) => byte === 0xff)).to.equal(true);
      expect([...wordsOf(new Class())].every((word) => word === 0)).to.equal(true);
    });

    it(`${Class.name} refuses bad places and bad handles`, async () => {
      const shared = new SharedArrayBuffer(ROOM);
      const last = ROOM - size;
      expect(new Class(shared, last).handle.byteOffset).to.equal(last);
      const unshared = new WebAssembly.Memory({ initial: 1, maximum: 1 });
      for (const args of [
        [new ArrayBuffer(32)],
        [new Int32Array(shared)],
        [unshared],
        [unshared.buffer],
        [8],
        [null],
        [{ byteLength: 32 }],
        [shared, '4'],
        [shared, 4n],
        [shared, null],
      ])
        expect(await failure(() => new Class(...args))).to.be.instanceOf(TypeError);
      for (const offset of [2, 5, -4, last + 4, ROOM, 2 ** 32])
        expect(await failure(() => new Class(shared, offset))).to.be.instanceOf(RangeError);
      // What is no integer is no offset of any buffer either: both kinds of error say so.
      for (const offset of [4.5, NaN, Infinity])
        expect((await failure(() => new Class(shared, offset))).name).to.match(
          /^(Type|Range)Error$/,
        );
      for (const bytes of [0, size - 4])
        expect(await failure(() => new Class(new SharedArrayBuffer(bytes)))).to.be.instanceOf(
          RangeError,
        );
      const { handle } = new Class(shared);
      const others = [...SIZES.keys()].filter((other) => other !== Class);
      for (const other of others)
        expect(await failure(() => other.from(handle))).to.be.instanceOf(TypeError);
      for (const bad of [
        { ...handle, type: undefined },
        { ...handle, buffer: undefined },
        { ...handle, byteOffset: undefined },
        {},
        null,
        undefined,
        shared,
      ])
        expect(await failure(() => Class.from(bad))).to.be.instanceOf(TypeError);
      expect(await failure(() => Class.from({ ...handle, byteOffset: 2 }))).to.be.instanceOf(
        RangeError,
      );
      for (const lost of [new Class(), JSON.parse(JSON.stringify(handle))]) {
        const { message } = await failure(() => Class.from(lost));
        expect(message).to.equal(
          `not a handle of ${Class.name}, or its memory is lost: postMessage its 'handle', not as JSON`,
        );
      }
    });
  }

  for (const [Class, size] of SIZES) {
    it(`new ${Class.name}() without shared memory says what to write, and at a bad place what it takes`, async () => {
      const instead = 'create' in Class ? `${Class.name}.create(…)` : `new ${Class.name}()`;
      const view = new Int32Array(new SharedArrayBuffer(ROOM));
      for (const memory of [3, { autoReset: true }, null, new ArrayBuffer(32), view]) {
        const { message } = await failure(() => new Class(memory));
        expect(message).to.equal(`memory must be a SharedArrayBuffer; or write ${instead}`);
      }
      for (const [bytes, offset] of [
        [4, 0],
        [ROOM, 2],
        [ROOM, -4],
        [ROOM, ROOM],
        [ROOM, ROOM + 4 - size],
      ]) {
        const { message } = await failure(() => new Class(new SharedArrayBuffer(bytes), offset));
        expect(message).to.equal(
          `${Class.name} needs ${size} bytes at a multiple of 4, not at ${offset} of ${bytes}`,
        );
      }
    });
  }

  it('reaches a worker as handles, in one message', async () => {
    const primitives = [...SIZES.keys()].map((Class) => new Class());
    const agent = spawn(
      ({ data, ...lockword }) =>
        data.map((handle) => {
          const primitive = lockword[handle.type].from(handle);
          new Int32Array(handle.buffer)[0] = 77;
          return primitive.handle.type === handle.type && primitive.handle.buffer.byteLength;
        }),
      primitives.map(({ handle }) => handle),
    );
    expect(await agent.result).to.deep.equal([...SIZES.values()]);
    for (const primitive of primitives) expect(wordsOf(primitive)[0]).to.equal(77);
  });

  it('needs no WebAssembly', async () => {
    const agent = spawn(
      async ({ data, ...lockword }) => {
        const made = data.map(({ type, buffer }) => new lockword[type](buffer));
        const semaphore = lockword.Semaphore.create(1);
        await semaphore.acquireAsync();
        return [typeof WebAssembly, made.length, semaphore.permits];
      },
      [...SIZES.keys()].map((Class) => new Class().handle),
      'wasmless',
    );
    expect(await agent.result).to.deep.equal(['undefined', SIZES.size, 0]);
  });

  for (const [Class, value, words, holds] of MADE) {
    it(`${Class.name}.create(${JSON.stringify(value)}) and init() write its first words`, () => {
      const created = Class.create(value);
      expect(firstWords(created)).to.deep.equal(words);
      expect(holds(created)).to.equal(true);
      const buffer = new SharedArrayBuffer(ROOM);
      const made = Class.init(buffer, 8, value);
      expect(made).to.be.instanceOf(Class);
      expect(firstWords(made)).to.deep.equal(words);
      const outside = [...new Int32Array(buffer)].filter((_, i) => i < 2 || i >= 2 + words.length);
      expect(outside.every((word) => word === 0)).to.equal(true);
      const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
      expect(firstWords(Class.init(memory, 1024, value))).to.deep.equal(words);
    });
  }

  for (const [Class, min, max] of LIMITS) {
    it(`${Class.name} takes ${min} to ${max} and refuses all else before it writes`, async () => {
      for (const value of [min, max]) expect(Class.create(value)).to.be.instanceOf(Class);
      for (const [value, kind] of [
        [min - 1, RangeError],
        [max + 1, RangeError],
        [1.5, RangeError],
        [NaN, RangeError],
        [Infinity, RangeError],
        ['1', TypeError],
        [1n, TypeError],
        [null, TypeError],
      ]) {
        const buffer = new SharedArrayBuffer(16);
        new Uint8Array(buffer).fill(0xff);
        expect(await failure(() => Class.init(buffer, 0, value)), `${value}`).to.be.instanceOf(
          kind,
        );
        expect([...new Uint8Array(buffer)].every((byte) => byte === 0xff)).to.equal(true);
        expect(await failure(() => Class.create(value))).to.be.instanceOf(kind);
      }
    });
  }

  it('Counter.create() begins at 0', () => expect(Counter.create().value).to.equal(0));
});

describe('layout()', () => {
  const all = Object.fromEntries([...SIZES.keys()].map((Class) => [Class.name, Class]));

  it('places primitives one after another, as C does', () => {
    const shared = layout(all);
    let at = 0;
    for (const [Class, size] of SIZES) {
      expect(shared.offsets[Class.name]).to.equal(at);
      at += size;
    }
    expect(shared.byteLength).to.equal(at);
    expect(Object.keys(shared.offsets)).to.deep.equal(Object.keys(all));
  });

  it('attaches to them all, anywhere, and writes nothing', async () => {
    const shared = layout({ lock: Mutex, ready: Event, jobs: Semaphore });
    const buffer = new SharedArrayBuffer(shared.byteLength + 12);
    const { lock, ready, jobs } = shared.on(buffer, 8);
    expect([lock, ready, jobs].map(({ handle }) => handle.byteOffset)).to.deep.equal([8, 16, 24]);
    expect([...new Uint8Array(buffer)].every((byte) => byte === 0)).to.equal(true);
    expect([
      lock instanceof Mutex,
      ready instanceof Event,
      jobs instanceof Semaphore,
    ]).to.deep.equal([true, true, true]);
    const again = shared.on(buffer, 8);
    lock.tryLock();
    ready.set();
    jobs.release(2);
    expect([again.lock.isMine, again.ready.isSet, again.jobs.permits]).to.deep.equal([
      true,
      true,
      2,
    ]);
    expect(shared.on(new SharedArrayBuffer(shared.byteLength)).lock.isLocked).to.equal(false);
    expect(await failure(() => shared.on(buffer, 16))).to.be.instanceOf(RangeError);
    expect(await failure(() => shared.on(buffer, 2))).to.be.instanceOf(RangeError);
    for (const offset of [null, true, false, '8', [8], 8n])
      expect(await failure(() => shared.on(buffer, offset))).to.be.instanceOf(TypeError);
    // A misspelt name of a message's property: new memory would be a lock of one's own.
    for (const nothing of [undefined, null])
      expect(await failure(() => layout({ lock: Mutex }).on(nothing))).to.be.instanceOf(TypeError);
  });

  it('of something else is refused', async () => {
    for (const table of [Map, undefined, null, 'Mutex']) {
      const error = await failure(() => layout({ lock: Mutex, table }));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.equal('table is no primitive');
    }
  });

  it('of nothing is nothing', () => {
    const shared = layout({});
    expect([shared.byteLength, shared.offsets, shared.on(new SharedArrayBuffer(4))]).to.deep.equal([
      0,
      {},
      {},
    ]);
  });

  it('means the same in a worker', async () => {
    const shared = layout({ lock: Mutex, group: WaitGroup, done: Event });
    const buffer = new SharedArrayBuffer(shared.byteLength);
    const { lock, group, done } = shared.on(buffer);
    group.add();
    const agent = spawn(({ Event, Mutex, WaitGroup, data, layout }) => {
      const { lock, group, done } = layout({ lock: Mutex, group: WaitGroup, done: Event }).on(data);
      lock.lock();
      group.done();
      done.set();
    }, buffer);
    expect(await group.waitAsync(10_000)).to.equal(true);
    expect(await done.waitAsync(10_000)).to.equal(true);
    expect([lock.isLocked, lock.isMine]).to.deep.equal([true, false]);
    await agent.result;
  });
});

if (mode === 'normal') {
  describe('an agent without a shared buffer', () => {
    it('is told that the page is not cross-origin isolated', async () => {
      const agent = spawn(({ Event, Region, Semaphore }) => {
        delete globalThis.SharedArrayBuffer;
        return [() => new Event(), () => Semaphore.create(1), () => Region.create()].map((make) => {
          try {
            make();
          } catch (error) {
            return [error instanceof TypeError, /cross-origin isolated/.test(error.message)];
          }
        });
      });
      expect(await agent.result).to.deep.equal([
        [true, true],
        [true, true],
        [true, true],
      ]);
    });
  });
}
