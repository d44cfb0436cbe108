/**
 * lockword: locks in shared memory, for workers that block, for main threads that must not, and for
 * C beside them. The primitives stand in the order of docs/layout.md.
 */

export { self } from './agent.js';
export {
  BlockingError,
  BrokenBarrierError,
  DeadlockError,
  LockError,
  OwnershipError,
  TimeoutError,
} from './errors.js';
export { waitAny } from './any.js';
export { layout } from './layout.js';
export { Mutex } from './mutex.js';
export { RecursiveMutex } from './rmutex.js';
export { Condition } from './condition.js';
export { Semaphore } from './semaphore.js';
export { Permits } from './permits.js';
export { RWLock } from './rwlock.js';
export { Barrier } from './barrier.js';
export { WaitGroup } from './waitgroup.js';
export { Latch } from './latch.js';
export { Event } from './event.js';
export { Once } from './once.js';
export { Counter } from './counter.js';

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
