/**
 * interop.build.js: compiles the C of the tests to WebAssembly, once for all runtimes. Needs a
 * modern Node; the tests do not.
 */
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { link } from '../../tools/core/link.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const MODULES = [
  {
    source: 'interop.c',
    output: 'build/test-js/interop.wasm',
    exports: [
      'interop_add',
      'interop_lock',
      'interop_trylock',
      'interop_lock_for',
      'interop_unlock',
    ],
  },
  {
    source: 'family/interop.c',
    output: 'build/test-js/family.wasm',
    exports: [
      'family_offset',
      'family_work',
      'family_produce',
      'family_consume',
      'family_meet',
      'family_time_out',
    ],
  },
  {
    source: 'emscripten/emscripten.c',
    output: 'build/test-js/emscripten.wasm',
    exports: [
      ...[
        'the_lock',
        'the_semaphore',
        'the_condvar',
        'the_count',
        'the_consumed',
        'make_again',
        'assign_again',
      ],
      ...['count', 'count_async', 'produce', 'consume', 'consume_async'],
      ...[
        'lock_try_acquire',
        'lock_wait_acquire',
        'lock_busyspin_wait_acquire',
        'lock_waitinf_acquire',
      ],
      ...['lock_busyspin_waitinf_acquire', 'lock_release', 'lock_async_acquire'],
      ...[
        'semaphore_try_acquire',
        'semaphore_wait_acquire',
        'semaphore_waitinf_acquire',
        'semaphore_release',
        'semaphore_async_acquire',
      ],
      ...[
        'condvar_waitinf',
        'condvar_wait',
        'condvar_wait_async',
        'condvar_signal',
        'cancel',
        'cancel_all',
        'cancel_all_at',
      ],
    ],
  },
].map(({ source, output, exports }) => ({
  source: fileURLToPath(new URL(source, import.meta.url)),
  output: join(root, output),
  exports,
}));

const changed = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function isUpToDate({ source, output }) {
  const folders = ['include', 'src', 'tools/core'].map((name) => join(root, name));
  const inputs = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true }).map((name) => join(folder, name)),
  );
  return [...inputs, source].every((input) => changed(input) < changed(output));
}

/** Writes each module unless it is there and nothing that it is made of has changed since. */
export async function buildInterop() {
  for (const { source, output, exports } of MODULES.filter((module) => !isUpToDate(module))) {
    const module = await link([source], { exports });
    mkdirSync(dirname(output), { recursive: true });
    writeFileSync(output, module);
  }
}
