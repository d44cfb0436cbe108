/** Arguments, and what errors say; what every call refuses: test/js/family/waits.test.js. */
import { expect } from 'chai';

import {
  Condition,
  Counter,
  Event,
  Latch,
  LockError,
  Mutex,
  Semaphore,
  TimeoutError,
  WaitGroup,
} from '../../../js/src/index.js';
import { mode } from '../modes.js';
import { wordsOf } from '../family/waits.js';
import { failure, itBlocks } from '../support.js';

/** Calls that take a number, and how many are too many. */
const NUMBERS = [
  [
    () => Counter.create(3),
    2 ** 30,
    ['increment', 'decrement', 'whenAtLeast', 'whenAtMost', 'waitUntil', 'waitUntilAsync'],
  ],
  [() => Latch.create(3), 2 ** 30, ['countDown']],
  [() => Semaphore.create(3), 2 ** 28, ['tryAcquire', 'release', 'when']],
  [
    () => Semaphore.create(3),
    2 ** 28,
    ['wait', 'waitAsync', 'acquire', 'acquireAsync'],
    (permits) => ({ permits }),
  ],
  [
    () => {
      const group = new WaitGroup();
      group.add(3);
      return group;
    },
    2 ** 22,
    ['add', 'done'],
  ],
  [() => new Condition(), 2 ** 31, ['notify']],
];

describe('bad numbers are refused before any word is touched', () => {
  for (const [make, tooMany, calls, argumentOf = (n) => n] of NUMBERS) {
    it(`by ${make().constructor.name}: ${calls.join(', ')}`, async () => {
      const primitive = make();
      const before = [...wordsOf(primitive)];
      for (const [n, kind] of [
        [-1, RangeError],
        [0.5, RangeError],
        [NaN, RangeError],
        [tooMany, RangeError],
        ['1', TypeError],
        [1n, TypeError],
        [null, TypeError],
        [{}, TypeError],
      ]) {
        for (const call of calls)
          expect(
            await failure(async () => primitive[call](argumentOf(n))),
            `${call}(${n})`,
          ).to.be.instanceOf(kind);
        expect([...wordsOf(primitive)]).to.deep.equal(before);
      }
    });
  }
});

