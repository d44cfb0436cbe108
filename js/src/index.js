/**
 * lockword: locks in shared memory, for workers that block, for main threads that must not, and for
 * C beside them.
 */

export { self } from './agent.js';
export { waitAny } from './any.js';
export { Barrier } from './barrier.js';
export { Condition } from './condition.js';
export { Counter } from './counter.js';
export {
  BlockingError,
  BrokenBarrierError,
  DeadlockError,
  LockError,
  OwnershipError,
  TimeoutError,
} from './errors.js';
export { Event } from './event.js';
export { Latch } from './latch.js';
export { layout } from './layout.js';
export { Mutex } from './mutex.js';
export { Once } from './once.js';
export { Permits } from './permits.js';
export { RecursiveMutex } from './rmutex.js';
export { RWLock } from './rwlock.js';
export { Semaphore } from './semaphore.js';
export { WaitGroup } from './waitgroup.js';

/**
 * What a program in TypeScript may have to name.
 *
 * @typedef {import('./guard.js').Guard} Guard
 * @typedef {import('./options.js').Signal} Signal
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 * @typedef {import('./permits.js').PermitGuard} PermitGuard
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 * @typedef {import('./rmutex.js').TaskGuard} TaskGuard
 * @typedef {import('./semaphore.js').PermitOptions} PermitOptions
 */

/**
 * The handle of a primitive, to be posted to a worker: `Handle<'Mutex'>` is what `Mutex.from`
 * takes.
 *
 * @template {string} [Type=string]
 * @typedef {import('./primitive.js').Handle<Type>} Handle
 */
