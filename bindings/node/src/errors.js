/** What the locks of a region throw besides what all locks throw. */

import { LockError } from '../../../js/src/errors.js';

/** What the mutex guards has been abandoned: nobody gets it before its reset. */
export class AbandonedError extends LockError {
  name = 'AbandonedError';
  code = 'ERR_ABANDONED';
}

/** The name was removed from the region. It may have been made again since: look it up again. */
export class RemovedError extends LockError {
  name = 'RemovedError';
  code = 'ERR_REMOVED';
}

/** This thread has closed the region. */
export class ClosedError extends LockError {
  name = 'ClosedError';
  code = 'ERR_REGION_CLOSED';
}
