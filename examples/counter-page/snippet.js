// main.mjs
import { Worker, isMainThread, workerData } from 'node:worker_threads';
import { Mutex } from 'lockword';

if (isMainThread) {
  const mutex = new Mutex();
  const count = new Int32Array(new SharedArrayBuffer(4));
  for (let i = 0; i < 4; i++) {
    new Worker(new URL(import.meta.url), { workerData: { handle: mutex.handle, count } });
  }
  for (let i = 0; i < 1000; i++) {
    await mutex.lockAsync(); // never blocks the event loop
    count[0]++;
    mutex.unlock();
  }
  process.on('exit', () => console.log(`${count[0]} of 401000`));
} else {
  const { handle, count } = workerData;
  const mutex = Mutex.from(handle);
  for (let i = 0; i < 100_000; i++) {
    mutex.lock(); // blocks this worker until the mutex is its own
    count[0]++;
    mutex.unlock();
  }
}
