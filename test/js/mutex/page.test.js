/** A thread that may not block, such as a page's main thread. */
import { expect } from 'chai';

import { spawn } from '../agents.js';
import { mode } from '../modes.js';

if (mode === 'normal') {
  describe('Mutex: where Atomics.wait throws', () => {
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
