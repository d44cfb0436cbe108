// tune.js: how much depends on each constant of the waiting policy. Halves and doubles it in
// simulations, and writes into docs/simulation.md which cell changes most. Its argument is
// lockword-simulate-tune.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';

const [program] = process.argv.slice(2);
const PAGE = new URL('../../docs/simulation.md', import.meta.url);
const BETWEEN = /(<!-- make simulate TUNE=1 -->\n\n).*?(\n\n<!-- end -->)/s;

const [, names] = /set\(constants ([^)]*)\)/.exec(
  readFileSync(new URL('CMakeLists.txt', import.meta.url), 'utf8'),
);
const CONSTANTS = names.split(/\s+/);
const FACTORS = [0.5, 2];
const SEEDS = [1, 2, 3];

// Which cells; those beside busy threads need longer runs.
const SETS = [
  ['--cpus', '2,8,16,64', '--threads', '1', '--section', '0,180,1000,5000', '--ms', '10'],
  ['--cpus', '2,16', '--threads', '4', '--section', '0,180,1000,5000', '--ms', '10'],
  ['--cpus', '2', '--threads', '8', '--section', '180,15000', '--busy', '--ms', '300'],
];

const folder = mkdtempSync(join(tmpdir(), 'tune-'));
let files = 0;

function simulate(args) {
  const file = join(folder, `${files++}.json`);
  const child = spawn(program, [...args, '--policy', 'lockword', '--json', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.on('exit', (status) => {
      if (status !== 0) reject(new Error(`lockword-simulate-tune ${args.join(' ')}: ${status}`));
      else resolve(JSON.parse(readFileSync(file, 'utf8')).cells);
    });
  });
}

const middle = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

/** All cells with a constant scaled: medians over the seeds. */
async function measure(scale) {
  const sets = [];
  for (const set of SETS) {
    const runs = [];
    for (const seed of SEEDS) runs.push(await simulate([...set, '--seed', seed, ...scale]));
    const busy = set.includes('--busy');
    sets.push(
      ...runs[0].map((cell, k) => ({
        name: `${cell.threads} threads, ${cell.cpus} ${busy ? 'busy ' : ''}CPUs, ${cell.section_ns} ns`,
        mops: middle(runs.map((run) => run[k].mops)),
        longest_ns: middle(runs.map((run) => run[k].longest_ns)),
      })),
    );
  }
  return sets;
}

/** The cell whose figure changes most, as a cell of a table. */
function farthest(cells, before, key) {
  const ratios = cells.map((cell, k) => cell[key] / before[k][key]);
  const distance = (ratio) => Math.abs(Math.log(ratio));
  const k = ratios.reduce((best, r, i) => (distance(r) > distance(ratios[best]) ? i : best), 0);
  return `${ratios[k].toFixed(2)} (${cells[k].name})`;
}

const variants = [
  [],
  ...CONSTANTS.flatMap((name) => FACTORS.map((factor) => ['--scale', `${name}=${factor}`])),
];
const results = [];

async function work() {
  while (results.length < variants.length) {
    const k = results.push(null) - 1;
    results[k] = await measure(variants[k]);
  }
}

try {
  await Promise.all(Array.from({ length: availableParallelism() }, work));
} finally {
  rmSync(folder, { recursive: true });
}

const [before] = results;
const rows = variants.slice(1).map(([, scale], k) => {
  const [name, factor] = scale.split('=');
  const cells = results[k + 1];
  return `| \`${name}\` × ${factor} | ${farthest(cells, before, 'mops')} | ${farthest(cells, before, 'longest_ns')} |`;
});
const table = ['| constant | turns | longest wait |', '|---|---|---|', ...rows].join('\n');
console.log(table);
writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(BETWEEN, `$1${table}$2`));
