/**
 * The usual recursive mutex: one word says whether it is locked, one by which thread, one how
 * often. Main threads are thread 0, and 0 is also what the second word holds while it names nobody.
 * main-thread.js shows what comes of that.
 */
import { threadId } from 'node:worker_threads';

const FLAG = 0;
const OWNER = 1;
const DEPTH = 2;

export class WorkerMutex {
  static createSharedBuffer() {
    return new SharedArrayBuffer(12);
  }

  constructor(buffer) {
    this.words = new Int32Array(buffer);
  }

  #isMine() {
    return Atomics.load(this.words, FLAG) === 1 && Atomics.load(this.words, OWNER) === threadId;
  }

  #takeAgain() {
    if (Atomics.load(this.words, DEPTH) < 1) throw new Error('held, but 0 times');
    Atomics.add(this.words, DEPTH, 1);
  }

  #take() {
    if (Atomics.compareExchange(this.words, FLAG, 0, 1) !== 0) return false;
    Atomics.store(this.words, OWNER, threadId);
    Atomics.store(this.words, DEPTH, 1);
    return true;
  }

  lock() {
    if (this.#isMine()) this.#takeAgain();
    else while (!this.#take()) Atomics.wait(this.words, FLAG, 1);
  }

  async lockAsync() {
    if (this.#isMine()) this.#takeAgain();
    else while (!this.#take()) await Atomics.waitAsync(this.words, FLAG, 1).value;
  }

  unlock() {
    if (!this.#isMine()) throw new Error('not held by this thread');
    if (Atomics.sub(this.words, DEPTH, 1) > 1) return;
    Atomics.store(this.words, OWNER, 0);
    Atomics.store(this.words, FLAG, 0);
    Atomics.notify(this.words, FLAG, 1);
  }
}
