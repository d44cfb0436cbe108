/** lockword: locks in shared memory, for workers that block, for main threads that must not, and for C beside them. */

export { waitAny } from './any.js';
export { Barrier } from './barrier.js';
export { Condition } from './condition.js';
export { Counter } from './counter.js';
export { BlockingError, BrokenBarrierError, DeadlockError, LockError, OwnershipError, TimeoutError } from './errors.js';
export { Event } from './event.js';
export { layout } from './layout.js';
export { Mutex } from './mutex.js';
export { Once } from './once.js';
export { RecursiveMutex } from './rmutex.js';
export { RWLock } from './rwlock.js';
export { Semaphore } from './semaphore.js';
export { WaitGroup } from './waitgroup.js';
