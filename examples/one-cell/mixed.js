/**
 * node tools/core/link.js build/cell.wasm examples/one-cell/cell.c --export=add node
 * examples/one-cell/mixed.js build/cell.wasm [--unguarded]
 *
 * Four workers add to one cell, each 200 times: 800. Two of them run C, compiled to WebAssembly,
 * and two JavaScript, the worker.js of main.js. They take the same mutex. The memory is the
 * module's.
 */
import { readFile } from 'node:fs/promises';
import process from 'node:process';

import { Barrier, layout, Mutex } from 'lockword';

import { start } from '../workers.js';
import { report } from './report.js';

const EACH = 2;
const TIMES = 200;
const PAGE = 65536;
const guarded = !process.argv.includes('--unguarded');

const module = await WebAssembly.compile(await readFile(process.argv[2]));
/*
 * The module's own data and stack are in the first pages; then comes a stack for each C worker, and
 * then the cell.
 */
const FIRST_STACK = 2 * PAGE;
const at = FIRST_STACK + EACH * PAGE;
const memory = new WebAssembly.Memory({ initial: at / PAGE + 1, maximum: PAGE, shared: true });
const shared = layout({ lock: Mutex, start: Barrier });
Barrier.init(memory, at + shared.offsets.start, 2 * EACH);

const message = { memory: memory.buffer, at, times: TIMES, guarded };
const inJavaScript = () => start(new URL('./worker.js', import.meta.url), message);
const inC = (_, i) =>
  start(new URL('./wasm-worker.js', import.meta.url), {
    ...message,
    memory,
    module,
    stackTop: FIRST_STACK + (i + 1) * PAGE,
  });
const workers = [
  ...Array.from({ length: EACH }, inC),
  ...Array.from({ length: EACH }, inJavaScript),
];
await Promise.all(workers.map(({ done }) => done));
report(new Int32Array(memory.buffer, at + shared.byteLength)[0], 2 * EACH * TIMES, guarded);
