/**
 * cjs.js: writes js/cjs, for programs that `require`: lockword/worker-mutex in one CommonJS file, as Node 18 and 20 cannot require an ES
 * module, and its types, if `npm run types` has made them.
 */
import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';

import { build } from 'esbuild';

const js = join(import.meta.dirname, '../js');
const TYPES = join(js, 'types/worker-mutex.d.ts');

await build({
  entryPoints: [join(js, 'src/worker-mutex.js')],
  outfile: join(js, 'cjs/worker-mutex.cjs'),
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node18',
  logLevel: 'warning',
});
if (existsSync(TYPES)) copyFileSync(TYPES, join(js, 'cjs/worker-mutex.d.cts'));