if (mode === 'normal') {
  describe('Mutex: arguments', () => {
    it('what is no option is named, with those that there are', async () => {
      for (const [options, name] of [
        [{ timout: 50 }, 'timout'],
        [{ signal: undefined, tiemout: 50 }, 'tiemout'],
        [{ permits: 2 }, 'permits'],
        [new AbortController().signal, 'AbortSignal'],
        [new AbortController(), 'AbortController'],
      ]) {
        const { message } = await failure(() => new Mutex().lockAsync(options));
        expect(message).to.equal(`pass { timeout, signal }, not ${name}`);
      }
      for (const [options, name] of [
        [{ autoreset: true }, 'autoreset'],
        [true, 'boolean'],
        [5, 'number'],
      ]) {
        const { message } = await failure(() => Event.create(options));
        expect(message).to.equal(`pass { autoReset }, not ${name}`);
      }
    });

    it('what is no timeout is told by its type, with what to pass', async () => {
      for (const [timeout, type] of [
        ['50', 'string'],
        ['', 'string'],
        [null, 'null'],
        [50n, 'bigint'],
        [Symbol('50'), 'symbol'],
        [async () => {}, 'function'],
      ]) {
        for (const options of [timeout, { timeout }]) {
          const { message } = await failure(() => new Mutex().lockAsync(options));
          expect(message).to.equal(`timeout must be a number of ms, not ${type}`);
        }
      }
    });

    it('what a page has added to Object.prototype is no option', async () => {
      const mutex = new Mutex();
      Object.prototype.added = () => {};
      try {
        expect(await mutex.lockAsync({ timeout: 5 })).to.equal(true);
        expect(await mutex.lockAsync({ timeout: 5, signal: undefined })).to.equal(false);
        expect(Event.create({ autoReset: true }).isSet).to.equal(false);
        expect(await failure(() => mutex.lockAsync({ timout: 5 }))).to.be.instanceOf(TypeError);
      } finally {
        delete Object.prototype.added;
      }
    });

    it('what is no number, or out of range, is named, with the range', async () => {
      const whole = 'must be an integer from';
      for (const [make, message] of [
        [() => new Mutex(new SharedArrayBuffer(8), 0.5), 'byteOffset must be an integer, not 0.5'],
        [
          () => new Mutex(new SharedArrayBuffer(8), 2),
          'Mutex needs 8 bytes at a multiple of 4, not at 2 of 8',
        ],
        [() => Counter.create(-1), `value ${whole} 0 to 1073741823, not -1`],
        [() => Counter.create('1'), 'value must be a number, not string'],
        [() => Counter.create(3).decrement(4), `value ${whole} 0 to 1073741823, not -1`],
        [
          () => Counter.create(2 ** 30 - 2).increment(2),
          `value ${whole} 0 to 1073741823, not 1073741824`,
        ],
        [() => new Counter().whenAtLeast(NaN), `n ${whole} 0 to 1073741823, not NaN`],
        [() => Latch.create(0), `count ${whole} 1 to 1073741823, not 0`],
        [() => Latch.create(2).countDown(5), `count ${whole} 0 to 1073741823, not -3`],
        [() => new WaitGroup().done(), `count ${whole} 0 to 4194303, not -1`],
        [() => new WaitGroup().add(2 ** 22), `n ${whole} 0 to 4194303, not 4194304`],
        [() => new Condition().notify(null), 'n must be a number, not null'],
      ])
        expect((await failure(make)).message).to.equal(message);
      const group = new WaitGroup();
      group.add(2 ** 22 - 2);
      const { message } = await failure(() => group.add(3));
      expect(message).to.equal(`count ${whole} 0 to 4194303, not 4194305`);
    });

    it('runExclusive() takes a function only, and calls none for nothing', async () => {
      const mutex = new Mutex();
      for (const fn of [undefined, null, 1, {}, 'fn'])
        expect(await failure(() => mutex.runExclusive(fn))).to.be.instanceOf(TypeError);
      const run = (options) => failure(() => mutex.runExclusive(() => expect.fail('ran'), options));
      expect(await run(NaN)).to.be.instanceOf(RangeError);
      expect(await run({ timout: 5 })).to.be.instanceOf(TypeError);
      expect(await run({ signal: AbortSignal.abort('enough') })).to.equal('enough');
      expect(mutex.isLocked).to.equal(false);
      mutex.tryLock();
      expect(await run(20)).to.be.instanceOf(TimeoutError);
    });

    for (const options of [
      undefined,
      0,
      -1,
      -Infinity,
      0.5,
      Infinity,
      1e300,
      {},
      { timeout: -0.5 },
      { timeout: undefined },
      { signal: null },
    ]) {
      itBlocks(
        `${JSON.stringify(options)} (${String(options?.timeout ?? options)}) is fine`,
        async () => {
          const mutex = new Mutex();
          for (const name of ['lock', 'lockAsync']) {
            expect(await mutex[name](options)).to.equal(true);
            mutex.unlock();
          }
        },
      );
    }

    itBlocks('every error of the library has a code, and says what to do in words', async () => {
      const mutex = new Mutex();
      const stranger = await failure(() => mutex.unlock());
      mutex.tryLock();
      const deadlock = await failure(() => mutex.lock());
      const late = await failure(() => mutex.acquireAsync(1));
      const codes = new Set();
      for (const error of [stranger, deadlock, late]) {
        expect(error).to.be.instanceOf(LockError);
        expect(error).to.be.instanceOf(Error);
        expect(error.code).to.be.a('string').and.match(/\S/);
        expect(error.name).to.equal(error.constructor.name);
        expect(error.message).to.match(/\w+ \w+/);
        codes.add(error.code);
      }
      expect(codes.size).to.equal(3);
    });
  });
}
