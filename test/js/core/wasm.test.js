/** The wasm library: small, for any clang, and on the same words as JavaScript. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { mutexFree, mutexTake } from '../../../js/src/core/mutex.js';
import { link } from '../../../tools/core/link.js';
import { llvm, ROOT } from '../../../tools/core/toolchain.js';
import { archive, build } from '../../../tools/core/wasm.js';

const SELF = 0x10000005;
const STRANGER = 0x10000006;
const SOURCE = fileURLToPath(new URL('wasm.c', import.meta.url));

/** errors.h, where there is no C library. */
const [EPERM, EBUSY, EDEADLK, ETIMEDOUT] = [1, 16, 35, 110];

function instantiate(wasm) {
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 16, shared: true });
  const lockword = { self: () => SELF, now: () => performance.now() };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm), {
    env: { memory },
    lockword,
  });
  return { ...exports, heap: new Int32Array(memory.buffer) };
}

/** clang and wasm-ld as Debian has them. */
function linkWithSystem(folder, library) {
  const [object, output] = ['object.o', 'out.wasm'].map((name) => join(folder, name));
  const flags = [
    '--target=wasm32',
    '-matomics',
    '-mbulk-memory',
    '-O2',
    '-ffreestanding',
    `-I${join(ROOT, 'include')}`,
  ];
  execFileSync('clang', [...flags, '-c', SOURCE, '-o', object]);
  const layout = [
    '--no-entry',
    '--import-memory',
    '--shared-memory',
    '--max-memory=1048576',
    '--export=count',
    '--export=__stack_pointer',
  ];
  execFileSync('wasm-ld', [...layout, object, library, '-o', output]);
  return readFileSync(output);
}

const isMissing = (program) => spawnSync(program, ['--version']).error !== undefined;

describe('the wasm library', function () {
  this.timeout(120_000);

  it('makes a program that uses the mutex no larger than 8 kB', async () =>
    assert.ok((await link([SOURCE], { exports: ['count'] })).length < 8192));

  it('has what the headers declare, also what they inline, as symbols, for other languages', async () => {
    const declared = execFileSync(
      join(ROOT, 'test/install/declared.sh'),
      [join(ROOT, 'include'), 'loop\\|region\\|core/robust'],
      {
        encoding: 'utf8',
      },
    );
    const { stdout } = await llvm(['nm', '--defined-only', 'liblockword.a'], {
      'liblockword.a': await archive(),
    });
    const defined = new Set([...stdout.matchAll(/ [A-Z] (lw_\w+)$/gm)].map(([, name]) => name));
    assert.deepEqual(
      declared.split('\n').filter((name) => name && !defined.has(name)),
      [],
    );
  });

  const toolchains = [
    { name: "npm's clang", load: () => link([SOURCE], { exports: ['count'] }) },
    {
      name: "the system's clang",
      needs: ['clang', 'wasm-ld'],
      load: async (folder) => linkWithSystem(folder, await build()),
    },
  ];

  for (const { name, needs = [], load } of toolchains) {
    describe(`linked with ${name}`, () => {
      let c;
      let mutex;

      before(async function () {
        if (needs.some(isMissing)) this.skip();
        const folder = mkdtempSync(join(tmpdir(), 'lockword-'));
        try {
          c = instantiate(await load(folder));
        } finally {
          rmSync(folder, { recursive: true });
        }
        mutex = c.mutex();
      });

      it('locks and unlocks', () => {
        assert.equal(c.count(1000), 1000);
        assert.equal(c.heap[mutex / 4], 0);
      });

      it('takes what JavaScript leaves, and leaves what JavaScript takes', () => {
        const words = c.heap.subarray(mutex / 4);
        assert.ok(mutexTake(words, STRANGER));
        assert.equal(c.trylock(), EBUSY);
        assert.equal(c.unlock(), EPERM);
        assert.equal(c.lock(5n), ETIMEDOUT);
        c.heap[mutex / 4] = 0;
        assert.equal(c.lock(5n), 0);
        assert.ok(!mutexTake(words, STRANGER));
        assert.ok(mutexFree(words, SELF));
      });

      it('knows who asks', () => {
        assert.equal(c.lock(5n), 0);
        assert.equal(c.lock(5n), EDEADLK);
        assert.equal(c.unlock(), 0);
        assert.equal(c.unlock(), EPERM);
      });

      it('lets every instance have its own stack', () =>
        assert.equal(typeof c.__stack_pointer.value, 'number'));
    });
  }
});
