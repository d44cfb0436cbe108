// What a user writes in strict TypeScript that becomes CommonJS.
import lockword = require('lockword');
import inspect = require('lockword/inspect');
import wasm = require('lockword/wasm');
import workerMutex = require('lockword/worker-mutex');
import { type Handle, Semaphore } from 'lockword';

const { Mutex } = lockword;
const handle: Handle<'Mutex'> = new Mutex().handle;
const lock: lockword.Mutex = Mutex.from(handle);
void lock.runExclusive(() => inspect.nameAgent(lockword.self, 'main'), { timeout: 5 });
void Semaphore.create(2).waitAsync({ permits: 2 });
// @ts-expect-error: the handle of another primitive
Mutex.from(Semaphore.create(2).handle);
wasm.imports().lockword.self();

const { WorkerMutex } = workerMutex;
const mutex: workerMutex.WorkerMutex = new WorkerMutex(WorkerMutex.createSharedBuffer());
const worker = {
  threadId: 1,
  once(_: 'exit', exit: () => void) {},
  removeListener(_: 'exit', exit: () => void) {},
};
const unbind: () => void = WorkerMutex.bindWorkerExit(worker, mutex.sharedBuffer);
unbind();
void mutex.lockAsync().then(() => mutex.unlock());

export const inferred = [handle, lock.acquireAsync(), Semaphore.create(2).when(), mutex];
