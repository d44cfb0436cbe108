/**
 * The warning of lockword/worker-mutex: by the first call that blocks the main thread, and no
 * other.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect } from 'chai';

import { mode } from '../modes.js';

const script = fileURLToPath(new URL('./warning.js', import.meta.url));
const options = globalThis.Deno ? ['run', '--allow-all', '--quiet'] : [];

if (mode === 'normal') {
  describe('WorkerMutex: the main thread', () => {
    it('is told once that it blocks', async () => {
      const { stdout } = await promisify(execFile)(globalThis.process.execPath, [
        ...options,
        script,
      ]);
      const { warnings, counts } = JSON.parse(stdout);
      expect(warnings).to.deep.equal(['WORKER_MUTEX_LOCK_ON_MAIN_THREAD_BLOCKS_EVENT_LOOP']);
      expect(counts).to.deep.equal([0, 0, 1, 1]);
    });
  });
}
