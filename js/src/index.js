/** lockword: locks in shared memory, for workers that block, for main threads that must not, and for C beside them. */

export { BlockingError, DeadlockError, LockError, OwnershipError, TimeoutError } from './errors.js';
export { Mutex } from './mutex.js';
