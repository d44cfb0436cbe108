/**
 * What lockword throws. Every error has a stable `code`; bad arguments are plain TypeErrors and
 * RangeErrors.
 */

/** The base of all errors whose reason is a lock, and not an argument. */
export class LockError extends Error {
  name = 'LockError';
  /** Stable, for programs. */
  code = 'ERR_LOCK';
}

/**
 * A blocking call on a lock that its own agent holds would wait for itself. Nothing was changed.
 */
export class DeadlockError extends LockError {
  name = 'DeadlockError';
  code = 'ERR_DEADLOCK';
}

/** An unlock by an agent that does not hold the lock. Nothing was changed. */
export class OwnershipError extends LockError {
  name = 'OwnershipError';
  code = 'ERR_NOT_OWNER';
}

/** The time was up before the lock was to be had. */
export class TimeoutError extends LockError {
  name = 'TimeoutError';
  code = 'ERR_TIMEOUT';
}

/** A blocking call on a thread that must never block, such as a page's main thread. */
export class BlockingError extends LockError {
  name = 'BlockingError';
  code = 'ERR_CANNOT_BLOCK';
}

/** A party of a barrier gave up, or it was reset: not everybody has met. */
export class BrokenBarrierError extends LockError {
  name = 'BrokenBarrierError';
  code = 'ERR_BROKEN_BARRIER';
}
