/**
 * One worker, one operation, as in agent.js: the engine compiles each for itself. Told a number, it
 * repeats the operation so often and posts the ns.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { operations } from './family.js';

const operation = operations.find(({ name }) => name === workerData.name).make();

parentPort.on('message', (n) => {
  const before = performance.now();
  for (let i = 0; i < n; i++) operation();
  parentPort.postMessage(((performance.now() - before) * 1e6) / n);
});
