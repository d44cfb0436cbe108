/**
 * node examples/one-cell/main.js [--unguarded]
 *
 * Four workers add to one cell of shared memory, each 200 times: 800.
 */
import { Barrier, layout, Mutex } from 'lockword';

import { start } from '../workers.js';
import { report } from './report.js';

const WORKERS = 4;
const TIMES = 200;
const guarded = !globalThis.process?.argv.includes('--unguarded');

/*
 * The same as struct cell in cell.h: a mutex, a barrier at which all workers meet before they
 * begin, and the cell.
 */
const shared = layout({ lock: Mutex, start: Barrier });
const memory = new SharedArrayBuffer(shared.byteLength + 4);
Barrier.init(memory, shared.offsets.start, WORKERS);

const message = { memory, at: 0, times: TIMES, guarded };
const workers = Array.from({ length: WORKERS }, () =>
  start(new URL('./worker.js', import.meta.url), message),
);
await Promise.all(workers.map(({ done }) => done));
report(new Int32Array(memory, shared.byteLength)[0], WORKERS * TIMES, guarded);
