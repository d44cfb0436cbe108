/**
 * node tools/core/build.js [--check]
 *
 * Prints the C core as JavaScript: js/src/core/NAME.js for each src/core/NAME.c, and constants.js.
 * --check writes nothing and fails, with a diff, where a file is not what the C core says.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { format, resolveConfig } from 'prettier';

import { Printer } from './print.js';
import { definition } from './source.js';
import { clang, headers, primitives, read, ROOT } from './toolchain.js';

const DRIVERS = join(ROOT, 'js/src');
const TARGET = join(DRIVERS, 'core');

const FLAGS = [
  '--target=wasm32',
  '-std=c11',
  '-ffreestanding',
  '-Iinclude',
  '-fsyntax-only',
  '-Xclang',
  '-ast-dump=json',
];

const CONSTANTS = `/*
 * The constants of the C core: include/lockword/core explains them. Those that no JavaScript reads
 * are left out. This file imports nothing, so that bundlers put in their values. Printed by \`make
 * core\`: do not edit.
 */

`;

/** All words of the drivers: what they read is among them. */
function wordsOfDrivers() {
  const names = readdirSync(DRIVERS).filter((name) => name.endsWith('.js'));
  return new Set(names.flatMap((name) => readFileSync(join(DRIVERS, name), 'utf8').match(/\w+/g)));
}

/** What clang dumps of a file of the core. */
async function dump(name) {
  const files = { ...headers(), 'core.c': read(`src/core/${name}.c`) };
  const { stdout } = await clang([...FLAGS, 'core.c'], files, name);
  return JSON.parse(stdout);
}

/** @returns {Promise<Printer[]>} one for each primitive */
export async function printers() {
  const words = wordsOfDrivers();
  const names = primitives();
  const found = [];
  for (const name of names)
    found.push(new Printer(name, await dump(name), names, (word) => words.has(word)));
  return found;
}

/** @returns {Promise<Map<string, string>>} the files of js/src/core */
async function generate() {
  const options = { ...(await resolveConfig(join(TARGET, 'constants.js'))), parser: 'babel' };
  const files = new Map();
  const constants = new Map();
  for (const printer of await printers()) {
    files.set(`${printer.name}.js`, await format(printer.print(), options));
    for (const [name, constant] of printer.publicConstants) constants.set(name, constant);
  }
  const lines = [...constants].map(([name, constant]) => `export ${definition(name, constant)}`);
  return files.set('constants.js', await format(CONSTANTS + lines.join('\n'), options));
}

async function main() {
  const files = await generate();
  const isCheck = process.argv.includes('--check');
  mkdirSync(TARGET, { recursive: true });
  const strangers = readdirSync(TARGET).filter((name) => !files.has(name));
  if (!isCheck) {
    for (const name of strangers) rmSync(join(TARGET, name));
    for (const [name, source] of files) writeFileSync(join(TARGET, name), source);
    return;
  }
  const differ = ([name, input]) => {
    return (
      spawnSync('diff', ['-uN', join(TARGET, name), '-'], {
        input,
        stdio: ['pipe', 'inherit', 'inherit'],
      }).status !== 0
    );
  };
  const wrong = [...strangers, ...[...files].filter(differ).map(([name]) => name)];
  if (wrong.length === 0) return;
  process.exitCode = 1;
  console.error(`js/src/core/{${wrong.join()}} is not what src/core says: run make core`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
