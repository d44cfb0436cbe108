/**
 * node demo/run.js [--threads=N] [--workers=N] [--build=FOLDER] [TREE]
 *
 * Counts every C identifier in every file under TREE (/usr/include) in one hash table guarded by
 * lockword mutexes: (a) with native threads and an event loop, (b) in Node with C, JavaScript and
 * the main thread together, (c) both without locks, and (d) with processes that are killed. Ends
 * with 1 if (a), (b) or (d) is not exact.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildModule, buildNative } from './build.js';
import { countNatively } from './native-run.js';
import { countInNode } from './node-run.js';
import { countInProcesses } from './process-run.js';
import { countPlainly } from './reference.js';
import * as report from './report.js';
import { bad, withBar } from './terminal.js';
import { survey } from './tree.js';

/**
 * More threads than processors: some lose theirs in the middle of a locked section, which is when
 * locks are put to the test.
 */
const PROCESSORS = os.availableParallelism();
const THREADS = Math.max(4, PROCESSORS);
const WORKERS = Math.max(2, Math.ceil(PROCESSORS / 2));

/**
 * Four bytes of room for each of source hold even a text of short words that never repeat. Memory
 * that no word comes to costs nothing.
 */
const HEAP_PER_BYTE = 4;
const MIN_HEAP_BYTES = 2 ** 24;
const MAX_HEAP_BYTES = 2 ** 30;
/** One chain for so much source makes chains of a word or two. */
const BYTES_PER_BUCKET = 512;
const MIN_BUCKETS = 2 ** 10;
const MAX_BUCKETS = 2 ** 22;

const clamp = (n, low, high) => Math.min(Math.max(n, low), high);

function tableFor({ bytes }) {
  return {
    buckets: 2 ** Math.ceil(Math.log2(clamp(bytes / BYTES_PER_BUCKET, MIN_BUCKETS, MAX_BUCKETS))),
    heapBytes: clamp(HEAP_PER_BYTE * bytes, MIN_HEAP_BYTES, MAX_HEAP_BYTES),
  };
}

function readOptions() {
  const { values, positionals } = parseArgs({
    options: {
      threads: { type: 'string' },
      workers: { type: 'string' },
      build: { type: 'string' },
    },
    allowPositionals: true,
  });
  const number = (name, standard) => {
    const n = Number(values[name] ?? standard);
    if (!Number.isInteger(n) || n < 1) throw new Error(`--${name} must be a positive integer`);
    return n;
  };
  return {
    root: positionals[0] ?? '/usr/include',
    threads: number('threads', THREADS),
    workers: number('workers', WORKERS),
    build: values.build,
  };
}

/** The ways of counting a tree, each behind a progress bar. */
function waysToCount(tree, { threads, workers }, programs, module, scratch) {
  const table = { tree, ...tableFor(tree) };
  return {
    plainly: () =>
      withBar('one thread', tree.files, (onProgress) => countPlainly(tree.files, onProgress)),
    natively: (locking) =>
      withBar('C', tree.files, (onProgress) =>
        countNatively(programs.threads, scratch, { ...table, locking }, threads, onProgress),
      ),
    inNode: (locking) =>
      withBar('Node', tree.files, (onProgress) =>
        countInNode(module, { ...table, locking }, workers, onProgress),
      ),
    inProcesses: () =>
      withBar('processes', tree.files, (onProgress) =>
        countInProcesses(programs.processes, scratch, table, threads, onProgress),
      ),
  };
}

/** @returns {Promise<boolean>} whether (a), (b) and (d) are exact */
async function demonstrate(scratch) {
  const options = readOptions();
  report.sayTitle();
  const tree = survey(options.root);
  report.sayTree(tree);
  const count = waysToCount(
    tree,
    options,
    buildNative(options.build),
    await buildModule(),
    scratch,
  );

  const reference = { tree, ...(await count.plainly()) };
  report.sayReference(reference);
  const native = await count.natively(1);
  const a = report.sayLocked(
    `(a) ${options.threads} C threads and a C event loop, one table`,
    reference,
    native,
  );
  const node = await count.inNode(1);
  const b = report.sayLocked(
    '(b) Node, one shared memory: C as WebAssembly, JavaScript and the main thread',
    reference,
    node,
  );

  const unlocked = { native: await count.natively(0), node: await count.inNode(0) };
  report.sayLateness('The event loop of (a)', native.lateness, unlocked.native.lateness);
  report.sayLateness('The main thread of (b)', node.lateness, unlocked.node.lateness);
  report.sayLosses(reference, unlocked.native, unlocked.node);
  const killed = await count.inProcesses();
  const d = report.sayKilled(
    `(d) ${options.threads} C processes, one table in a file, and kill -9`,
    reference,
    killed,
  );
  report.sayTop(reference);
  if (a && b && d) report.sayMeaning(reference, native, node);
  return a && b && d;
}

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'lockword-demo-'));
process.on('exit', () => fs.rmSync(scratch, { recursive: true, force: true }));
try {
  process.exitCode = (await demonstrate(scratch)) ? 0 : 1;
} catch (error) {
  console.error(bad(`demo: ${error.message}`));
  // At once: workers may be waiting for a lock that one of them took with it.
  process.exit(2);
}
