/**
 * node bench/run.js [--quick] [--plot] [--json FILE]: builds what is to be measured, measures natively and in JavaScript, prints both,
 * and keeps the figures in build/bench. --plot draws docs/img/bench-*.svg from them, --json copies them all to one file.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { draw } from './plot.js';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, plot: { type: 'boolean' }, json: { type: 'string' }, help: { type: 'boolean' } },
});
if (options.help) {
  console.log('usage: node bench/run.js [--quick] [--plot] [--json FILE]     about 14 minutes; --quick: two and a half');
  process.exit();
}

const root = resolve(import.meta.dirname, '..');
const folder = resolve(root, 'build/bench');
const results = (name) => resolve(folder, `${name}.json`);
const read = (name) => JSON.parse(readFileSync(results(name), 'utf8'));

function run(command, args, stdio = 'inherit') {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, stdio, encoding: 'utf8' });
  if (status === 0) return;
  console.error(`${stdout ?? ''}${stderr ?? ''}${error ?? ''}`);
  process.exit(status ?? 1);
}

mkdirSync(folder, { recursive: true });
console.log('Building the release preset');
run('cmake', ['--preset', 'release'], 'pipe');
run('cmake', ['--build', '--preset', 'release', '--target', 'lockword-bench'], 'pipe');

const quick = options.quick ? ['--quick'] : [];
console.log('\n== Native');
run('build/release/bench/native/lockword-bench', [...quick, '--json', results('native')]);
console.log('\n== JavaScript');
run(process.execPath, ['bench/js/main.js', ...quick, '--json', results('js')]);

const all = { native: read('native'), js: read('js') };
if (options.json) writeFileSync(options.json, `${JSON.stringify(all, null, 2)}\n`);
if (options.plot) {
  for (const file of await draw(all, resolve(root, 'docs/img'))) console.log(`wrote ${file}`);
}
