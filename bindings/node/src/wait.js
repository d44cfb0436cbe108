/**
 * The waiting domain of a region's words: the kernel's futexes, and for event loops the region's
 * doorbell. It stands in for js/src/wait.js in this package (build.js), so that the drivers and the
 * steps are those of lockword, unchanged.
 *
 * @typedef {import('../../../js/src/wait.js').Words} Words
 * @typedef {import('../../../js/src/wait.js').Woken} Woken
 *
 * @typedef {object} State what a region's locks know of it
 * @property {SharedArrayBuffer} buffer
 * @property {Domain} domain
 * @property {number} self this thread's id in the region; 0: it has closed the region
 * @property {(name: string) => import('./region.js').Description | undefined} describe
 *
 * @typedef {object} Wait of a line of callers (js/src/line.js)
 * @property {number} offset where in the region its word is, bytes
 * @property {(why: number, of: any) => unknown} look
 * @property {any} of
 */

import { SLICE } from '../../../js/src/awake.js';
import {
  LW_CANCELLED,
  LW_GAVE_UP,
  LW_NOT_EQUAL,
  LW_OK,
  LW_SLICE,
  LW_WAITERS_GATE,
} from '../../../js/src/core/constants.js';
import { callersAt } from '../../../js/src/callers.js';
import { clearInterval, now, setInterval } from '../../../js/src/wait.js';
import { addon } from './addon.js';
import { ClosedError } from './errors.js';

export {
  afterTurn,
  clearInterval,
  nap,
  now,
  setInterval,
  setTimeout,
} from '../../../js/src/wait.js';

/**
 * How long a thread sleeps in the addon, in ms, or as long again as it has waited, but not beyond
 * its next look for the dead. A worker that is terminated ends when it returns from there. But
 * whoever returns goes to the end of the kernel's queue, behind all that have come since.
 */
const PIECE = 100;

/** The words of an agent's row from `busy` on: src/region/layout.h. */
const SINCE = 1;
const WAITS = 10;
const SEEN = 11;

/** @type {WeakMap<SharedArrayBuffer, Domain>} */
const domains = new WeakMap();

/** What every use of a region throws that this thread has closed. */
export const closed = () => new ClosedError('this thread has closed the region');

/**
 * @param {Words} words of an open region
 * @returns {Domain}
 */
function domainOf(words) {
  const domain = domains.get(words.buffer);
  if (!domain) throw closed();
  return domain;
}

/**
 * The thread says what it waits for, before it can consume a wake-up. If it ends meanwhile, its
 * burial wakes another one in its place.
 *
 * @param {Int32Array} busy its row
 * @param {number} slot
 * @param {number} seen how often the slot's mutex had been acquired
 * @param {number} [since] addon.now()
 */
export function beginToWait(busy, slot, seen, since = addon.now()) {
  Atomics.store(busy, SEEN, seen);
  Atomics.store(busy, SINCE, since);
  Atomics.add(busy, WAITS, 1);
  Atomics.store(busy, 0, slot);
}

/**
 * @param {Words} words
 * @param {number} index
 */
const offsetOf = (words, index) => words.byteOffset + 4 * index;

/** The words of one region, as this thread waits for them. */
export class Domain {
  /**
   * @param {any} handle the addon's
   * @param {SharedArrayBuffer} buffer
   * @param {Int32Array} busy the row that says what this thread is busy with
   */
  constructor(handle, buffer, busy) {
    this.handle = handle;
    this.buffer = buffer;
    this.busy = busy;
    /** @type {Map<number, Set<Wait>>} By the number of the bell; no set is empty. */
    this.waits = new Map();
    /** The bells that the addon listens to for this loop, a bit each. */
    this.bells = 0;
    /** @type {any} */
    this.timer = undefined;
    /** At which byte this thread waited last in vain, and until when. */
    this.waited = 0;
    this.waitedUntil = 0;
    /** @type {Map<number, number>} The slot whose permits begin at this byte. */
    this.slots = new Map();
    domains.set(buffer, this);
  }

  /**
   * @param {Wait} wait
   */
  add(wait) {
    const bell = (wait.offset >>> 7) & 31;
    this.waits.set(bell, (this.waits.get(bell) ?? new Set()).add(wait));
    // If no thread can be started now, the calls look once a second.
    if (
      !(this.bells & (1 << bell)) &&
      addon.listen(this.handle, (this.bells | (1 << bell)) >>> 0) === 0
    )
      this.bells |= 1 << bell;
    this.timer ??= setInterval(() => this.lookAgain(), SLICE);
    this.timer.unref?.();
  }

