/**
 * run.js [--text] [PAGE...]: the documentation is right. Every sample in it runs as its page says,
 * and every link between pages leads somewhere, and no line of prose is longer than 100 columns.
 * How a page says it: pages.js. With --text, no sample runs. Ends with `N passed, N failed`.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';

import { anchorsOf, linksOf, longLinesOf, pages, programsOf, ROOT } from './pages.js';
import { has, prepare, WAYS, WORK } from './ways.js';

/**
 * Where users read. The others are for those who change lockword: their commands are the suite's.
 * cargo runs the samples of bindings/rust.
 */
const HAS_SAMPLES = /^(README\.md|docs\/|examples\/|bindings\/(node|python)\/)/;

const count = { passed: 0, failed: 0, notRun: 0 };

function report(what, error) {
  count[error ? 'failed' : 'passed']++;
  console.log(
    error
      ? `not ok: ${what}\n${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`
      : `ok: ${what}`,
  );
}

/** Runs a program in the way that its page says; says so. */
async function run({ where, run, reason, files }) {
  if (reason) {
    count.notRun++;
    console.log(`not run: ${where}: ${reason}`);
    return;
  }
  try {
    if (!run)
      throw new Error(
        'A sample needs a comment before it: run, or not run and why (test/docs/pages.js). Output is `text`.',
      );
    const [, command, needed, expected] = run.match(
      /^(.*?)(?:, needs: (.*?))?(?:, prints: (.*))?$/s,
    );
    if (needed && !has(needed)) {
      count.notRun++;
      console.log(`not run: ${where}: ${needed} is not installed`);
      return;
    }
    const outputs = [];
    for (const [way, ...args] of command.split(' + ').map((part) => part.split(' '))) {
      if (!WAYS[way]) throw new Error(`run: ${way}? There are ${Object.keys(WAYS).join(', ')}.`);
      outputs.push(...(await WAYS[way](files, ...args)));
    }
    for (const [place, output] of outputs) {
      if (expected && output !== undefined && !output.includes(expected))
        throw new Error(`${place} prints ${JSON.stringify(output)}, not ${expected}`);
    }
    report(`${where}: ${outputs.map(([place]) => place).join(', ')}`);
  } catch (error) {
    report(where, error);
  }
}

/** What is wrong with a link of a page. */
function wrongWith(page, link) {
  if (/^[a-z]+:/.test(link)) return undefined;
  const [path, anchor] = link.split('#');
  const target = path ? relative(ROOT, join(ROOT, dirname(page), path)) : page;
  if (!existsSync(join(ROOT, target))) return `${link}: no such file`;
  if (anchor && target.endsWith('.md') && !anchorsOf(target).includes(anchor))
    return `${link}: no such heading`;
  return undefined;
}

/** Runs the samples of the pages. */
async function runSamples() {
  rmSync(WORK, { recursive: true, force: true });
  mkdirSync(WORK, { recursive: true });
  // Samples leave their regions behind, and another version of lockword refuses those.
  for (const name of ['bank', 'jobs', 'orchard', 'orchard.cpp', 'orchard.js', 'pages', 'table'])
    rmSync(`/dev/shm/${name}`, { force: true });
  await prepare();
  const queue = read.filter((page) => HAS_SAMPLES.test(page)).flatMap(programsOf);
  const lane = async () => {
    while (queue.length > 0) await run(queue.shift());
  };
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, lane));
}

const {
  values: { text },
  positionals: chosen,
} = parseArgs({ options: { text: { type: 'boolean' } }, allowPositionals: true });
const read = pages().filter((page) => chosen.length === 0 || chosen.includes(page));

for (const page of read) {
  const wrong = linksOf(page).flatMap((link) => wrongWith(page, link) ?? []);
  wrong.push(...longLinesOf(page).map((line) => `more than 100 columns: ${line}`));
  report(`${page}: links and columns`, wrong.length > 0 && new Error(wrong.join('\n')));
}

if (!text) {
  await runSamples();
  console.log(`\n${count.notRun} samples are not run, each for the reason above`);
}
console.log(`${count.passed} passed, ${count.failed} failed`);
process.exitCode = count.failed === 0 && count.passed > 0 ? 0 : 1;
