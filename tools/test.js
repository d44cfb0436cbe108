/**
 * test.js [--show] [GROUP...]: runs the suites below in order, those of the named groups or all that test; shows a line for each, keeps
 * its whole output in build/logs (--show: shows it, too), and ends with one line: `N passed, N failed`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

process.chdir(join(import.meta.dirname, '..'));

const LOGS = 'build/logs';
const SHOWN_LINES = 40;
const LIMIT_MS = 5 * 60_000;
/** One more than there are CPUs: most of those who share them sleep now and then. */
const LANES = availableParallelism() + 1;
const node = process.execPath;
const C_FILES =
  "find bench demo examples include src test verify -name node_modules -prune -o -name '*.[ch]' -print -o -name '*.cpp' -print";

/* Children find the pinned Node and the tools from npm first. */
const env = {
  ...process.env,
  PATH: [dirname(node), join(process.cwd(), 'node_modules/.bin'), process.env.PATH].join(delimiter),
  CTEST_PARALLEL_LEVEL: '1',
};

const CPPCHECK =
  'cppcheck --quiet --error-exitcode=1 --enable=warning,portability --suppress=normalCheckLevelMaxBranches -Iinclude src test/c';
/* All that is explored besides the mutex: verify/CMakeLists.txt. */
const FAMILY = ['barrier', 'cond', 'counter', 'event', 'once', 'rmutex', 'rwlock', 'sem', 'waitgroup'];
/* What is inlined, and explored as it stands in a header. */
const HEADERS = readdirSync('verify').flatMap((file) => (file.endsWith('.h.mutants') ? [file.replace('.mutants', '')] : []));
const RUNTIMES = ['node18', 'node20', 'node22', 'node24', 'node26', 'deno', 'bun'];
/** Where the suite is run in the rarer modes of test/js/modes.js, too: `node test/js/run.js` runs all of them everywhere. */
const MODES = { node18: ',polling', node24: ',unhealed', bun: ',unhealed' };
/** What a suite in a browser needs, by the browser's name in test/browsers. */
const BROWSERS = { chromium: 'chromium', firefox: 'firefox-esr', webkit: 'WebKitWebDriver' };
const WEAK_MEMORY = ['mutex', 'barrier', 'cond', 'counter', 'event', 'once', 'rmutex', 'rwlock', 'sem', 'waitgroup'];

/**
 * A shell command each; `needs` is a program without which it is left out; one that is `single` uses about one CPU, and runs beside
 * another.
 */
