/** js/src/core.js as it is committed: what src/core says, and no more than a user should have to load. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const build = fileURLToPath(new URL('../../../tools/core/build.js', import.meta.url));

describe('js/src/core.js', function () {
  this.timeout(120_000);

  it('is what src/core says', () => {
    execFileSync(process.execPath, [build, '--check'], { stdio: 'pipe' });
  });
});
