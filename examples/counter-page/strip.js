/**
 * What one agent did, and when: for each slot of 50 µs, how much of it the agent spent in each state. Recording costs a look at the clock and
 * an addition in memory that no other agent writes, and for long states an addition for each slot. Reading is not synchronised with it: a picture
 * may miss what is not a moment old.
 */

export const IDLE = 0;
/** Waits for the lock. */
export const WAITING = 1;
/** Holds the lock; or, where there is none, is at work. */
export const INSIDE = 2;

export const SLOT_US = 50;
/** Nothing is recorded after so much time. */
export const LENGTH_MS = 30_000;

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
    /** The state that it is in now, since when, µs, and how often it has added. */
    this.#head = new Int32Array(memory, byteOffset, 3);
    this.#waiting = new Uint8Array(memory, byteOffset + HEAD_BYTES, SLOTS);
    this.#inside = new Uint8Array(memory, byteOffset + HEAD_BYTES + SLOTS, SLOTS);
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
   * @param {number} origin when time began, ms: every agent's clock has its own zero, performance.timeOrigin
   */
  begin(origin) {
    this.#origin = origin - performance.timeOrigin;
  }

  /** How often the agent has added. */
  get turns() {
    return Atomics.load(this.#head, 2);
  }

  set turns(turns) {
    Atomics.store(this.#head, 2, turns);
  }

  /** From now on the agent is in this state. */
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
   * How much of a span it spent waiting, and inside, each from 0 to 1.
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
    // What it is in the midst of will be recorded when it ends.
    const pending = Math.max(0, last * SLOT_US - Math.max(since, first * SLOT_US));
    if (state === WAITING) waiting += pending;
    if (state === INSIDE) inside += pending;
    const whole = (to - from) * SLOT_US;
    return { waiting: waiting / whole, inside: inside / whole };
  }
}
