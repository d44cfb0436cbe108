/**
 * node test/region/run.js [NATIVE PEER] [--only NAME,...] [--suite NAME]: builds lockword-region,
 * and tests it on some versions of Node, and on Deno. What they say is shown if they fail.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { install, RUNTIMES, SOME_NODES } from '../js/runtimes.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const {
  values: { only = [...SOME_NODES, 'deno'].join(), suite = '*' },
  positionals: [native],
} = parseArgs({
  options: { only: { type: 'string' }, suite: { type: 'string' } },
  allowPositionals: true,
});

execFileSync(process.execPath, ['bindings/node/build.js'], { cwd: root, stdio: 'inherit' });

const wanted = RUNTIMES.filter(({ name }) => only.split(',').includes(name));
for (const { name, version, path, options } of install(wanted)) {
  const mocha = [
    ...options,
    'node_modules/mocha/bin/mocha.js',
    '--timeout',
    '30000',
    `test/region/${suite}.test.js`,
  ];
  const env = { ...process.env, ...(native && { LW_REGION_PEER: native }) };
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(path, mocha, { cwd: root, env, encoding: 'utf8' });
  const [passed = 'none passed'] = stdout.match(/\d+ passing.*/) ?? [];
  console.log(`${name} ${version}: ${passed}, ${Math.round((performance.now() - began) / 1000)} s`);
  if (status === 0) continue;
  console.log(`${stdout}${stderr}`);
  process.exitCode = 1;
}