const suites = [
  { group: 'lint', name: 'C formatting', run: `clang-format --dry-run --Werror $(${C_FILES})` },
  { group: 'lint', name: 'C analysis', run: CPPCHECK },
  { group: 'lint', name: 'JavaScript formatting', run: 'prettier --check .' },
  { group: 'lint', name: 'JavaScript types', run: 'tsc -p js/tsconfig.json --noEmit' },
  { group: 'lint', name: "the benchmark's page is what its figures say", run: 'node bench/docs.js --check' },
  { group: 'format', name: 'C', run: `clang-format -i $(${C_FILES})` },
  { group: 'format', name: 'JavaScript', run: 'prettier --write .' },
  { group: 'gcc', name: 'build', run: build('gcc') },
  { group: 'gcc', name: 'C tests', run: 'ctest --preset gcc --verbose' },
  { group: 'verify', name: 'build', run: build('gcc') },
  { group: 'verify', name: 'every interleaving, with small constants', run: 'build/gcc/verify/explore-mutex-small', single: true },
  { group: 'verify', name: 'every interleaving, as shipped', run: 'build/gcc/verify/explore-mutex', single: true },
  ...FAMILY.map((name) => ({
    group: 'verify',
    name: `every interleaving: ${name}`,
    run: `build/gcc/verify/explore-${name}`,
    single: true,
  })),
  { group: 'verify', name: "the mutex's mutants, killed by the explorer", run: 'node verify/mutants.js --mortal mutex' },
  { group: 'verify', name: "the family's mutants", run: `node verify/mutants.js --mortal successors waiters ${FAMILY.join(' ')}` },
  { group: 'verify', name: 'mutants of what the headers inline', run: `node verify/mutants.js --mortal ${HEADERS.join(' ')}` },
  ...WEAK_MEMORY.map((name) => ({
    group: 'verify',
    name: `the ${name} under a weak memory (Relacy)`,
    run: `build/gcc/verify/relacy/relacy-${name}`,
    single: true,
  })),
  { group: 'clang', name: 'build', needs: 'clang', run: build('clang') },
  { group: 'clang', name: 'C tests', needs: 'clang', run: 'ctest --preset clang --verbose' },
  {
    group: 'asan',
    name: 'C tests, sanitizers of addresses and undefined behaviour',
    run: `${build('asan')} && ctest --preset asan --verbose`,
  },
  { group: 'tsan', name: 'C stress, ThreadSanitizer', run: `${build('tsan')} && ctest --preset tsan --verbose` },
  { group: 'install', name: 'the C library, installed and used by others', run: 'test/install/run.sh' },
  { group: 'core', name: 'core.js is what the C core says', run: 'node tools/core/build.js --check', single: true },
  { group: 'core', name: 'the wasm library builds', run: 'node tools/core/wasm.js', single: true },
  {
    group: 'core',
    name: 'the translation does what the C does, and wasm, too',
    run: "mocha 'test/js/core/*.test.js'",
    single: true,
  },
  ...RUNTIMES.map((name) => ({
    group: 'js',
    name: `on ${name}`,
    run: `node test/js/run.js --only ${name} --mode normal${MODES[name] ?? ''}`,
    single: true,
  })),
  ...Object.entries(BROWSERS).map(([name, needs]) => ({
    group: 'js',
    name: `in ${name}`,
    needs,
    run: `node test/js/run.js --only ${name}`,
    single: true,
  })),
  { group: 'examples', name: 'programs that people have, with an import changed', run: 'node test/examples/run.js', single: true },
  { group: 'emscripten', name: 'the C library under emcc', needs: 'emcc', run: 'node test/emscripten/run.js' },
  { group: 'demo', name: 'the demo, on a small tree', run: 'node demo/run.js /usr/include/linux' },
  ...Object.entries(BROWSERS).map(([name, needs]) => ({
    group: 'page',
    name: `the counter page in ${name}`,
    needs,
    run: `BROWSER=${name} mocha test/page/page.test.js`,
  })),
  { group: 'docs', name: 'the samples and links of the documentation', run: 'node test/docs/run.js' },
  { group: 'package', name: 'the npm package, unpacked and used by others', run: 'node test/package/run.js' },
];

function build(preset) {
  return `cmake --preset ${preset} && cmake --build --preset ${preset} -j ${availableParallelism()}`;
}

function isMissing(program) {
  return !env.PATH.split(delimiter).some((dir) => existsSync(join(dir, program)));
}

/** Runs a shell command with its output in a file; answers whether it succeeded. */
function runToFile(command, log) {
  return new Promise((resolve) => {
    const output = createWriteStream(log);
    // A group of its own, so that a test that hangs ends with all its children.
    const child = spawn('sh', ['-c', `( ${command} ) 2>&1`], { env, stdio: ['ignore', 'pipe', 'inherit'], detached: true });
    const timer = setTimeout(() => {
      output.write(`\nStopped after ${LIMIT_MS / 1000} s.\n`);
      process.kill(-child.pid, 'SIGKILL');
    }, LIMIT_MS);
    child.stdout.pipe(output, { end: false });
    if (show) child.stdout.pipe(process.stdout, { end: false });
    child.on('close', (code) => {
      clearTimeout(timer);
      output.end(() => resolve(code === 0));
    });
  });
}

