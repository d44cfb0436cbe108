/**
 * node tools/core/wasm.js [FOLDER]
 *
 * Builds liblockword.a for wasm32, for C and C++ programs that share a WebAssembly.Memory; in
 * build/wasm, or in the folder. Any clang with wasm-ld can link it: it needs no C library.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { CFLAGS, clang, headers, list, llvm, ROOT, tree } from './toolchain.js';

const ARCHIVE = 'liblockword.a';
const FOLDER = join(ROOT, 'build/wasm');

/**
 * The archive's members and what they are made of: everything but the other platforms' ways of
 * waiting. What files have in common is in their member once; a program that is linked with it
 * takes only the functions that it uses.
 */
const MEMBERS = {
  'lockword.o': [
    ...list('src').filter((name) => !['describe.c', 'symbols.c'].includes(name)),
    // The robust mutex is for regions, which C has on Linux only.
    ...list('src/core')
      .filter((name) => name !== 'robust.c')
      .map((name) => `core/${name}`),
    ...['wait/poll.c', 'wait/wasm.c'],
  ],
  'describe.o': ['describe.c'],
  'symbols.o': ['symbols.c'],
  'emscripten.o': list('src/wasm').map((name) => `wasm/${name}`),
};

async function member(name) {
  const objects = {};
  for (const source of MEMBERS[name]) {
    const object = source.replace('/', '-').replace(/\.c$/, '.o');
    // Without a note of the compiler's version in each.
    const { files } = await clang(
      [...CFLAGS, '-Qn', '-Isrc', '-c', '-o', object, `src/${source}`],
      {
        ...headers(),
        src: tree(join(ROOT, 'src')),
      },
    );
    objects[object] = files[object];
  }
  // Not --strip-all: that drops the features as well, and other linkers then refuse what shared
  // memory needs.
  const { files } = await llvm(
    ['wasm-ld', '-r', '--strip-debug', '-o', name, ...Object.keys(objects)],
    objects,
  );
  return files[name];
}

/** Builds the archive and returns its path. */
export async function build(folder = FOLDER) {
  const members = {};
  for (const name of Object.keys(MEMBERS)) members[name] = await member(name);
  const { files } = await llvm(['ar', 'rcsD', ARCHIVE, ...Object.keys(members)], members);
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
    return readdirSync(join(ROOT, folder), { recursive: true }).map((name) =>
      join(ROOT, folder, name),
    );
  });
  if (inputs.some((input) => statSync(input).mtimeMs > built)) await build();
  return readFileSync(path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = await build(resolve(process.argv[2] ?? FOLDER));
  console.log(`${path}: ${statSync(path).size} bytes`);
}
