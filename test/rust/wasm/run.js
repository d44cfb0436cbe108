/**
 * run.js PROGRAM: a program of Rust in two workers, and JavaScript on a main thread that does not
 * block, count under the same locks.
 */
import { deepStrictEqual, strictEqual } from 'node:assert';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { Event, Mutex, RWLock, Semaphore } from '../../../js/src/index.js';
import { imports } from '../../../js/src/wasm.js';

const TURNS = 20_000;
const STACK_BYTES = 65536;

async function open({ module, memory, stack }) {
  const instance = await WebAssembly.instantiate(module, { env: { memory }, ...imports() });
  if (stack) instance.exports.__stack_pointer.value = stack; // the first has the program's own
  return instance.exports;
}

if (!isMainThread) {
  const program = await open(workerData);
  program.count(TURNS);
  parentPort.postMessage(program.lock_for(10_000));
} else {
  const module = await WebAssembly.compile(readFileSync(process.argv[2]));
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 1024, shared: true });
  const program = await open({ module, memory });
  const at = (which) => program.address(which);
  const words = new Uint32Array(memory.buffer);
  const mutex = new Mutex(memory, at(0));
  const pair = new RWLock(memory, at(2));
  const slots = new Semaphore(memory, at(4));
  const begun = new Event(memory, at(5));

  await mutex.lockAsync();
  const workers = [1, 2].map(
    (i) =>
      new Worker(fileURLToPath(import.meta.url), {
        workerData: { module, memory, stack: memory.buffer.byteLength - i * STACK_BYTES },
      }),
  );
  const inTime = workers.map((worker) => once(worker, 'message'));
  begun.set();
  mutex.unlock();
  for (let i = 0; i < TURNS / 20; i++) {
    await mutex.runExclusive(() => words[at(1) / 4]++);
    await pair.readLockAsync();
    strictEqual(words[at(3) / 4], words[at(3) / 4 + 1]);
    pair.readUnlock();
  }
  await slots.waitAsync({ permits: 2 });
  strictEqual(words[at(1) / 4], 2 * TURNS + TURNS / 20);
  strictEqual(words[at(3) / 4], 2 * TURNS);
  deepStrictEqual(await Promise.all(inTime), [[1], [1]]);
  strictEqual(program.lock_for(1), 1);
  strictEqual(mutex.isLocked, false);
}
