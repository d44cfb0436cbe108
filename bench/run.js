/**
 * node bench/run.js [--quick] [--docs] [--json FILE]: builds what is to be measured, measures
 * natively and in JavaScript, prints both, and keeps the figures in build/bench. --docs writes
 * docs/benchmarks.md's tables and plots from them, --json copies them all to one file.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { publish } from './docs.js';
import { describeMachine } from './machine.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    docs: { type: 'boolean' },
    json: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (options.help) {
  console.log(
    'usage: node bench/run.js [--quick] [--docs] [--json FILE]     about 21 minutes; --quick: four',
  );
  process.exit();
}

const root = resolve(import.meta.dirname, '..');
const folder = resolve(root, 'build/bench');
const results = (name) => resolve(folder, `${name}.json`);
const read = (name) => JSON.parse(readFileSync(results(name), 'utf8'));

function run(command, args, stdio = 'inherit') {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    stdio,
    encoding: 'utf8',
  });
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

const figures = { machine: describeMachine(root), native: read('native'), js: read('js') };
if (options.json) writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
if (options.docs) for (const file of await publish(figures)) console.log(`wrote ${file}`);
