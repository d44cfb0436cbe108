/**
 * run.js: the suite on every runtime, as one table.
 *
 *     node test/js/run.js [--only node22,deno,firefox] [--mode normal,polling,unhealed]
 *         [--grep PATTERN]
 *
 * --only takes names of runtimes.js and of test/browsers. The modes are those of modes.js; browsers
 * run in the normal one. Leaves the counts of each whole run for matrix.js. Ends with `N passed,
 * N failed`, and fails unless every run has passed.
 */
import { parseArgs } from 'node:util';

import { BROWSERS, isInstalled } from '../browsers/index.js';
import { startInBrowser } from './browsers.js';
import { buildInterop } from './interop.build.js';
import { keep } from './results.js';
import { install, RUNTIMES, startRuntime } from './runtimes.js';

const MODES = ['normal', 'polling', 'unhealed'];

/** A run that reports nothing for this long hangs: the longest test has a timeout far below it. */
const SILENCE_MS = 90_000;

const interactive = process.stdout.isTTY;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    mode: { type: 'string', default: MODES.join() },
    grep: { type: 'string' },
  },
});

/** The names in a comma-separated option, each known. */
function choose(what, text, known) {
  const names = text.split(',');
  const stranger = names.find((name) => !known.includes(name));
  if (stranger !== undefined)
    throw new RangeError(`no such ${what}: ${stranger} (there are ${known.join(', ')})`);
  return known.filter((name) => names.includes(name));
}

/** What can be run, and a word on each browser that cannot. */
function chooseRuntimes() {
  const all = [...RUNTIMES, ...BROWSERS];
  const known = all.map(({ name }) => name);
  const names = choose('runtime', options.only ?? known.join(), known);
  const chosen = (list) => list.filter(({ name }) => names.includes(name));
  const browsers = chosen(BROWSERS);
  for (const browser of browsers.filter((browser) => !isInstalled(browser)))
    console.log(`Left out: ${browser.title} is not installed (Debian: ${browser.package})`);
  return [
    ...install(chosen(RUNTIMES)).map((runtime) => ({ ...runtime, start: startRuntime })),
    ...browsers
      .filter(isInstalled)
      .map((browser) => ({ ...browser, start: startInBrowser, modes: ['normal'] })),
  ];
}

const titleOf = ({ name, title = name.replace(/\d+$/, ''), version = '' }) => `${title} ${version}`;

/** Runs the suite once, or what the pattern selects; returns what it reported. */
async function run(runtime, mode, grep) {
  const start = performance.now();
  const outcome = { runtime, mode, passed: [], failed: [], skipped: [], engine: {} };
  const noise = [];
  let last = 'its start';
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  let watchdog;
  const watch = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => end(`no word for ${SILENCE_MS / 1000} s: it hangs`), SILENCE_MS);
  };
  const hear = (report) => {
    watch();
    Object.assign(outcome.engine, report.engine);
    for (const kind of ['passed', 'failed', 'skipped']) {
      if (report[kind] === undefined) continue;
      outcome[kind].push(report);
      last = report[kind];
    }
    if (report.end !== undefined) end();
    if (interactive)
      process.stdout.write(`\r  ${titleOf(runtime)} ${mode}: ${outcome.passed.length}\x1b[K`);
  };
  watch();
  let why;
  try {
    const running = await runtime.start(runtime, {
      mode,
      grep,
      hear,
      noise: (line) => noise.push(line),
    });
    outcome.runtime = { ...runtime, version: running.version };
    why = await Promise.race([ended, running.over]);
    await running.close();
  } catch (error) {
    why = error.stack;
  }
  clearTimeout(watchdog);
  if (why)
    outcome.failed.push({
      failed: 'the run',
      why: [`${why} after '${last}'`, ...noise].join('\n'),
    });
  return { ...outcome, seconds: (performance.now() - start) / 1000 };
}

/** More failures than this are no accident. */
const MAX_UNSTEADY = 3;

/** So often a browser is started whose runs end without a word. */
const MAX_RUNS = 3;

