/**
 * run.js: the suite on every runtime, as one table.
 *
 *     node test/js/run.js [--only node22,deno] [--mode normal,polling,unhealed] [--grep PATTERN] [--here]
 *
 * --only takes names of runtimes.js; --here runs on the Node that executes this file instead, and installs nothing. The modes are
 * those of modes.js. Ends with `N passed, N failed`, and fails unless every run has passed.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { install, RUNTIMES } from './runtimes.js';
import { buildInterop } from './interop.build.js';

const MODES = ['normal', 'polling', 'unhealed'];

/** A run that prints nothing for this long hangs: the longest test has a timeout far below it. */
const SILENCE_MS = 90_000;

const suite = fileURLToPath(new URL('./main.js', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
const interactive = process.stdout.isTTY;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    mode: { type: 'string', default: MODES.join() },
    grep: { type: 'string' },
    here: { type: 'boolean', default: false },
  },
});

/** The names in a comma-separated option, each known. */
function choose(what, text, known) {
  const names = text.split(',');
  const stranger = names.find((name) => !known.includes(name));
  if (stranger !== undefined) throw new RangeError(`no such ${what}: ${stranger} (there are ${known.join(', ')})`);
  return known.filter((name) => names.includes(name));
}

function chooseRuntimes() {
  if (options.here) return [{ name: 'node', version: process.versions.node, path: process.execPath, options: [] }];
  const known = RUNTIMES.map(({ name }) => name);
  const names = choose('runtime', options.only ?? known.join(), known);
  return install(RUNTIMES.filter(({ name }) => names.includes(name)));
}

const titleOf = ({ name, version }) => `${name.replace(/\d+$/, '')} ${version}`;

/** Runs the suite once; answers what it reported. */
function run(runtime, mode) {
  const args = [...runtime.options, suite, '--lines', '--mode', mode, ...(options.grep ? ['--grep', options.grep] : [])];
  const start = performance.now();
  const outcome = { runtime, mode, passed: [], failed: [], skipped: [], noise: [] };
  const child = spawn(runtime.path, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });

  let ended = false;
  let watchdog;
  const watch = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => {
      outcome.failed.push({
        failed: 'the run',
        why: `no word for ${SILENCE_MS / 1000} s: it hangs after '${outcome.last ?? 'its start'}'`,
      });
      child.kill('SIGKILL');
    }, SILENCE_MS);
  };
  const read = (line) => {
    watch();
    let report;
    try {
      report = JSON.parse(line);
    } catch {
      outcome.noise.push(line);
      return;
    }
    if (report.end !== undefined) ended = true;
    for (const kind of ['passed', 'failed', 'skipped']) {
      if (report[kind] === undefined) continue;
      outcome[kind].push(report);
      outcome.last = report[kind];
    }
    if (interactive) process.stdout.write(`\r  ${titleOf(runtime)} ${mode}: ${outcome.passed.length}\x1b[K`);
  };
  watch();
  createInterface({ input: child.stdout }).on('line', read);
  createInterface({ input: child.stderr }).on('line', (line) => outcome.noise.push(line));
  return new Promise((resolve) => {
    const done = (how) => {
      clearTimeout(watchdog);
      if (!ended && outcome.failed.length === 0)
        outcome.failed.push({ failed: 'the run', why: `ended early: ${how}\n${outcome.noise.join('\n')}` });
      resolve({ ...outcome, seconds: (performance.now() - start) / 1000 });
    };
    child.on('error', (error) => done(error.message));
    child.on('close', (code, signal) => done(`exit ${signal ?? code} after '${outcome.last ?? 'its start'}'`));
  });
}

const row = (...cells) => {
  const [runtime, mode, ...numbers] = cells;
  return `  ${runtime.padEnd(16)}${mode.padEnd(10)}${numbers.map((cell) => `${cell}`.padStart(9)).join('')}`;
};

function print(outcome) {
  const { runtime, mode, passed, failed, skipped, seconds } = outcome;
  if (interactive) process.stdout.write('\r\x1b[K');
  console.log(row(titleOf(runtime), mode, passed.length, failed.length, skipped.length, `${seconds.toFixed(1)} s`));
}

/** Each skipped test once, with the runs that skipped it. */
function printSkipped(outcomes) {
  const runs = new Map();
  for (const { runtime, mode, skipped } of outcomes) {
    for (const { skipped: title, why } of skipped) {
      const key = why ? `${title} (${why})` : title;
      runs.set(key, [...(runs.get(key) ?? []), mode === 'normal' ? titleOf(runtime) : `${titleOf(runtime)} ${mode}`]);
    }
  }
  if (runs.size > 0) console.log('\nSkipped');
  for (const [title, where] of runs) console.log(`  ${title}: ${where.join(', ')}`);
}

function printFailed(outcomes) {
  for (const { runtime, mode, failed } of outcomes) {
    for (const { failed: title, why } of failed)
      console.log(`\n${titleOf(runtime)} ${mode}: ${title}\n  ${why.replaceAll('\n', '\n  ')}`);
  }
}

const modes = choose('mode', options.mode, MODES);
const runtimes = chooseRuntimes();
await buildInterop();

const outcomes = [];
console.log(row('runtime', 'mode', 'passed', 'failed', 'skipped', 'time'));
for (const runtime of runtimes) {
  for (const mode of modes) {
    const outcome = await run(runtime, mode);
    outcomes.push(outcome);
    print(outcome);
  }
}
printSkipped(outcomes);
printFailed(outcomes);

const count = (kind) => outcomes.reduce((sum, outcome) => sum + outcome[kind].length, 0);
console.log(`\n${count('passed')} passed, ${count('failed')} failed`);
process.exitCode = count('failed') > 0 || count('passed') === 0 ? 1 : 0;
