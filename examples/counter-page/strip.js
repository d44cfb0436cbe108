/**
 * What one thread did, and when: for each slot of 50 µs, how much of it the thread spent in each
 * state. To record a change of state takes a reading of the clock and one addition in memory that
 * no other thread writes; a long state takes an addition for each slot. Readers are not
 * synchronised with it: a picture may miss the last moment.
 */

export const IDLE = 0;
/** The thread waits for the lock. */
export const WAITING = 1;
/** It holds the lock; in the ways without a lock, it is at work. */
export const INSIDE = 2;

export const SLOT_US = 50;
/** Nothing is recorded after so much time. */
const LENGTH_MS = 30_000;

const LENGTH_US = LENGTH_MS * 1000;
const SLOTS = LENGTH_US / SLOT_US;
const HEAD_BYTES = 64;
export const STRIP_BYTES = HEAD_BYTES + 2 * SLOTS;

export class Strip {
  #head;
  #waiting;
  #inside;
  #origin = 0;

  constructor(memory, byteOffset) {
    /** The present state, since when (µs), and how often the thread has added. */
    this.#head = new Int32Array(memory, byteOffset, 3);
    this.#waiting = new Uint8Array(memory, byteOffset + HEAD_BYTES, SLOTS);
    this.#inside = new Uint8Array(memory, byteOffset + HEAD_BYTES + SLOTS, SLOTS);
  }

  /** A copy that stays as it is, in memory of its own. */
  copy() {
    const { buffer, byteOffset } = this.#head;
    return new Strip(buffer.slice(byteOffset, byteOffset + STRIP_BYTES), 0);
  }

  /** Forgets what was recorded. */
  clear() {
    const used = Math.ceil(this.#head[1] / SLOT_US);
    this.#waiting.fill(0, 0, used);
    this.#inside.fill(0, 0, used);
    this.#head.fill(0);
  }

  /**
   * Begins to record, in state IDLE.
   *
   * @param {number} origin when the run began, ms: each thread's clock has its own zero,
   *   performance.timeOrigin
   */
  begin(origin) {
    this.#origin = origin - performance.timeOrigin;
  }

  /** How often the thread has added. */
  get turns() {
    return Atomics.load(this.#head, 2);
  }

  set turns(turns) {
    Atomics.store(this.#head, 2, turns);
  }

  /** From now on the thread is in this state. */
  mark(state) {
    const now = Math.min(Math.round((performance.now() - this.#origin) * 1000), LENGTH_US);
    const before = this.#head[0];
    if (before !== IDLE) {
      const row = before === WAITING ? this.#waiting : this.#inside;
      for (let at = this.#head[1]; at < now;) {
        const slot = Math.floor(at / SLOT_US);
        const end = Math.min((slot + 1) * SLOT_US, now);
        row[slot] += end - at;
        at = end;
      }
    }
    this.#head[0] = state;
    this.#head[1] = now;
  }

  /**
   * How much of a span the thread spent waiting, and inside, each from 0 to 1.
   *
   * @param {number} from slot
   * @param {number} to slot, not included
   * @param {number} now slot
   */
  shares(from, to, now) {
    let waiting = 0;
    let inside = 0;
    const first = Math.max(0, from);
    const last = Math.min(to, now, SLOTS);
    for (let slot = first; slot < last; slot++) {
      waiting += this.#waiting[slot];
      inside += this.#inside[slot];
    }
    const [state, since] = this.#head;
    // The present state is recorded when it ends.
    const pending = Math.max(0, last * SLOT_US - Math.max(since, first * SLOT_US));
    if (state === WAITING) waiting += pending;
    if (state === INSIDE) inside += pending;
    const whole = (to - from) * SLOT_US;
    return { waiting: waiting / whole, inside: inside / whole };
  }
}
