/** One worker, one cell of queue.js: posts what a call takes, as soon as it is known. */

import { readlinkSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { QUEUES } from './queue.js';
import { median } from './statistics.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

const { name, length } = workerData;
const { make } = QUEUES.find((queue) => queue.name === name);

/** Rounds until it is certain, or late. */
const ENOUGH_MS = 100;
const MOST_ROUNDS = 200;
/** A round that takes as long is not repeated. */
const LONG_MS = 500;
/** With fewer calls, the heap moves more by other things. */
const FEWEST_FOR_BYTES = 1000;
const WARM_UPS = [1000, 1000, 10];

function heap() {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * us a call, if so many all ask at once, and may go on at once or a turn of the loop later;
 * `pending` is called in between.
 */
async function drain(calls, turns, pending) {
  const { ask, go } = make(calls);
  const waits = [];
  const start = performance.now();
  for (let k = 0; k < calls; k++) waits.push(ask());
  if (turns) await nextTurn();
  const asked = performance.now();
  pending?.();
  const free = performance.now();
  go();
  await Promise.all(waits);
  return ((performance.now() - free + asked - start) / calls) * 1e3;
}

async function measure(turns, pending) {
  const first = await drain(length, turns, pending);
  if (first * length > LONG_MS * 1e3) return first;
  const samples = [];
  const begin = performance.now();
  while (performance.now() - begin < ENOUGH_MS && samples.length < MOST_ROUNDS)
    samples.push(await drain(length, turns));
  return median(samples);
}

parentPort.postMessage({ thread: Number(readlinkSync('/proc/thread-self').split('/').pop()) });
for (const calls of WARM_UPS) await drain(Math.min(calls, length), true);
const empty = heap();
let bytes = null;
const turned_us = await measure(true, () => {
  if (length >= FEWEST_FOR_BYTES) bytes = (heap() - empty) / length;
});
parentPort.postMessage({ turned_us, bytes });
parentPort.postMessage({ us: await measure(false) });
parentPort.close();
