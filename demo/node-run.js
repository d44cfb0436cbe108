/**
 * Counts in one shared WebAssembly.Memory: workers in C, workers in JavaScript, and this very
 * thread, which never blocks.
 */

import fs from 'node:fs';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createHistogram } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { imports } from 'lockword/wasm';
import { bytesOf } from './tree.js';
import { Counter, NO_FILE, Table, TALLY_BYTES } from './wordcount.js';

const PAGE = 65536;
const MAX_PAGES = 65536;
const STACK_BYTES = PAGE;

/** The main thread gives its event loop a turn this often. */
const TURN_MS = 1;
/** How often its lateness is measured. */
const TICK_MS = 5;
const PROGRESS_MS = 50;

/** Hands out what the memory has behind the C module's own data. */
class Layout {
  #end;

  constructor(start) {
    this.#end = start;
  }

  take(bytes) {
    const at = Math.ceil(this.#end / PAGE) * PAGE;
    this.#end = at + bytes;
    return at;
  }

  get pages() {
    return Math.ceil(this.#end / PAGE);
  }
}

/** A memory with an empty table in it, and a region for each C worker. */
function prepare(module, { tree, buckets, heapBytes, locking }, workersInC) {
  const memory = new WebAssembly.Memory({ initial: 16, maximum: MAX_PAGES, shared: true });
  const { exports } = new WebAssembly.Instance(module, { env: { memory }, ...imports() });
  const layout = new Layout(exports.__heap_base.value);
  const base = layout.take(Number(exports.wc_size(heapBytes, buckets)));
  const regions = Array.from({ length: workersInC }, () => {
    const textBytes = Math.max(1, tree.largest);
    return {
      stackTop: layout.take(STACK_BYTES) + STACK_BYTES,
      tallyAt: layout.take(TALLY_BYTES),
      textAt: layout.take(textBytes),
      textBytes,
    };
  });
  memory.grow(Math.max(0, layout.pages - memory.buffer.byteLength / PAGE));
  exports.wc_format(base, heapBytes, buckets, tree.files.length, locking);
  return { memory, base, regions, table: new Table(memory.buffer, base) };
}

async function startWorker(workerData) {
  const worker = new Worker(new URL('worker.js', import.meta.url), { workerData });
  await once(worker, 'message');
  return async () => {
    worker.postMessage('go');
    const [result] = await once(worker, 'message');
    return { kind: workerData.region ? 'C as WebAssembly' : 'JavaScript', ...result };
  };
}

/**
 * Measures how late a timer of this thread fires: what a click, a frame or a request would have to
 * wait.
 */
class LatenessMeter {
  #late = createHistogram();
  #last = performance.now();
  #timer = setInterval(() => this.#tick(), TICK_MS);

  #tick() {
    const now = performance.now();
    this.#late.record(Math.max(1, Math.round(1000 * (now - this.#last - TICK_MS))));
    this.#last = now;
  }

  stop() {
    clearInterval(this.#timer);
    return {
      ticks: this.#late.count,
      medianMs: this.#late.percentile(50) / 1000,
      worstMs: this.#late.max / 1000,
    };
  }
}

/** The turns of the main thread's event loop. */
class Pace {
  #since = performance.now();
  #words = 0;

  isTurnOver() {
    return ++this.#words % 16 === 0 && performance.now() - this.#since > TURN_MS;
  }

  async nextTurn() {
    await nextTurn();
    this.#since = performance.now();
  }
}

async function workOnMainThread(memory, table, paths) {
  const counter = new Counter(memory, table);
  const pace = new Pace();
  const done = { files: 0, failed: 0, bytes: 0 };
  for (
    let file = await counter.takeFileAsync();
    file !== NO_FILE;
    file = await counter.takeFileAsync()
  ) {
    const text = await fs.promises.readFile(bytesOf(paths[file])).catch(() => null);
    if (text === null) {
      done.failed++;
      continue;
    }
    await counter.countAsync(text, pace);
    done.files++;
    done.bytes += text.length;
  }
  return { kind: 'main thread', ...done, ...counter.tally };
}

/**
 * @param {WebAssembly.Module} module
 * @param {{ tree: object, buckets: number, heapBytes: number, locking: number }} options
 * @param {number} workers of each kind
 * @param {(filesTaken: number) => void} onProgress
 */
export async function countInNode(module, options, workers, onProgress) {
  const { memory, base, regions, table } = prepare(module, options, workers);
  const paths = options.tree.files.map(({ path }) => path);
  const jobs = [...regions, ...Array(workers)].map((region) => ({
    memory,
    module,
    base,
    paths,
    region,
  }));
  const starts = await Promise.all(jobs.map(startWorker));

  const progress = setInterval(() => onProgress(table.filesTaken), PROGRESS_MS);
  const meter = new LatenessMeter();
  const start = performance.now();
  const agents = await Promise.all([
    ...starts.map((go) => go()),
    workOnMainThread(memory, table, paths),
  ]);
  const seconds = (performance.now() - start) / 1000;
  const lateness = meter.stop();
  clearInterval(progress);
  return {
    seconds,
    agents,
    lateness,
    mutexes: table.stripes,
    words: table.toMap(),
    locksAreZero: table.locksAreZero,
  };
}
