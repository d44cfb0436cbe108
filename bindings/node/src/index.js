/**
 * lockword-region: locks that processes share, and that outlive any holder. On Linux.
 *
 *     import { open } from 'lockword-region';
 *     const jobs = open('/dev/shm/jobs').mutex('jobs');
 *     await jobs.runExclusive(() => { … });
 */

export { waitAny } from '../../../js/src/any.js';
export { AbandonedError, ClosedError, RemovedError } from './errors.js';
export { RegionGuard } from '../../../js/src/region-guard.js';
export { RegionMutex } from './mutex.js';
export { PermitGuard, Permits } from '../../../js/src/permits.js';
export { RWTable } from '../../../js/src/rwtable.js';
export { open, Region } from './region.js';
export { RegionRecursiveMutex, RegionTaskGuard } from './rmutex.js';

/**
 * @typedef {import('./condition.js').ConditionOfRegion} RegionCondition
 * @typedef {import('./region.js').Description} Description
 * @typedef {import('./region.js').OpenOptions} OpenOptions
 */
