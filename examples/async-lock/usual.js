/**
 * The lock of many a tutorial on Atomics.waitAsync: workers block in lock(), a page's main thread
 * calls executeLocked(). program.js shows what goes wrong.
 */
const UNLOCKED = 0;
const LOCKED = 1;

export class AsyncLock {
  constructor(buffer) {
    this.cells = new Int32Array(buffer, 0, 1);
  }

  lock() {
    while (Atomics.compareExchange(this.cells, 0, UNLOCKED, LOCKED) !== UNLOCKED)
      Atomics.wait(this.cells, 0, LOCKED);
  }

  unlock() {
    if (Atomics.compareExchange(this.cells, 0, LOCKED, UNLOCKED) !== LOCKED)
      throw new Error('not locked');
    Atomics.notify(this.cells, 0, 1);
  }

  async executeLocked(callback) {
    while (Atomics.compareExchange(this.cells, 0, UNLOCKED, LOCKED) !== UNLOCKED)
      await Atomics.waitAsync(this.cells, 0, LOCKED).value;
    callback();
    this.unlock();
  }
}
