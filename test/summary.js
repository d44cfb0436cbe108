/**
 * summary.js: what the last run of CTest found, from the JUnit file that it leaves: what failing
 * tests said, the tests that were left out, those that failed, and last `N passed, N failed`. These
 * count cases: those of cmocka and mocha, the configurations of the explorer, mutants, samples, …;
 * a test that counts nothing is one case. Fails unless all have passed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const RESULTS = join(ROOT, 'build/tests.xml');

/**
 * What programs print for cases that passed, and for those that failed: cmocka, mocha, the
 * explorer, and scripts of our own.
 */
const PASSED = [
  /\[ {2}PASSED {2}\] (\d+) test/g,
  /^ {2}(\d+) passing/gm,
  /\d {2}(holds)(?:, but .*)?$/gm,
  /^(\d+) passed, \d+ failed$/gm,
];
const FAILED = [
  /\[ {2}FAILED {2}\] (\d+) test/g,
  /^ {2}(\d+) failing/gm,
  /\d {2}(FAILS)$/gm,
  /^\d+ passed, (\d+) failed$/gm,
];

const sum = (numbers) => numbers.reduce((total, n) => total + n, 0);
const count = (patterns, text) =>
  sum(
    patterns.flatMap((pattern) =>
      [...text.matchAll(pattern)].map(([, n]) => (/\d/.test(n) ? +n : 1)),
    ),
  );

const ENTITIES = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const unescape = (xml) => xml.replace(/&(amp|lt|gt|quot|apos);/g, (_, name) => ENTITIES[name]);

function readTests(xml) {
  const cases = xml.matchAll(/<testcase name="([^"]*)".*? status="(\w+)">(.*?)<\/testcase>/gs);
  return Array.from(cases, ([, name, status, inner]) => {
    const [, output = ''] = /<system-out>(.*?)<\/system-out>/s.exec(inner) ?? [];
    return { name, status, output: unescape(output) };
  });
}

/** The names of all tests that there are, whether they ran or not. */
function allTests() {
  const list = ['--test-dir', 'build/gcc', '--show-only=json-v1'];
  return JSON.parse(execFileSync('ctest', list, { cwd: ROOT, encoding: 'utf8' })).tests.map(
    ({ name }) => name,
  );
}

/** Names, but `mutants-* (22)` for those that begin alike. */
function grouped(names) {
  const groups = Map.groupBy(names, (name) => name.split('-')[0]);
  return Array.from(groups, ([first, group]) =>
    group.length > 1 ? `${first}-* (${group.length})` : group[0],
  );
}

/** A line that matches says what failed, and so do the line before it and the three after it. */
const TELLING = /\[ {2}ERROR|FAILED|Failure!|^not ok|^ +\d+\) |error:|Error: |timed out|Timeout/;
/** How many lines of a failing test are printed at most: the last ones. */
const MOST_LINES = 40;

/** What a test's output says of its failure; if no line does, its end. */
function excerpt({ output }) {
  const lines = output.split('\n');
  const near = [-1, 0, 1, 2, 3];
  const told = lines.filter((_, i) => near.some((d) => TELLING.test(lines[i - d] ?? '')));
  return (told.length > 0 ? told : lines).slice(-MOST_LINES).join('\n');
}

const say = (what, names) => names.length > 0 && console.log(`\n${what}: ${names.join(', ')}`);

if (!existsSync(RESULTS)) {
  console.log(
    'CTest has left no results: it was interrupted, or something could not be built.\n\n0 passed, 1 failed',
  );
  process.exit(1);
}
const tests = readTests(readFileSync(RESULTS, 'utf8'));
const names = tests.map(({ name }) => name);
const failed = tests.filter(({ status }) => status !== 'run' && status !== 'disabled');
for (const test of failed) console.log(`\nFrom the output of ${test.name}:\n${excerpt(test)}`);
if (failed.length > 0)
  console.log('\nAll that was printed: build/gcc/Testing/Temporary/LastTest.log');
say(
  'Not run, since what they need is not installed',
  tests.filter(({ status }) => status === 'disabled').map(({ name }) => name),
);
say(
  'Left out; `make test` runs them, `ctest --preset gcc -R NAME` one',
  grouped(allTests().filter((name) => !names.includes(name))),
);
say(
  'Failed once and then passed',
  tests.flatMap(({ output }) =>
    Array.from(output.matchAll(/^(.*), failed once and then passed: .*$/gm), ([line]) => line),
  ),
);
say(
  'FAILED',
  failed.map(({ name }) => name),
);

const counted = tests
  .filter(({ status }) => status !== 'disabled')
  .map(({ status, output }) => {
    const bad = count(FAILED, output);
    const good = count(PASSED, output);
    return status === 'run' ? { good: good || 1, bad } : { good, bad: bad || 1 };
  });
const total = {
  passed: sum(counted.map(({ good }) => good)),
  failed: sum(counted.map(({ bad }) => bad)),
};
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
