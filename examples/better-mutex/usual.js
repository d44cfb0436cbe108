/**
 * The usual mutex with timeouts: 0 free, 1 locked, 2 locked and somebody may sleep. Without
 * timeouts it is right. With them it strands sleepers: program.js shows how.
 */
const FREE = 0;
const LOCKED = 1;
const CONTENDED = 2;

export class BetterMutex {
  /**
   * @param {Int32Array | SharedArrayBuffer} memory
   * @param {number} [offset] in elements of an Int32Array, or bytes of a buffer
   */
  constructor(memory, offset = 0) {
    this.cells = ArrayBuffer.isView(memory)
      ? memory.subarray(offset, offset + 1)
      : new Int32Array(memory, offset, 1);
  }

  tryLock() {
    return Atomics.compareExchange(this.cells, 0, FREE, LOCKED) === FREE;
  }

  lock(timeout = Infinity) {
    if (this.tryLock()) return true;
    const deadline = performance.now() + timeout;
    while (Atomics.compareExchange(this.cells, 0, FREE, CONTENDED) !== FREE) {
      const left = deadline - performance.now();
      if (left <= 0) return false;
      Atomics.compareExchange(this.cells, 0, LOCKED, CONTENDED);
      Atomics.wait(this.cells, 0, CONTENDED, left);
    }
    return true;
  }

  async lockAsync(timeout = Infinity) {
    if (this.tryLock()) return true;
    const deadline = performance.now() + timeout;
    while (Atomics.compareExchange(this.cells, 0, FREE, CONTENDED) !== FREE) {
      const left = deadline - performance.now();
      if (left <= 0) return false;
      Atomics.compareExchange(this.cells, 0, LOCKED, CONTENDED);
      await Atomics.waitAsync(this.cells, 0, CONTENDED, left).value;
    }
    return true;
  }

  unlock() {
    if (Atomics.exchange(this.cells, 0, FREE) === CONTENDED) Atomics.notify(this.cells, 0, 1);
  }
}
