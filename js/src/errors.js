/** What lockword throws. Every error has a stable `code`; bad arguments are plain TypeErrors and RangeErrors. */

/** The base of all errors whose reason is a lock, and not an argument. */
export class LockError extends Error {
  /**
   * @param {string} code stable, for programs
   * @param {string} message for people
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** `ERR_DEADLOCK`: a blocking call on a lock that its own agent holds would wait for itself. Nothing was changed. */
export class DeadlockError extends LockError {
  /** @param {string} message */
  constructor(message) {
    super('ERR_DEADLOCK', message);
    this.name = 'DeadlockError';
  }
}

/** `ERR_NOT_OWNER`: an unlock by an agent that does not hold the lock. Nothing was changed. */
export class OwnershipError extends LockError {
  /** @param {string} message */
  constructor(message) {
    super('ERR_NOT_OWNER', message);
    this.name = 'OwnershipError';
  }
}

/** `ERR_TIMEOUT`: the time was up before the lock was to be had. */
export class TimeoutError extends LockError {
  /** @param {string} message */
  constructor(message) {
    super('ERR_TIMEOUT', message);
    this.name = 'TimeoutError';
  }
}

/** `ERR_CANNOT_BLOCK`: a blocking call on a thread that must never block, such as a page's main thread. */
export class BlockingError extends LockError {
  /** @param {string} message */
  constructor(message) {
    super('ERR_CANNOT_BLOCK', message);
    this.name = 'BlockingError';
  }
}
