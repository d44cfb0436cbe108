/** lockword/describe.h and lockword/inspect say the same of the same words. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';

import '../../../js/src/inspect.js';
import { imports } from '../../../js/src/wasm.js';
import { link } from '../../../tools/core/link.js';
import { nameInC } from '../../../tools/core/toolchain.js';
import { PRIMITIVES } from '../primitives.js';

const SOURCE = fileURLToPath(new URL('describe.c', import.meta.url));
const { self } = imports().lockword;

/** Numbers that mean something to one primitive or other; each bit on its own comes on top. */
const NUMBERS = [0, 1, 2, 3, 4711, 0xfff, 0x3fffff, 0xffffff, 0x1a2b3c4d, self()];
const BITS = Array.from({ length: 32 }, (_, bit) => 2 ** bit);
const STATES = NUMBERS.flatMap((number) =>
  [0, ...BITS].flatMap((bit) => [0, 0x80000000, 0xe0000000].map((flags) => number | bit | flags)),
);
/** What a last word holds: an owner, a depth, parties. */
const OTHERS = [0, 1, 2, 0xfff, 0x1a2b3c4d, self()];
const DEPTHS = [0x7fffffff, 0x80000000, 0x80000001, 0xffffffff];

describe('C and JavaScript describe', function () {
  this.timeout(550_000);
  let c;
  let words;

  before(async () => {
    const functions = PRIMITIVES.map((Class) => `lw_${nameInC(Class.type)}_describe`);
    const wasm = await link([SOURCE], { exports: ['words', 'text', ...functions] });
    const memory = new WebAssembly.Memory({ initial: 2, maximum: 65536, shared: true });
    const { instance } = await WebAssembly.instantiate(wasm, { env: { memory }, ...imports() });
    c = { ...instance.exports, memory };
    words = new Int32Array(memory.buffer, c.words.value, 5);
  });

  function said(name, size) {
    const length = c[`lw_${name}_describe`](c.words.value, c.text.value, size);
    const bytes = new Uint8Array(c.memory.buffer, c.text.value, size).slice();
    return { length, text: String.fromCharCode(...bytes.subarray(0, bytes.indexOf(0))) };
  }

  for (const Class of PRIMITIVES) {
    const name = nameInC(Class.type);
    it(`a ${name} in the same words`, () => {
      const primitive = new Class(c.memory, c.words.value);
      for (const other of name === 'rmutex' ? [...OTHERS, ...DEPTHS] : OTHERS) {
        words.fill(other, 3); // of permits, the first one's owner; a recursive mutex's holder
        for (const state of STATES) {
          words.set(name === 'cond' ? [other, state, 0] : [state, 0, other]);
          const text = String(primitive);
          assert.deepEqual(said(name, 200), { length: text.length, text });
        }
      }
    });
  }
});
