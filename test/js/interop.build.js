/** interop.build.js: compiles interop.c to WebAssembly, once for all runtimes. Needs a modern Node; interop.test.js does not. */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { link } from '../../tools/core/link.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = fileURLToPath(new URL('interop.c', import.meta.url));
const output = join(root, 'build/test-js/interop.wasm');
const names = ['interop_add', 'interop_lock', 'interop_trylock', 'interop_lock_for', 'interop_unlock'];

const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function isUpToDate() {
  const folders = ['include', 'src', 'tools/core'].map((name) => join(root, name));
  const inputs = folders.flatMap((folder) => readdirSync(folder, { recursive: true }).map((name) => join(folder, name)));
  return [...inputs, source].every((input) => changed(input) < changed(output));
}

/** Writes build/test-js/interop.wasm unless it is there and nothing that it is made of has changed since. */
export async function buildInterop() {
  if (isUpToDate()) return;
  const module = await link([source], { exports: names });
  mkdirSync(join(root, 'build/test-js'), { recursive: true });
  writeFileSync(output, module);
}
