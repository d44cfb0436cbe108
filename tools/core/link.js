/**
 * node tools/core/link.js OUT.wasm FILE.c… [--export=NAME…] [-IFOLDER…] [-DNAME…]
 *
 * Compiles C files that use lockword, and links them to a module for many workers: memory is
 * imported and shared, there is no entry, and `__stack_pointer` is exported, for each instance but
 * one must be given a stack of its own. `__heap_base`, exported too, tells where memory begins that
 * the module does not use. Besides `env.memory`, a module imports what src/wait/wasm.c names.
 */
import { writeFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { CFLAGS, clang, headers, llvm, tree } from './toolchain.js';
import { archive } from './wasm.js';

/** The import must not promise less than a user's memory may grow to: 4 GiB. */
const LAYOUT = [
  '--no-entry',
  '--import-memory',
  '--shared-memory',
  '--max-memory=4294967296',
  '-z',
  'stack-size=65536',
];
const GLOBALS = ['--export=__stack_pointer', '--export=__heap_base', '--export-table'];

/**
 * @param {string[]} sources paths of C files, with distinct names
 * @param {{ exports?: string[], include?: string[], flags?: string[] }} [options] names of
 *   functions, folders, more flags for the compiler
 * @returns {Promise<Uint8Array>} the module
 */
export async function link(sources, { exports = [], include = [], flags = [] } = {}) {
  const folders = Object.fromEntries(include.map((folder, i) => [`include${i}`, tree(folder)]));
  const searched = Object.keys(folders).map((folder) => `-I${folder}`);
  const objects = { 'liblockword.a': await archive() };
  for (const source of sources) {
    const [name, object] = [basename(source), `${basename(source)}.o`];
    const args = [...CFLAGS, '-O2', ...searched, ...flags, '-c', '-o', object, `source/${name}`];
    const { files } = await clang(args, {
      ...headers(),
      ...folders,
      source: tree(dirname(source)),
    });
    objects[object] = files[object];
  }
  const named = exports.map((name) => `--export=${name}`);
  // wasm-ld itself: clang would run wasm-opt after it where there is one, and src/wait/wasm.c does
  // not survive that.
  const args = [
    'wasm-ld',
    ...LAYOUT,
    ...GLOBALS,
    ...named,
    '-o',
    'out.wasm',
    ...Object.keys(objects).reverse(),
  ];
  const { files } = await llvm(args, objects);
  return files['out.wasm'];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [output, ...args] = process.argv.slice(2);
  const valuesOf = (option) =>
    args.filter((arg) => arg.startsWith(option)).map((arg) => arg.slice(option.length));
  const sources = args.filter((arg) => !arg.startsWith('-')).map((source) => resolve(source));
  const flags = args.filter((arg) => arg.startsWith('-D'));
  writeFileSync(
    output,
    await link(sources, { exports: valuesOf('--export='), include: valuesOf('-I'), flags }),
  );
}
