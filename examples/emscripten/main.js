/**
 * node tools/core/link.js build/program.wasm examples/emscripten/program.c --export=begin
 * --export=work node examples/emscripten/main.js build/program.wasm
 *
 * Starts the program's workers, as emcc's JavaScript does by itself, and takes part without
 * blocking.
 */
import { readFile } from 'node:fs/promises';
import process from 'node:process';

import { start } from '../workers.js';
import { instantiate } from './instance.js';

const WORKERS = 2;
const PAGE = 65536;

const module = await WebAssembly.compile(await readFile(process.argv[2]));
/* The module's own data and stack are in the first pages; then comes a stack for each worker. */
const memory = new WebAssembly.Memory({ initial: 2 + WORKERS, maximum: PAGE, shared: true });
const program = await instantiate(module, memory, console.log);
program.begin();
for (let i = 1; i <= WORKERS; i++) {
  start(new URL('./worker.js', import.meta.url), { module, memory, stackTop: (2 + i) * PAGE });
}
