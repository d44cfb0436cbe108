/**
 * warning.js: what warning.test.js runs in a process of its own: prints the warnings that each call
 * of the main thread has brought.
 */
import { WorkerMutex } from '../../../js/src/worker-mutex.js';

const { process } = globalThis;
const mutex = new WorkerMutex(WorkerMutex.createSharedBuffer());
const warnings = [];
process.on('warning', ({ message }) => warnings.push(message));

/** Warnings are events of a later turn. */
const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 20));

const counts = [];
for (const call of ['lockAsync', 'unlock', 'lock', 'lock']) {
  await mutex[call]();
  await nextTurn();
  counts.push(warnings.length);
}
console.log(JSON.stringify({ warnings, counts }));
