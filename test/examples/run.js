/**
 * run.js [--only node22,deno]: every example that is a program prints what its README says, on the
 * oldest Node, the pinned one, Deno and Bun; those that show what is wrong without lockword, on
 * one. Ends with `N passed, N failed`.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

import { link } from '../../tools/core/link.js';
import { install, RUNTIMES } from '../js/runtimes.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MODULE = 'build/test-examples/cell.wasm';
const EMSCRIPTEN = 'build/test-examples/emscripten.wasm';
const LIMIT_MS = 60_000;

/** How many run at once: they sleep most of the time. */
const LANES = 3;

/** Where what is wrong is shown. */
const SHOWN_ON = 'node24';

const ALL = /^800 of 800\n$/;
const LOST = /^\d+ of 800: \d+ lost\n$/;

/** A program, its arguments, and what it must print. */
const PROGRAMS = [
  ['one-cell/main.js', [], ALL],
  ['one-cell/main.js', ['--unguarded'], LOST],
  ['one-cell/mixed.js', [MODULE], ALL],
  ['one-cell/mixed.js', [MODULE, '--unguarded'], LOST],
  [
    'better-mutex/program.js',
    ['usual'],
    /returns false\nB still sleeps after 1000 ms; the mutex is free\n$/,
  ],
  ['better-mutex/program.js', ['lockword'], /returns false\nB has the mutex\n$/],
  [
    'async-lock/program.js',
    ['usual'],
    /cell: 600 of 600\n.*: locked for ever\n.*: 2 at once\n.*: refused, 'not locked'\n.*: accepted\n$/,
  ],
  [
    'async-lock/program.js',
    ['lockword'],
    /cell: 600 of 600\n.*: released\n.*: 1 at once\n.*: refused, 'not held by this thread'\n.*: refused, 'not held by this thread'\n$/,
  ],
  ['emscripten/main.js', [EMSCRIPTEN], /^a lock that stays held, after 100 ms: 2\ncount: 40100\n$/],
  [
    'worker-mutex/program.cjs',
    [],
    /^800 of 800\na worker died inside: the main thread has the mutex\n$/,
  ],
  [
    'worker-mutex/main-thread.js',
    ['usual'],
    /fails: 'held, but 0 times'\n.*has it, and so has the worker\n$/,
  ],
  [
    'worker-mutex/main-thread.js',
    ['lockword'],
    /^.*waits until the worker has unlocked\n.*waits until the worker has unlocked\n$/,
  ],
];

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const chosen = values.only?.split(',') ?? ['node18', SHOWN_ON, 'deno', 'bun'];
const runtimes = install(RUNTIMES.filter(({ name }) => chosen.includes(name)));

mkdirSync(join(ROOT, 'build/test-examples'), { recursive: true });
writeFileSync(
  join(ROOT, MODULE),
  await link([join(ROOT, 'examples/one-cell/cell.c')], { exports: ['add'] }),
);
writeFileSync(
  join(ROOT, EMSCRIPTEN),
  await link([join(ROOT, 'examples/emscripten/program.c')], { exports: ['begin', 'work'] }),
);
await promisify(execFile)(process.execPath, [join(ROOT, 'tools/cjs.js')]);

const count = { passed: 0, failed: 0 };

/** Runs a program once; says so. */
async function run(runtime, program, args, expected) {
  const command = [...runtime.options, join('examples', program), ...args];
  const what = `${runtime.name}: ${[program, ...args].join(' ')}`;
  const output = await promisify(execFile)(runtime.path, command, {
    cwd: ROOT,
    timeout: LIMIT_MS,
  }).catch((error) => error);
  const ok = expected.test(output.stdout) && !output.code;
  count[ok ? 'passed' : 'failed']++;
  console.log(
    ok ? `ok: ${what}` : `not ok: ${what}\n${output.stdout}${output.stderr}${output.message ?? ''}`,
  );
}

const isWrong = ([, args]) => args.includes('usual') || args.includes('--unguarded');
const runOn = (runtime) =>
  PROGRAMS.filter((program) => runtime.name === SHOWN_ON || !isWrong(program));
const queue = runtimes.flatMap((runtime) => runOn(runtime).map((program) => [runtime, ...program]));
const lane = async () => {
  while (queue.length > 0) await run(...queue.shift());
};
await Promise.all(Array.from({ length: LANES }, lane));
console.log(`\n${count.passed} passed, ${count.failed} failed`);
process.exitCode = count.failed === 0 && count.passed > 0 ? 0 : 1;
