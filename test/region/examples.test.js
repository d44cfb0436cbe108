/** examples.test.js: the examples that need lockword-region, and Node alone. */
import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** From here, programs find the package in build/node_modules. */
const FOLDER = join(ROOT, 'build/test-region', `${process.pid}`);
const PATH = `/dev/shm/lockword-test-examples-${process.pid}`;

// Deno has no clusters.
(globalThis.Deno ? describe.skip : describe)('examples/one-cache', () => {
  it('makes each page once, although the first worker that makes one is killed', function () {
    this.timeout(60_000);
    cpSync(join(ROOT, 'examples/one-cache'), FOLDER, { recursive: true });
    try {
      const run = [join(FOLDER, 'server.js'), PATH];
      const output = execFileSync(process.execPath, run, { encoding: 'utf8', timeout: 50_000 });
      expect(output).equal('90 look-ups, 10 pages made\n');
    } finally {
      for (const path of [FOLDER, PATH]) rmSync(path, { recursive: true, force: true });
    }
  });
});
