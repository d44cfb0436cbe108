/** What the locks of a region throw besides what all locks throw. */

import { LockError } from './errors.js';

/** What the mutex guards has been abandoned: nobody gets it before its reset. */
export class AbandonedError extends LockError {
  name = 'AbandonedError';
  code = 'ERR_ABANDONED';
}

/** This thread has not joined the region, or has closed it. */
export class ClosedError extends LockError {
  name = 'ClosedError';
  code = 'ERR_REGION_CLOSED';
}
