/**
 * The C compiler that lockword's JavaScript and WebAssembly are built with: npm's @yowasp/clang, so
 * that the same bytes come out on every machine, and nothing needs to be installed.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize, serialize, setFlagsFromString } from 'node:v8';

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
 * Runs clang on the files. Returns the files that it makes, and its output as `stdout`. Throws its
 * error messages.
 *
 * @param {string[]} args
 * @param {object} files
 * @param {string} [name] tells runs apart that have the same arguments
 */
export function clang(args, files, name) {
  return run(runClang, ['clang', ...args], files, name);
}

/** The same for LLVM's other tools: ar, wasm-ld, … */
export function llvm(args, files) {
  return run(runLLVM, args, files);
}

const CACHE = join(ROOT, 'build/core');
const hash = (value) => createHash('sha256').update(serialize(value)).digest('hex');

/**
 * The tools take seconds to load, and then half a second for each file. So what they made is kept,
 * for each list of arguments, until the files or the tools change.
 */
async function run(tool, args, files, name) {
  const kept = join(CACHE, hash([args, name, process.version]));
  const key = hash([args, files, read('node_modules/@yowasp/clang/package.json')]);
  if (existsSync(kept)) {
    const [known, made] = deserialize(readFileSync(kept));
    if (known === key) return made;
  }
  const made = await make(tool, args, files);
  // Two suites may do this at the same time.
  const unfinished = `${kept}.${process.pid}`;
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(unfinished, serialize([key, made]));
  renameSync(unfinished, kept);
  return made;
}

async function make(tool, args, files) {
  // They end before it pays that V8 optimises them. They look for a variable at each call of the
  // system, which a copy answers at once.
  setFlagsFromString('--wasm-tiering-budget=1000000000');
  const { env } = process;
  process.env = { ...env };
  // Loading the compiler would be reported on stdout.
  await runLLVM(null, {}, { fetchProgress: () => {} });
  const stdout = [];
  const stderr = [];
  const collect = (chunks) => (bytes) => void (bytes && chunks.push(Buffer.from(bytes)));
  try {
    const options = { stdout: collect(stdout), stderr: collect(stderr) };
    const all = Object.entries(await tool(args, files, options));
    const noFolders = all.filter(([, file]) => file instanceof Uint8Array);
    return { files: Object.fromEntries(noFolders), stdout: Buffer.concat(stdout).toString() };
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    throw new Error(`${args.join(' ')}: exit code ${error.code}\n${Buffer.concat(stderr)}`, {
      cause: error,
    });
  } finally {
    process.env = env;
    setFlagsFromString('--wasm-tiering-budget=13000000'); // V8's own
  }
}
