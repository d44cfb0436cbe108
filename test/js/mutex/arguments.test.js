/** Bad arguments: refused before memory is touched. */
import { expect } from 'chai';

import { LockError, Mutex } from '../../../js/src/index.js';
import { mode } from '../modes.js';
import { failure, itBlocks, Stranger, wordsOf } from '../support.js';

const bad = {
  'a NaN timeout': [RangeError, NaN],
  'a string timeout': [TypeError, '100'],
  'a bigint timeout': [TypeError, 100n],
  'a boolean timeout': [TypeError, true],
  'a function': [TypeError, () => {}],
  'a symbol': [TypeError, Symbol('timeout')],
  null: [TypeError, null],
  'a misspelt timeout': [TypeError, { timout: 5 }],
  'a misspelt signal': [TypeError, { timeout: 5, sginal: undefined }],
  'an option that is inherited and unknown': [TypeError, Object.create({ timeoutMs: 5 })],
  'a signal instead of options': [TypeError, new AbortController().signal],
  'a NaN timeout in options': [RangeError, { timeout: NaN }],
  'a string timeout in options': [TypeError, { timeout: '100' }],
  'a null timeout in options': [TypeError, { timeout: null }],
  'a signal that is an object': [TypeError, { signal: {} }],
  'a signal that is an AbortController': [TypeError, { signal: new AbortController() }],
  'a signal that is a string': [TypeError, { signal: 'abort' }],
  'a signal that cannot be listened to': [TypeError, { signal: { throwIfAborted() {} } }],
};

const calls = {
  lock: (mutex, options) => mutex.lock(options),
  lockAsync: (mutex, options) => mutex.lockAsync(options),
  acquire: (mutex, options) => mutex.acquire(options),
  acquireAsync: (mutex, options) => mutex.acquireAsync(options),
  runExclusive: (mutex, options) => mutex.runExclusive(() => expect.fail('ran'), options),
};

if (mode === 'normal') {
  for (const [name, call] of Object.entries(calls)) {
    describe(`Mutex: ${name}() refuses`, () => {
      for (const [what, [kind, options]] of Object.entries(bad)) {
        it(`${what}, free or held`, async () => {
          const mutex = new Mutex();
          expect(await failure(async () => call(mutex, options))).to.be.instanceOf(kind);
          expect([...wordsOf(mutex.handle)]).to.deep.equal([0, 0]);

          const stranger = new Stranger(mutex).lock();
          const state = stranger.state;
          expect(await failure(async () => call(mutex, options))).to.be.instanceOf(kind);
          expect([...wordsOf(mutex.handle)]).to.deep.equal([state, 0]);
        });
      }
    });
  }

  describe('Mutex: arguments', () => {
    it('asynchronous calls reject where they would throw', async () => {
      for (const name of ['lockAsync', 'acquireAsync', 'runExclusive']) {
        const promise = calls[name](new Mutex(), NaN);
        expect(promise).to.be.instanceOf(Promise);
        expect(await failure(() => promise)).to.be.instanceOf(RangeError);
      }
    });

    it('what is no option is named, with those that there are', async () => {
      for (const [options, name] of [
        [null, 'null'],
        ['50', '50'],
        [{ timout: 50 }, 'timout'],
        [{ signal: undefined, tiemout: 50 }, 'tiemout'],
      ]) {
        const { message } = await failure(() => new Mutex().lockAsync(options));
        expect(message).to.equal(`write ms or { timeout,signal,permits }, not ${name}`);
      }
    });

    it('runExclusive() takes a function only', async () => {
      for (const fn of [undefined, null, 1, {}, 'fn']) {
        const mutex = new Mutex();
        expect(await failure(() => mutex.runExclusive(fn))).to.be.instanceOf(TypeError);
        expect(mutex.isLocked).to.equal(false);
      }
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
            expect(await calls[name](mutex, options)).to.equal(true);
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
