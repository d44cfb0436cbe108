// What a user writes in strict TypeScript that becomes CommonJS.
import workerMutex = require('lockword/worker-mutex');

const { WorkerMutex } = workerMutex;
const mutex: workerMutex.WorkerMutex = new WorkerMutex(WorkerMutex.createSharedBuffer());
const worker = { threadId: 1, once(_: 'exit', exit: () => void) {}, removeListener(_: 'exit', exit: () => void) {} };
const unbind: () => void = WorkerMutex.bindWorkerExit(worker, mutex.sharedBuffer);
unbind();
void mutex.lockAsync().then(() => mutex.unlock());
