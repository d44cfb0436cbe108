/**
 * run.js: lockword under emcc: examples/emscripten with Wasm Workers, if this emcc has them, and
 * threads.c with pthreads. Ends with `N passed, N failed`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { build } from '../../tools/core/emscripten.js';
import { list, ROOT } from '../../tools/core/toolchain.js';

const WORK = join(ROOT, 'build/test-emscripten');
const LIMIT_MS = 60_000;

const SOURCES = [
  ...['src', 'src/core', 'src/wasm'].flatMap((folder) =>
    list(folder).map((name) => join(folder, name)),
  ),
  ...['src/wait/wasm.c', 'src/wait/poll.c'],
];

/** A program, what it is built with, the first emcc that has that, and what it prints. */
const PROGRAMS = [
  [
    'test/emscripten/threads.c',
    ['-pthread', '-sPROXY_TO_PTHREAD', '-sEXIT_RUNTIME', '-sPTHREAD_POOL_SIZE=5'],
    [3, 1, 6],
    /^80000, 1 0 1\n$/,
  ],
  [
    'examples/emscripten/program.c',
    ['-sWASM_WORKERS'],
    [3, 1, 8],
    /^a lock that stays held, after 100 ms: 2\ncount: 40100\n$/,
  ],
];

const run = (command, ...args) =>
  execFileSync(command, args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' });
const version = / (\d+)\.(\d+)\.(\d+)/.exec(run('emcc', '--version')).slice(1).map(Number);
const isOlder = (first) => {
  const i = first.findIndex((number, at) => number !== version[at]);
  return i >= 0 && version[i] < first[i];
};

const count = { passed: 0, failed: 0 };
mkdirSync(WORK, { recursive: true });
const library = build(WORK);
for (const [program, flags, first, expected] of PROGRAMS) {
  if (isOlder(first)) {
    console.log(
      `left out: ${program} needs emcc ${first.join('.')}, and this is ${version.join('.')}`,
    );
    continue;
  }
  const output = join(WORK, 'program.cjs');
  let said;
  try {
    run(
      'emcc',
      '-O2',
      ...flags,
      '-Iinclude',
      '-Isrc',
      program,
      ...SOURCES,
      '--js-library',
      library,
      '-o',
      output,
    );
    said = execFileSync(process.execPath, [output], {
      cwd: WORK,
      encoding: 'utf8',
      timeout: LIMIT_MS,
    });
  } catch (error) {
    said = `${error.stderr ?? error.message}`;
  }
  const ok = expected.test(said);
  count[ok ? 'passed' : 'failed']++;
  console.log(`${ok ? 'ok' : 'not ok'}: ${program}${ok ? '' : `\n${said}`}`);
}
console.log(`\n${count.passed} passed, ${count.failed} failed`);
process.exitCode = count.failed === 0 ? 0 : 1;
