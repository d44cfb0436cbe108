/**
 * The C compiler that lockword's JavaScript and WebAssembly are built with: npm's @yowasp/clang, so
 * that the same bytes come out on every machine, and nothing needs to be installed.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Exit, runClang, runLLVM } from '@yowasp/clang';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** How all of lockword is compiled for WebAssembly. */
export const CFLAGS = [
  ...[
    '--target=wasm32',
    '-matomics',
    '-mbulk-memory',
    '-mmutable-globals',
    '-std=c11',
    '-Os',
    '-ffreestanding',
    '-Iinclude',
  ],
  ...['-Wall', '-Wextra', '-Werror'],
];

/** The primitives: every src/core/NAME.c with its include/lockword/core/NAME.h. */
export function primitives() {
  return list('src/core').map((name) => name.replace(/\.c$/, ''));
}

const SHORT = { RecursiveMutex: 'rmutex', Condition: 'cond', Semaphore: 'sem' };

/** The name in C, lw_NAME, of a class in JavaScript. */
export function nameInC(type) {
  return SHORT[type] ?? type.toLowerCase();
}

/** The C files of a folder of the repository, sorted. */
export function list(folder) {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.c'))
    .sort();
}

/** lw_mutex_lock_step is mutexLockStep. */
export function camelCase(name) {
  return name.replace(/^lw_/, '').replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

export function read(path) {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The C sources and headers below a folder, as the compiler wants to see them. */
export function tree(path) {
  const entries = readdirSync(path, { withFileTypes: true })
    .filter((entry) =>
      entry.isDirectory() ? entry.name !== 'node_modules' : /\.[ch]$/.test(entry.name),
    )
    .map(({ name }) => [name, join(path, name)]);
  return Object.fromEntries(
    entries.map(([name, inner]) => [
      name,
      statSync(inner).isDirectory() ? tree(inner) : readFileSync(inner),
    ]),
  );
}

/** lockword's public headers, where -Iinclude finds them. */
export function headers() {
  return { include: tree(join(ROOT, 'include')) };
}

/**
 * Runs clang on the files. Returns the files that exist then, and its output as `stdout`. Throws
 * its error messages.
 *
 * @param {string[]} args
 * @param {object} files
 */
export function clang(args, files) {
  return run(runClang, ['clang', ...args], files);
}

/** The same for LLVM's other tools: ar, wasm-ld, … */
export function llvm(args, files) {
  return run(runLLVM, args, files);
}

async function run(tool, args, files) {
  // Loading the compiler would be reported on stdout.
  await runLLVM(null, {}, { fetchProgress: () => {} });
  const stdout = [];
  const stderr = [];
  const collect = (chunks) => (bytes) => void (bytes && chunks.push(Buffer.from(bytes)));
  try {
    const options = { stdout: collect(stdout), stderr: collect(stderr) };
    return { files: await tool(args, files, options), stdout: Buffer.concat(stdout).toString() };
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    throw new Error(`${args.join(' ')}: exit code ${error.code}\n${Buffer.concat(stderr)}`, {
      cause: error,
    });
  }
}
