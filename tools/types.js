/**
 * types.js: mends js/types, which `npm run types` has tsc write. tsc makes a type of its own of each
 * typedef that only names another module's: `export type Guard = import('./guard.js').Guard`. But
 * what a user's program infers is the class of guard.js, which no entry exports then. A compiler
 * that has to write the type down, with `declaration`, refuses: TS2742. So they become exports.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** @param {string} text of a .d.ts file */
export const withExports = (text) =>
  text.replace(
    /^export type (\w+)(?:<.*>)? = import\(('.*')\)\.(\w+)(?:<.*>)?;$/gm,
    'import type { $3 as $1 } from $2;\nexport type { $1 };',
  );

const here = fileURLToPath(import.meta.url);
if (resolve(process.argv[1]) === here) {
  const folder = join(here, '../../js/types');
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.d.ts'))) {
    const file = join(folder, name);
    writeFileSync(file, withExports(readFileSync(file, 'utf8')));
  }
}
