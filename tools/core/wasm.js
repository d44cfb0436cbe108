/**
 * node tools/core/wasm.js [FOLDER]
 *
 * Builds liblockword.a for wasm32, for C and C++ programs that share a WebAssembly.Memory; in build/wasm, or in the folder. Any clang with wasm-ld can link it:
 * it needs no C library.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { CFLAGS, clang, headers, list, llvm, ROOT, tree } from './toolchain.js';

const ARCHIVE = 'liblockword.a';
const FOLDER = join(ROOT, 'build/wasm');

/** Everything but the other platforms' ways of waiting. */
const SOURCES = [
  ...['', 'core/', 'wasm/'].flatMap((folder) => list(`src/${folder}`).map((name) => `${folder}${name}`)),
  ...['wait/poll.c', 'wait/wasm.c'],
];

/** Builds the archive and answers its path. */
export async function build(folder = FOLDER) {
  const objects = {};
  for (const source of SOURCES) {
    const object = source.replace('/', '-').replace(/\.c$/, '.o');
    const { files } = await clang([...CFLAGS, '-Isrc', '-c', '-o', object, `src/${source}`], {
      ...headers(),
      src: tree(join(ROOT, 'src')),
    });
    objects[object] = files[object];
  }
  const { files } = await llvm(['ar', 'rcsD', ARCHIVE, ...Object.keys(objects)], objects);
  mkdirSync(folder, { recursive: true });
  // In one step, for others may be building or reading it, too.
  const [path, part] = [ARCHIVE, `${ARCHIVE}.${process.pid}`].map((name) => join(folder, name));
  writeFileSync(part, files[ARCHIVE]);
  renameSync(part, path);
  return path;
}

/** The archive's bytes, from build/wasm; built anew if anything that it is made of has changed. */
export async function archive() {
  const path = join(FOLDER, ARCHIVE);
  const built = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const inputs = ['include', 'src', 'tools/core'].flatMap((folder) => {
    return readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(ROOT, folder, name));
  });
  if (inputs.some((input) => statSync(input).mtimeMs > built)) await build();
  return readFileSync(path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = await build(resolve(process.argv[2] ?? FOLDER));
  console.log(`${path}: ${statSync(path).size} bytes`);
}
