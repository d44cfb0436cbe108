/**
 * node count.js REGION [exit|throw|terminate]: the main thread and a worker take turns with others
 * at one counter, until it has reached its goal; region-peer and count.py do the same. With an
 * argument, threads end in that way at any moment, in the middle of a turn, too.
 *
 * The counter is the region's bytes 'accounts', words of 32 bits: those below, and a row for each
 * life of a thread. A turn notes what it is about to change before it changes it, so that the next
 * holder of the mutex 'count' can take back what a death has left half done. Outside of the mutex a
 * thread keeps its own account in its row: the turns that it has begun, and those that it has
 * ended.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { open } from '../../build/node_modules/lockword-region/index.js';

/**
 * Words: the total, its goal, the row that is being counted or 0, and what its words were before.
 */
export const TOTAL = 0;
export const GOAL = 1;
const ROW = 2;
const OLD_TOTAL = 3;
const OLD_TALLY = 4;
/** How many lives have begun. */
export const LIVES = 5;

/** A life's row: its turns as counted in the mutex, as begun and as ended; and what it is. */
export const [TALLY, BEGUN, ENDED, KIND] = [0, 1, 2, 3];
export const KINDS = ['', 'node', 'native', 'python'];
export const rowOf = (life) => 8 + 4 * life;
const MOST_LIVES = 16_384;

export function wordsOf(region) {
  const { buffer, byteOffset } = region.bytes('accounts', 4 * rowOf(MOST_LIVES));
  return new Uint32Array(buffer, byteOffset, rowOf(MOST_LIVES));
}

/** What the next holder does. Idempotent, since it may die in here, too. */
export function repair(words, ownerDied) {
  const row = Atomics.load(words, ROW);
  if (row === 0) return;
  if (!ownerDied) throw new Error('a turn is half done, and nobody died');
  Atomics.store(words, TOTAL, words[OLD_TOTAL]);
  Atomics.store(words, row + TALLY, words[OLD_TALLY]);
  Atomics.store(words, ROW, 0);
}

/** Counts one; returns false if the goal is reached. `step` is called between all stores. */
function turn(words, row, ownerDied, step) {
  repair(words, ownerDied);
  const total = words[TOTAL];
  const tally = words[row + TALLY];
  if (total >= words[GOAL]) return false;
  step();
  Atomics.store(words, OLD_TOTAL, total);
  Atomics.store(words, OLD_TALLY, tally);
  Atomics.store(words, ROW, row);
  step();
  Atomics.store(words, TOTAL, total + 1);
  step(10); // here the accounts differ, so that most deaths do harm
  Atomics.store(words, row + TALLY, tally + 1);
  step();
  Atomics.store(words, ROW, 0);
  step();
  return true;
}

const say = (what) => (isMainThread ? console.log(what) : parentPort.postMessage(what));

/** How a thread ends by itself. */
function endBy(way) {
  if (way === 'exit') process.exit(7);
  if (way === 'throw') throw new Error('on purpose');
}

async function count(path, way) {
  process.emitWarning = () => {};
  const region = open(path);
  const mutex = region.mutex('count');
  const words = wordsOf(region);
  mutex.lock();
  repair(words, mutex.ownerDied);
  const row = rowOf(words[LIVES]++);
  mutex.unlock();
  if (row >= words.length) throw new Error('too many lives');
  Atomics.store(words, row + KIND, KINDS.indexOf('node'));
  const step = way ? (odds = 1) => Math.random() < odds * 1e-3 && endBy(way) : () => {};
  for (let i = 1, goesOn = true; goesOn; i++) {
    Atomics.add(words, row + BEGUN, 1);
    step();
    if (i % 3 === 0) await mutex.lockAsync();
    else mutex.lock();
    goesOn = turn(words, row, mutex.ownerDied, step);
    mutex.unlock();
    step();
    if (goesOn) Atomics.add(words, row + ENDED, 1);
    if (i === 1) say('began');
    // Lets timers and the worker's end come through; and a main thread leaves room for what starts.
    if (i % 50 === 0) await (isMainThread ? setTimeout(1) : setImmediate());
  }
  return words;
}

/** Has a worker count; another one after each that has ended before its time. */
function keepWorker(path, way) {
  let isOver = false;
  const start = () => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: [path, way] });
    worker.on('error', (error) => {
      if (error.message === 'on purpose') return;
      console.error(error);
      process.exit(1);
    });
    worker.on('exit', (code) => code === 0 || isOver || start());
    worker.on('message', () => {
      if (way === 'terminate') setTimeout(Math.random() * 50).then(() => worker.terminate());
    });
  };
  start();
  return () => (isOver = true);
}

if (!isMainThread) {
  await count(...workerData);
} else if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [path, way = ''] = process.argv.slice(2);
  const end = keepWorker(path, way);
  await count(path, way);
  end();
}
