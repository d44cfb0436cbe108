/**
 * node examples/worker-mutex/main-thread.js usual | lockword
 *
 * A worker takes the mutex while the main thread wants it. Where the mutex is taken by one write,
 * and its owner named by the next, there is a moment in which it belongs to thread 0, and that is
 * the main thread: it may be told that it has the mutex already. Here the worker is held up in that
 * moment. lockword writes the owner in the same operation.
 */
import process from 'node:process';
import { Worker } from 'node:worker_threads';

import { control, GO_ON, INSIDE, LEAVE, set, TOOK, until } from './control.js';

const PATIENCE_MS = 100;
const OWNER = 1;

const library = process.argv[2] === 'usual' ? './three-words.js' : 'lockword/worker-mutex';
const { WorkerMutex } = await import(library);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * What comes of the main thread's lockAsync; `goOn` is when the worker goes on: after the call, or
 * while it looks at who the owner is.
 */
async function want(goOn) {
  const buffer = WorkerMutex.createSharedBuffer();
  const cells = control();
  const mutex = new WorkerMutex(buffer);
  const worker = new Worker(new URL('./held-up.js', import.meta.url), {
    workerData: { library, buffer, cells },
  });
  await until(cells, TOOK);

  const { load } = Atomics;
  const letGo = () => {
    Atomics.load = load;
    set(cells, GO_ON);
    while (Atomics.load(cells, INSIDE) === 0);
  };
  if (goOn === 'while') {
    Atomics.load = (words, index) => {
      const value = load(words, index);
      if (words.buffer === buffer && index === OWNER) letGo();
      return value;
    };
  }
  const wanted = mutex.lockAsync().then(
    () =>
      Atomics.load(cells, LEAVE) === 0
        ? 'has it, and so has the worker'
        : 'waits until the worker has unlocked',
    ({ message }) => `fails: '${message}'`,
  );
  await Promise.race([wanted, sleep(PATIENCE_MS)]);
  letGo();
  await Promise.race([wanted, sleep(PATIENCE_MS)]);
  set(cells, LEAVE);
  const result = await wanted;
  await worker.terminate();
  return result;
}

console.log(`the worker is about to be named: the main thread ${await want('after')}`);
console.log(`it is named while the main thread looks: the main thread ${await want('while')}`);