/** The tests that a log counts, in the words of cmocka, mocha, the explorer or the others; one if it counts none. */
function countTests(text, ok) {
  const all = (pattern) => [...text.matchAll(pattern)];
  let passed = 0;
  let failed = 0;
  for (const [, good] of all(/\[ {2}PASSED {2}\] (\d+) test/g)) passed += +good;
  for (const [, bad] of all(/\[ {2}FAILED {2}\] (\d+) test/g)) failed += +bad;
  passed += all(/\d {2}holds$/gm).length;
  failed += all(/\d {2}FAILS$/gm).length;
  for (const [, good, bad] of all(/^(\d+) passed, (\d+) failed$/gm)) {
    passed += +good;
    failed += +bad;
  }
  for (const [, good] of all(/^ {2}(\d+) passing/gm)) passed += +good;
  for (const [, bad] of all(/^ {2}(\d+) failing/gm)) failed += +bad;
  if (!ok && failed === 0) failed = 1;
  if (ok && passed === 0) passed = 1;
  return { passed, failed };
}

/** What a person wants to see of a failed suite's log: from the first error that a compiler or a C test reports, or the end. */
function failingPart(text) {
  const lines = text.trimEnd().split('\n');
  const first = lines.findIndex((line) => /\berror: |\*\*\*Failed|\[ {2}ERROR {3}\]|^not ok|^SUMMARY: /.test(line));
  const start = first < 0 ? lines.length - SHOWN_LINES : first - 3;
  return lines.slice(Math.max(0, start)).slice(0, SHOWN_LINES);
}

function title(suite) {
  return `  ${suite.group.padEnd(8)} ${suite.name.padEnd(56)}`;
}

async function runSuite(suite) {
  if (suite.needs && isMissing(suite.needs)) {
    console.log(`${title(suite)}          left out: ${suite.needs} is not installed`);
    return { passed: 0, failed: 0 };
  }
  if (show) console.log(`\n${title(suite)}\n`);
  else if (process.stdout.isTTY && !suite.single) process.stdout.write(`${title(suite)} …`);
  const log = join(LOGS, `${suite.group}-${suite.name.replace(/\W+/g, '-')}.log`);
  const start = performance.now();
  const ok = await runToFile(suite.run, log);
  const text = readFileSync(log, 'utf8');
  const count = countTests(text, ok);
  const seconds = ((performance.now() - start) / 1000).toFixed(1).padStart(6);
  const verdict = ok ? `${count.passed} passed` : `${count.failed} FAILED`;
  console.log(`${process.stdout.isTTY && !show ? '\r' : ''}${title(suite)} ${seconds} s  ${verdict}`);
  if (!ok && !show) console.log(['', ...failingPart(text), '', `(all of it: ${log})`, ''].map((line) => `    ${line}`).join('\n'));
  return count;
}

mkdirSync(LOGS, { recursive: true });
const { values, positionals: groups } = parseArgs({
  options: { show: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const { show } = values;
const chosen = suites.filter(({ group }) => (groups.length === 0 ? group !== 'format' : groups.includes(group)));
if (chosen.length === 0) throw new Error(`no such group: ${groups.join(', ')}`);
const sum = { passed: 0, failed: 0 };

/** Takes suites from the front of the queue while they fit the lane. */
async function runLane(queue, fits) {
  while (queue.length > 0 && fits(queue[0])) {
    const { passed, failed } = await runSuite(queue.shift());
    sum.passed += passed;
    sum.failed += failed;
  }
}

const isSingle = (suite) => suite.single === true;
while (chosen.length > 0) {
  await runLane(chosen, (suite) => !isSingle(suite));
  await Promise.all(Array.from({ length: LANES }, () => runLane(chosen, isSingle)));
}
if (groups.length === 0) spawnSync(node, ['test/js/matrix.js'], { stdio: 'inherit' });
console.log(`\n${sum.passed} passed, ${sum.failed} failed`);
process.exitCode = sum.failed === 0 ? 0 : 1;
