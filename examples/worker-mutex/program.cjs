/**
 * node examples/worker-mutex/program.cjs [worker-mutex]
 *
 * A program for npm's package worker-mutex, in CommonJS: the same with either. Four workers add to
 * a cell; another one ends with the mutex locked.
 */
const { Worker, isMainThread, workerData } = require('node:worker_threads');

const library = isMainThread ? (process.argv[2] ?? 'lockword/worker-mutex') : workerData.library;
const { WorkerMutex } = require(library);

const WORKERS = 4;
const TIMES = 200;

function add({ buffer, cell }) {
  const mutex = new WorkerMutex(buffer);
  for (let i = 0; i < TIMES; i++) {
    mutex.lock();
    try {
      mutex.lock(); // again, as in a function that another one calls
      cell[0]++;
      mutex.unlock();
    } finally {
      mutex.unlock();
    }
  }
}

function dieInside({ buffer }) {
  new WorkerMutex(buffer).lock();
  process.exit();
}

function run(data) {
  const worker = new Worker(__filename, { workerData: { library, ...data } });
  WorkerMutex.bindWorkerExit(worker, data.buffer);
  return new Promise((resolve, reject) => worker.once('error', reject).once('exit', resolve));
}

async function main() {
  const buffer = WorkerMutex.createSharedBuffer();
  const cell = new Int32Array(new SharedArrayBuffer(4));
  await Promise.all(Array.from({ length: WORKERS }, () => run({ buffer, cell })));
  console.log(`${cell[0]} of ${WORKERS * TIMES}`);

  await run({ buffer, dies: true });
  await new WorkerMutex(buffer).lockAsync();
  console.log('a worker died inside: the main thread has the mutex');
}

if (isMainThread) void main();
else if (workerData.dies) dieInside(workerData);
else add(workerData);
