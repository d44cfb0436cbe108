/** The same shape on lockword. The buffer has 8 bytes (Mutex.BYTE_LENGTH) instead of 4. */
import { Mutex } from 'lockword';

export class AsyncLock {
  #mutex;

  constructor(buffer) {
    this.#mutex = new Mutex(buffer);
  }

  lock() {
    this.#mutex.lock();
  }

  /** @throws {OwnershipError} this thread does not hold it */
  unlock() {
    this.#mutex.unlock();
  }

  /**
   * Resolves to what the callback returns, once that has settled; rejects with what it throws. It
   * is released in any case.
   */
  executeLocked(callback) {
    return this.#mutex.runExclusive(callback);
  }
}
