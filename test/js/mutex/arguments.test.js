/** Arguments, and what errors say; what every call refuses: test/js/family/waits.test.js. */
import { expect } from 'chai';

import { LockError, Mutex, TimeoutError } from '../../../js/src/index.js';
import { mode } from '../modes.js';
import { failure, itBlocks } from '../support.js';

if (mode === 'normal') {
  describe('Mutex: arguments', () => {
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
