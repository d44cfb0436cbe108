/**
 * thread.js: a worker_threads worker that runs functions of the test, as agents.js has them, but
 * known by its threadId.
 */
import { parentPort, workerData } from 'node:worker_threads';

import { enter } from '../modes.js';
import * as support from '../support.js';

enter(workerData.mode);
const lockword = {
  ...(await import('../../../js/src/worker-mutex.js')),
  ...(await import('../../../js/src/rmutex.js')),
};
const say = (word) => parentPort.postMessage({ word });

parentPort.on('message', async ({ job, data }) => {
  const run = (0, eval)(`(${job})`);
  try {
    parentPort.postMessage({ result: await run({ ...lockword, ...support, data, say }) });
  } catch (error) {
    parentPort.postMessage({ error: error.stack });
  }
});
say('ready');
