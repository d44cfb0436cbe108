/**
 * node bench/run.js [--quick] [--only PART] [--docs] [--json FILE]: builds what is to be measured,
 * measures natively, in event loops in C, among processes, in C and in Node, on etcd, what starts,
 * and in JavaScript, or one of these parts alone, prints all, and keeps the figures in build/bench.
 * --docs writes docs/benchmarks.md's tables and plots from them. Of other kinds of CPU, and of
 * parts that were not measured, the page keeps its figures. --json copies the figures to one file.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { publish, published } from './docs.js';
import { etcdVersion } from './leases.js';
import { describeLoops, describeMachine, today } from './machine.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    only: { type: 'string' },
    docs: { type: 'boolean' },
    json: { type: 'string' },
    help: { type: 'boolean' },
  },
});
const TITLES = {
  native: 'Native',
  loops: 'Event loops in C',
  regions: 'Among processes',
  node: 'Among Node processes',
  leases: 'Among machines',
  startup: 'Start-up',
  js: 'JavaScript',
};
const PARTS = Object.keys(TITLES);
const isKnown = !options.only || PARTS.includes(options.only);
if (options.help || !isKnown) {
  console.log(
    `usage: node bench/run.js [--quick] [--only ${PARTS.join('|')}] [--docs] [--json FILE]\n\n` +
      'about 27 minutes; --quick: five',
  );
  process.exit(isKnown ? 0 : 1);
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

/** Whether what a part needs is installed. */
const canMeasure = (part) => part !== 'leases' || etcdVersion() !== undefined;
const measured = PARTS.filter((part) => (options.only ? part === options.only : canMeasure(part)));
const quick = options.quick ? ['--quick'] : [];

const NATIVE = 'build/release/bench/native/lockword-bench';
const COMMANDS = {
  native: [NATIVE],
  loops: [`${NATIVE}-loops`],
  regions: [`${NATIVE}-regions`],
  node: [process.execPath, 'bench/node/main.js'],
  leases: [process.execPath, 'bench/leases.js'],
  startup: [process.execPath, 'bench/startup.js'],
  js: [process.execPath, 'bench/js/main.js'],
};

/** What the page says of a part besides its figures. Those of `native` are `machine`'s. */
function about(part) {
  if (part === 'native') return {};
  if (part === 'loops') return { run: describeLoops() };
  return { date: today(), ...(part === 'leases' && { etcd: etcdVersion() }) };
}

/** Runs a part, and returns its figures. */
function measure(part) {
  const [command, ...args] = COMMANDS[part];
  run(command, [...args, ...quick, '--json', results(part)]);
  return { ...about(part), ...read(part) };
}

mkdirSync(folder, { recursive: true });
console.log('Building the release preset');
run('cmake', ['--preset', 'release'], 'pipe');
const targets = measured.flatMap(
  (part) =>
    ({
      native: ['lockword-bench'],
      loops: ['lockword-bench-loops'],
      regions: ['lockword-bench-regions'],
      leases: ['lockword-bench-leases'],
      startup: ['lockword-bench-startup', 'lockword_static', 'lockword_shared'],
    })[part] ?? [],
);
if (targets.length)
  run('cmake', ['--build', '--preset', 'release', '--target', ...targets], 'pipe');

const machine = describeMachine(root);
const before = published().find((run) => run.machine.cpu === machine.cpu);
if (options.only && options.docs && !before) {
  console.error(`${machine.cpu}: the page has no run of this CPU yet; measure all parts first`);
  process.exit(1);
}
const figures = options.only && before ? before : { machine };
// The page tells of the machine, and dates the run, as the native figures were made.
if (measured.includes('native')) figures.machine = machine;
for (const part of measured) {
  console.log(`\n== ${TITLES[part]}`);
  figures[part] = measure(part);
}
if (options.json) writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
if (options.docs) for (const file of await publish(figures)) console.log(`wrote ${file}`);
