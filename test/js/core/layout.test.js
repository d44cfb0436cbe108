/**
 * docs/layout.md has the list of the primitives. JavaScript's sizes are the ones that it says
 * (test/c/layout.c compares C's), and nothing that belongs to a primitive is missing:
 * CONTRIBUTING.md, 'Adding a primitive'.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { nameInC, primitives, read, ROOT } from '../../../tools/core/toolchain.js';
import { PRIMITIVES } from '../primitives.js';

/** What its table says: [name in C, bytes, alignment]. */
const ROWS = [...read('docs/layout.md').matchAll(/^\| `(\w+)` \| (\d+) \| (\d+) \|$/gm)].map(
  ([, name, ...numbers]) => [name, ...numbers.map(Number)],
);

const FILES = [
  (name) => `include/lockword/core/${name}.h`,
  (name) => `include/lockword/${name}.h`,
  (name) => `src/${name}.c`,
  (name) => `verify/${name}.c`,
  (name) => `verify/relacy/${name}.cpp`,
  (name) => `test/c/${name}.c`,
];

/** Where each primitive has its row. */
const LISTS = {
  'include/lockword/lockword.h': (name) => `#include <lockword/${name}.h>`,
  'include/lockword/describe.h': (name) => `lw_${name}_describe(`,
  'README.md': (name) => `[\`lw_${name}\`](include/lockword/${name}.h)`,
};

describe('docs/layout.md', () => {
  it('lists the primitives of src/core', () => {
    // What all of them share; and what has no class of its own: regions' mutexes.
    const others = ['robust', 'waiters'];
    const cores = primitives().filter((name) => !others.includes(name));
    assert.deepEqual(ROWS.map(([name]) => name).sort(), cores);
  });

  it('says what the classes say', () => {
    const classes = PRIMITIVES.map(({ type, BYTE_LENGTH, ALIGN }) => [
      nameInC(type),
      BYTE_LENGTH,
      ALIGN,
    ]);
    assert.deepEqual(classes.sort(), [...ROWS].sort());
  });

  for (const [name] of ROWS) {
    it(`the ${name} has all its files and rows`, () => {
      const files = FILES.map((path) => path(name)).filter((path) => !existsSync(join(ROOT, path)));
      const rows = Object.keys(LISTS).filter((path) => !read(path).includes(LISTS[path](name)));
      assert.deepEqual([...files, ...rows], []);
    });
  }
});