const patternOf = (titles) =>
  `^(${titles.map((title) => title.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`;

/**
 * The same; in a browser, a few tests that failed have a second chance, and a run that ended
 * without a word has two. A browser's own processes share the machine with the suite, and a page
 * that was not run for a second misses its bound. What needed its second chance is reported as
 * unsteady.
 */
async function runSteadily(runtime, mode, runs = MAX_RUNS) {
  const outcome = await run(runtime, mode, options.grep);
  const { failed } = outcome;
  const isBrowser = BROWSERS.some(({ name }) => name === runtime.name);
  const titles = failed.map((test) => test.failed);
  if (!isBrowser || failed.length === 0 || failed.length > MAX_UNSTEADY) return outcome;
  if (titles.includes('the run')) {
    if (runs === 1) return outcome;
    const next = await runSteadily(runtime, mode, runs - 1);
    const unsteady = next.failed.length === 0 ? [...failed, ...(next.unsteady ?? [])] : [];
    return { ...next, unsteady, seconds: outcome.seconds + next.seconds };
  }
  const again = await run(runtime, mode, patternOf(titles));
  const seconds = outcome.seconds + again.seconds;
  const passedNow = (test) => again.passed.some((other) => other.passed === test.failed);
  return {
    ...outcome,
    passed: [...outcome.passed, ...again.passed],
    unsteady: failed.filter(passedNow),
    failed: failed.filter((test) => !passedNow(test)),
    seconds,
  };
}

const row = (...cells) => {
  const [runtime, mode, ...numbers] = cells;
  return `  ${runtime.padEnd(24)}${mode.padEnd(10)}${numbers.map((cell) => `${cell}`.padStart(9)).join('')}`;
};

function print(outcome) {
  const { runtime, mode, passed, failed, skipped, seconds } = outcome;
  if (interactive) process.stdout.write('\r\x1b[K');
  console.log(
    row(
      titleOf(runtime),
      mode,
      passed.length,
      failed.length,
      skipped.length,
      `${seconds.toFixed(1)} s`,
    ),
  );
}

/** Each skipped test once, with the runs that skipped it. */
function printSkipped(outcomes) {
  const runs = new Map();
  for (const { runtime, mode, skipped } of outcomes) {
    for (const { skipped: title } of skipped) {
      runs.set(title, [
        ...(runs.get(title) ?? []),
        mode === 'normal' ? titleOf(runtime) : `${titleOf(runtime)} ${mode}`,
      ]);
    }
  }
  if (runs.size > 0) console.log('\nSkipped');
  for (const [title, where] of runs) console.log(`  ${title}: ${where.join(', ')}`);
}

function printFailed(outcomes) {
  for (const { runtime, mode, failed, unsteady = [] } of outcomes) {
    const say = (what, { failed: title, why }) =>
      console.log(
        `\n${titleOf(runtime)} ${mode}${what}: ${title}\n  ${why.replaceAll('\n', '\n  ')}`,
      );
    for (const test of failed) say('', test);
    for (const test of unsteady) say(', failed once and then passed', test);
  }
}

const modes = choose('mode', options.mode, MODES);
const runtimes = chooseRuntimes();
await buildInterop();

const outcomes = [];
console.log(row('runtime', 'mode', 'passed', 'failed', 'skipped', 'time'));
for (const runtime of runtimes) {
  const runs = modes.filter((mode) => runtime.modes?.includes(mode) ?? true);
  for (const mode of runs) {
    const outcome = await runSteadily(runtime, mode);
    outcomes.push(outcome);
    print(outcome);
    if (!options.grep) keep(outcome);
  }
}
printSkipped(outcomes);
printFailed(outcomes);

const count = (kind) => outcomes.reduce((sum, outcome) => sum + outcome[kind].length, 0);
console.log(`\n${count('passed')} passed, ${count('failed')} failed`);
process.exitCode = count('failed') > 0 || (count('passed') === 0 && runtimes.length > 0) ? 1 : 0;
