/**
 * The worker of main-thread.js: is held up in the moment in which it has taken the mutex, and stays
 * inside until it is told to leave.
 */
import { parentPort, workerData } from 'node:worker_threads';

import { GO_ON, INSIDE, LEAVE, set, TOOK } from './control.js';

const { library, buffer, cells } = workerData;
const { compareExchange } = Atomics;
Atomics.compareExchange = (words, index, expected, value) => {
  const found = compareExchange(words, index, expected, value);
  if (
    words.buffer === buffer &&
    index === 0 &&
    found === expected &&
    Atomics.load(cells, TOOK) === 0
  ) {
    set(cells, TOOK);
    Atomics.wait(cells, GO_ON, 0);
  }
  return found;
};

const { WorkerMutex } = await import(library);
const mutex = new WorkerMutex(buffer);
mutex.lock();
set(cells, INSIDE);
Atomics.wait(cells, LEAVE, 0);
try {
  mutex.unlock();
} catch ({ message }) {
  parentPort.postMessage(message);
}