  /**
   * Some bells have moved: ends the waits behind them.
   *
   * @param {number} moved a bit each
   */
  heard(moved) {
    for (const [bell, waits] of [...this.waits]) {
      if (!(moved & (1 << bell))) continue;
      this.waits.delete(bell);
      for (const wait of waits) wait.look(LW_OK, wait.of);
    }
    this.rest();
  }

  /** Once a second, since the keeper that was told of a death may have been stopped. */
  lookAgain() {
    for (const [bell, waits] of [...this.waits]) {
      for (const wait of waits) {
        addon.bury(this.handle, wait.offset);
        if (wait.look(LW_SLICE, wait.of)) continue;
        waits.delete(wait);
        wait.look(LW_OK, wait.of);
      }
      if (waits.size === 0 && this.waits.get(bell) === waits) this.waits.delete(bell);
    }
    this.rest();
  }

  /** Ends all calls that wait: the region is closed. Their steps pass on what they owe. */
  end() {
    // The last ones first: one that gives up makes way for those behind it.
    for (const caller of callersAt(this.buffer).reverse()) {
      if (!caller.queue) continue;
      const { toValue } = caller;
      caller.toValue = (
        /** @type {any} */ answer,
        /** @type {any} */ wanted,
        /** @type {any} */ of,
      ) => {
        if (answer.what === LW_GAVE_UP) throw closed();
        return toValue(answer, wanted, of);
      };
      caller.end(caller, LW_CANCELLED);
    }
    const waits = [...this.waits.values()].flatMap((set) => [...set]);
    this.waits.clear();
    this.rest();
    // A condition's callers stand in no line: they end by this.
    for (const wait of waits) wait.look(LW_CANCELLED, wait.of);
    domains.delete(this.buffer);
  }

  /** Listens to nothing if nothing waits. */
  rest() {
    if (this.waits.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
    if (this.bells) addon.listen(this.handle, 0);
    this.bells = 0;
  }
}

/**
 * js/src/wait.js has the meaning of this and of what follows.
 *
 * @param {Words} words
 * @param {number} index
 * @param {number} expected
 * @param {number} timeout
 * @returns {Woken}
 */
export function wait(words, index, expected, timeout) {
  const domain = domainOf(words);
  const { handle, busy, slots } = domain;
  const offset = offsetOf(words, index);
  // A mutex has said what its thread waits for, and takes that back when it has the mutex.
  const says = busy[0] === 0;
  if (says) {
    const slot = slots.get(words.byteOffset) ?? addon.slot(handle, offset);
    // If the driver's step waits again at once, the wait goes on, and has begun when it first did.
    const goesOn = domain.waited === offset && now() - domain.waitedUntil < 10;
    beginToWait(busy, slot, 0, goesOn ? busy[SINCE] : undefined);
  }
  try {
    const end = now() + timeout;
    for (;;) {
      const remaining = end - now();
      const waited = (addon.now() - busy[SINCE]) | 0;
      const look = addon.nextLook(waited) / 1000;
      const piece = Math.min(look, Math.max(PIECE, waited + 1));
      const woken = addon.wait(handle, offset, expected, Math.max(Math.min(remaining, piece), 0));
      if (woken === LW_OK) return 'ok';
      if (woken === LW_NOT_EQUAL) return 'not-equal';
      if (remaining > piece) {
        if (piece < look) continue;
        addon.bury(handle, offset);
        // The driver looks now, too. At another time the thread would lose its place once more.
        if (timeout < SLICE) continue;
      }
      domain.waited = offset;
      domain.waitedUntil = now();
      return 'timed-out';
    }
  } finally {
    if (says) Atomics.store(busy, 0, 0);
  }
}

/**
 * @param {Words} words
 * @param {number} index
 * @param {number} _expected
 * @param {number} _idle
 * @param {(why: number, of: any) => unknown} look
 * @param {any} [of]
 */
export function waitAsync(words, index, _expected, _idle, look, of) {
  domainOf(words).add({ offset: offsetOf(words, index), look, of });
}

/**
 * @param {Words} words
 * @param {number} index
 * @param {number} [n]
 * @returns {number}
 */
export function notify(words, index, n = 0xffffffff) {
  const { handle } = domainOf(words);
  const offset = offsetOf(words, index);
  return index === LW_WAITERS_GATE
    ? addon.notifyAsync(handle, offset)
    : addon.notify(handle, offset, n);
}
