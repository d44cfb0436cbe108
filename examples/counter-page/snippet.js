// main.mjs
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { Mutex } from 'lockword';

if (isMainThread) {
  const mutex = new Mutex();
  const count = new Int32Array(new SharedArrayBuffer(4));
  for (let i = 0; i < 4; i++) {
    const workerData = { handle: mutex.handle, count };
    new Worker(new URL(import.meta.url), { workerData });
  }
  process.on('exit', () => console.log(`${count[0]} of 400000`));
} else {
  const { handle, count } = workerData;
  const mutex = Mutex.from(handle);
  for (let i = 0; i < 100_000; i++) {
    mutex.lock();
    count[0] = count[0] + 1;
    mutex.unlock();
  }
}
