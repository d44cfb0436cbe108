/**
 * One worker, one operation, as in agent.js: the engine compiles each for itself. Told a number, it
 * repeats the operation so often, or a tenth as often if it has to be awaited, and posts the ns.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { operations } from './family.js';

const { make, waits } = operations.find(({ name }) => name === workerData.name);
const operation = make();

function call(n) {
  for (let i = 0; i < n; i++) operation();
}

async function callAndWait(n) {
  for (let i = 0; i < n; i++) await operation();
}

parentPort.on('message', async (times) => {
  const n = waits ? times / 10 : times;
  const before = performance.now();
  if (waits) await callAndWait(n);
  else call(n);
  parentPort.postMessage(((performance.now() - before) * 1e6) / n);
});
