/** A thread that may not block, such as a page's main thread. */
import { expect } from 'chai';

import { spawn } from '../agents.js';
import { mode } from '../modes.js';

if (mode === 'normal') {
  describe('Mutex: where Atomics.wait throws', () => {
    for (const call of ['lock', 'acquire']) {
      it(`${call}() of a held mutex throws before it touches the words, and names the async call`, async () => {
        const agent = spawn(
          ({ Mutex, LockError, Stranger, data, wordsOf }) => {
            const mutex = new Mutex();
            const stranger = new Stranger(mutex).lock();
            const outcomes = [undefined, 0, 10, { timeout: 10 }].map((options) => {
              try {
                return mutex[data.call](options);
              } catch (error) {
                const { code, message } = error;
                return { isLockError: error instanceof LockError, code, message };
              }
            });
            const words = [...wordsOf(mutex.handle)];
            stranger.unlock();
            return { outcomes, words };
          },
          { call },
          'page',
        );
        const { outcomes, words } = await agent.result;
        for (const outcome of outcomes) {
          expect(outcome.isLockError).to.equal(true);
          expect(outcome.code).to.be.a('string');
          expect(outcome.message).to.contain(`${call}()`).and.contain(`${call}Async()`);
        }
        expect(words).to.deep.equal([5, 0]);
      });
    }

    it('everything that never blocks works', async () => {
      const agent = spawn(
        async ({ Mutex, Stranger, sleep, wordsOf }) => {
          const mutex = new Mutex();
          const answers = [mutex.tryLock(), await mutex.lockAsync(5)];
          mutex.unlock();
          const stranger = new Stranger(mutex).lock();
          const waiting = mutex.lockAsync();
          await sleep(5);
          stranger.unlock();
          answers.push(await waiting);
          mutex.unlock();
          answers.push(await mutex.runExclusive(() => mutex.isMine));
          (await mutex.acquireAsync()).unlock();
          return [...answers, ...wordsOf(mutex.handle)];
        },
        {},
        'page',
      );
      expect(await agent.result).to.deep.equal([true, false, true, true, 0, 0]);
    });
  });
}
