/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A region in one engine: named primitives in a SharedArrayBuffer or a shared WebAssembly.Memory.
 * If a worker that is watched ends, its mutexes become free, and the next holder is told. The names
 * and the calls are those of lockword-region, where processes share a file.
 *
 *     import { Region } from 'lockword/region';
 *     const region = await Region.create().join('page');
 *     worker.postMessage(region.watch(worker));
 *     // there: const region = await Region.from(data).join('parser');
 *     await region.mutex('jobs').runExclusive(({ ownerDied }) => { … });
 *
 * Names are found and made without a lock, since a page's main thread must not wait for one: a
 * record is written where no other agent looks, and one compare-and-swap publishes it.
 *
 * A burial reads which words have the name of the dead. An agent is buried by the one that watches
 * it, and no other; if that one ends, by whoever buries that one. So a burial waits for nobody. It
 * may be done again from the beginning, should its agent end in the middle. docs/layout.md has the
 * words.
 */

import { self } from './agent.js';
import { Barrier } from './barrier.js';
import { callersAt } from './callers.js';
import {
  LW_CANCELLED,
  LW_PERMITS_MAX,
  LW_PERMITS_WRITER,
  LW_ROBUST_ABANDONED,
  LW_ROBUST_OWNER_DIED,
  LW_SLICE,
} from './core/constants.js';
import { mutexBuryStep, mutexOwner } from './core/mutex.js';
import { onceEndStep, onceRunner } from './core/once.js';
import { Condition } from './condition.js';
import { Counter } from './counter.js';
import { LockError } from './errors.js';
import { Event } from './event.js';
import { dispose } from './guard.js';
import { Latch } from './latch.js';
import { Once } from './once.js';
import { assertOptions } from './options.js';
import { permitsBuryStep, permitsCount, permitsOf } from './core/permits.js';
import { Permits } from './permits.js';
import { ClosedError } from './region-errors.js';
import { RegionMutex } from './region-mutex.js';
import { robustBury, robustFate, robustMourn } from './core/robust.js';
import { semBuryStep } from './core/sem.js';
import { RWLock } from './rwlock.js';
import { RWTable } from './rwtable.js';
import { Semaphore } from './semaphore.js';
import { notify, waitAsync } from './wait.js';
import { assertInteger } from './waiting.js';
import { WaitGroup } from './waitgroup.js';

export { AbandonedError, ClosedError } from './region-errors.js';
export { RegionGuard } from './region-guard.js';
export { RegionMutex } from './region-mutex.js';
export { PermitGuard, Permits } from './permits.js';
export { RWTable } from './rwtable.js';

// By index.js, so that a compiler finds that 'lockword' exports the classes of what a region has.
/**
 * @typedef {import('./index.js').WaitOptions} WaitOptions
 * @typedef {import('./index.js').SharedMemory} SharedMemory
 *
 * @typedef {object} RegionOptions
 * @property {number | undefined} [byteOffset] where in the memory it begins, a multiple of 64; the
 *   default is 0
 * @property {number | undefined} [byteLength] a multiple of 64, below 2^31; the default is what the
 *   memory has, or 65536
 * @property {number | undefined} [agents] how many threads may have joined, or be expected, at a
 *   time; the default is 64
 *
 * @typedef {object} RegionHandle names a region to another thread; of `watch`, to the worker alone
 * @property {'Region'} type
 * @property {SharedArrayBuffer} buffer
 * @property {number} byteOffset
 * @property {number} [row]
 * @property {number} [seat]
 *
 * @typedef {object} Description what is known of a name; it may be old when you read it
 * @property {string} name
 * @property {Kind} type
 * @property {'sound' | 'owner died' | 'abandoned'} state of what a mutex guards
 * @property {{ id: number, name: string } | undefined} holder the thread that holds the mutex, or
 *   runs the once
 * @property {number} acquisitions how often the mutex was taken, modulo 2^32
 * @property {number} contended how often a thread that took it by `lock` had to wait or to spin
 * @property {number} recoveries how often a holder died
 * @property {number} byteLength of a range of bytes
 * @property {number} permits how many permits there are
 * @property {number} held how many of them have owners
 *
 * @typedef {object} RegionCondition a condition, whose mutex is one of the region. A wait unlocks
 *   it, and so declares that what it guards is sound. It throws an AbandonedError if another holder
 *   has abandoned the mutex meanwhile, and a ClosedError if this thread has closed the region: then
 *   the mutex is not held
 * @property {(mutex: RegionMutex, options?: number | WaitOptions) => boolean} wait
 * @property {(mutex: RegionMutex, options?: number | WaitOptions) => Promise<boolean>} waitAsync
 * @property {(mutex: RegionMutex, predicate: () => boolean, options?: number | WaitOptions)
 *   => boolean} waitFor
 * @property {(mutex: RegionMutex, predicate: () => boolean, options?: number | WaitOptions)
 *   => Promise<boolean>} waitForAsync
 * @property {(n?: number) => number} notify
 * @property {() => number} notifyAll
 *
 * @typedef {(typeof KINDS)[number]} Kind what a name is the name of
 */

/** As in enum lw_region_kind (include/lockword/region.h), whose first one is 1. */
const KINDS = /** @type {const} */ ([
  'Mutex',
  'RecursiveMutex',
  'Once',
  'RWLock',
  'Event',
  'Semaphore',
  'Counter',
  'WaitGroup',
  'Latch',
  'Barrier',
  'Condition',
  'bytes',
  'Permits',
  'RWTable',
]);

const BYTES = KINDS.indexOf('bytes') + 1;
const PERMITS = KINDS.indexOf('Permits') + 1;
const RWTABLE = KINDS.indexOf('RWTable') + 1;

/** The id of no agent: those of an engine have LW_MUTEX_IN_AN_ENGINE. */
const NOBODY = 0x0fffffff;

/** The header's words. */
const MAGIC = [0x6b636f6c, 0x64726f77];
const VERSION = 2;
const EPOCH = 5;
/** How many rows of agents, and entries of the index, there are. */
const AGENTS = 8;
const ENTRIES = 9;
/** Where the next record goes, bytes from the region's beginning. */
const NEXT = 10;
/** Two random words, which tell regions apart. */
const ID = 11;
const HEADER = 32;

/** Not that of a file, whose memory is laid out in another way. */
const THIS_VERSION = 0x10002;

/** The words of an agent's row. */
const ROW = 16;
/**
 * Its first word: an agent's id, which has no bit above LW_MUTEX_IN_AN_ENGINE; or a seat that an
 * agent is expected to take: the row's generation, and the number of the row of the agent that
 * watches; or, free, nothing but the generation that comes next. So what an agent leaves that ends
 * is found by its name, which stands there since the very operation that took the row.
 */
const SEAT = 0x80000000 | 0;
const SEAT_WATCHER = 18;
const GENERATIONS = 2 ** SEAT_WATCHER - 1;
/** The row's; stored before an agent has the row. The same holds for the next two. */
const GENERATION = 1;
/** The agent that watches it, or 0. */
const WATCHER = 2;
/** How the end of the agent is known. */
const HOW = 3;
const EXITS = 1;
const LOCKS = 2;
const NAME = 4;
const NAME_BYTES = 32;
/** 1: it has closed the region, and has the row only because it watches others. */
const CLOSED = 12;

/** A record: as in src/region/layout.h, in words. */
const RECORD = 32;
const TYPE = 0;
const HASH = 1;
const RECORD_NAME = 2;
const RECORD_NAME_BYTES = 56;
const MUTEX = 16;
const ACQUISITIONS = 20;
const CONTENDED = 21;
const RECOVERIES = 22;
const OTHER = 24;

const DEFAULT_SIZE = 65536;

/** The header has the length in an int32. */
const LARGEST = 2 ** 31 - 64;

const { navigator, Deno } = /** @type {any} */ (globalThis);

/** @param {string} text @param {number} max */
function bytesOf(text, max) {
  if (typeof text !== 'string') throw new TypeError(`name must be a string, not ${typeof text}`);
  if (text.includes('\0')) throw new TypeError('name must not contain a 0 byte');
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > max) throw new RangeError(`a name has at most ${max} bytes`);
  return bytes;
}

/**
 * A region, as one thread sees it.
 *
 * A thread has to join before it uses what the region has. What it holds when it closes the region
 * becomes free, and so does what it holds when it ends, if another thread watches it.
 */
export class Region {
  /** @type {import('./wait.js').Words} All words of the region. */
  #words;
  /** @type {RegionHandle | undefined} Where this thread is expected. */
  #seat;
  /** This thread's row; -1: it has not joined, or has closed the region. */
  #row = -1;
  /** @type {Set<import('./line.js').Caller[]>} The calls that wait for an RWTable. */
  #waits = new Set();
  /** @type {Set<number>} At which bytes the mutexes and permits begin that this thread has found. */
  #lent = new Set();

  /**
   * @internal
   * @param {import('./wait.js').Words} words
   * @param {RegionHandle} [seat]
   */
  constructor(words, seat) {
    this.#words = words;
    this.#seat = seat;
  }

  /**
   * Makes a region in memory that no agent uses yet, or in new memory, and clears it. Call it once,
   * in one thread.
   *
   * @param {SharedMemory} [memory]
   * @param {RegionOptions} [shape] where it begins, how many bytes it has, for how many threads
   * @returns {Region}
   * @throws {TypeError} memory is not shared, or the page is not isolated
   * @throws {RangeError} the region does not fit, or has 2^31 bytes or more
   */
  static create(memory, shape = {}) {
    assertOptions(shape, { byteOffset: 0, byteLength: 0, agents: 0 });
    const { byteOffset = 0, byteLength, agents = 64 } = shape;
    // Before the memory is made of it.
    if (byteLength !== undefined) assertInteger(byteLength, 0, LARGEST, 'byteLength');
    if (memory === undefined) {
      // It has memory of its own, and throws where there can be none.
      new Once();
      memory = new SharedArrayBuffer(byteLength ?? DEFAULT_SIZE);
    }
    const buffer = bufferOf(memory);
    const size =
      byteLength ?? Math.min(buffer.byteLength - (byteOffset % 64) - byteOffset, LARGEST);
    assertInteger(agents, 1, 4096, 'agents');
    const words = wordsAt(buffer, byteOffset, size - (size % 64));
    const entries = 2 ** Math.floor(Math.log2(words.length / 64));
    const next = 4 * (HEADER + ROW * (agents + 1)) + 4 * entries;
    if (!(entries >= 2) || next > words.byteLength - 4 * RECORD)
      throw new RangeError(
        `a region for ${agents} agents needs more than ${words.byteLength} bytes`,
      );
    words.fill(0);
    const random = () => (Math.random() * 2 ** 32) | 0;
    words.set([THIS_VERSION, words.byteLength], VERSION);
    words.set([agents, entries, Math.ceil(next / 64) * 64, random(), random()], AGENTS);
    words[1] = MAGIC[1];
    Atomics.store(words, 0, MAGIC[0]);
    return new Region(words);
  }

  /**
   * Attaches to a region that another thread has made.
   *
   * @param {SharedMemory} memory
   * @param {number} [byteOffset] where it begins
   * @returns {Region}
   * @throws {TypeError} memory is not shared
   * @throws {RangeError} there is no region
   */
  static attach(memory, byteOffset = 0) {
    return new Region(regionAt(bufferOf(memory), byteOffset));
  }

  /**
   * Attaches to the region that a handle names: `region.handle`, or what `region.watch` returned
   * for this worker.
   *
   * @param {RegionHandle} handle
   * @returns {Region}
   * @throws {TypeError} it is the handle of something else, or has lost its memory
   */
  static from(handle) {
    // JSON makes {} of a SharedArrayBuffer: js/src/primitive.js.
    if (handle?.type !== 'Region' || !handle.buffer?.byteLength)
      throw new TypeError(
        "not a handle of Region, or its memory is lost: postMessage its 'handle', or what watch() returns, not as JSON",
      );
    const { buffer, byteOffset, seat } = handle;
    return new Region(regionAt(bufferOf(buffer), byteOffset), seat ? handle : undefined);
  }

  /** Names it to another thread, which nobody will watch: postMessage it, and attach by `from`. */
  get handle() {
    const { buffer, byteOffset } = this.#words;
    return /** @type {RegionHandle} */ ({ type: 'Region', buffer, byteOffset });
  }

  /** @internal */
  assertJoined() {
    if (this.#row < 0) throw new ClosedError('this thread has not joined the region, or closed it');
  }

  /**
   * Makes this thread one of the region's agents. Await it before you use what the region has.
   *
   * @param {string} [name] which `describe` and `list` tell of a holder, of at most 31 bytes
   * @returns {Promise<this>} this region
   * @throws {LockError} this thread has joined already; there is no room; or the thread that was to
   *   watch this one has given it up
   */
  async join(name = '') {
    const bytes = bytesOf(name, NAME_BYTES - 1);
    const seat = this.#seat;
    const mine = this.#mine();
    if (mine && this.#load(mine + CLOSED) === 0)
      throw new LockError('this thread has joined the region already');
    if (!mine && seat && this.#load((seat.row ?? 0) + HOW) === LOCKS) {
      // Its end is known by the engine's giving this lock to the thread that watches.
      const isHeld = await new Promise((resolve, reject) => {
        const held = (/** @type {any} */ lock) => (resolve(lock), lock && new Promise(() => {}));
        navigator.locks.request(this.#token(seat), { ifAvailable: true }, held).catch(reject);
      });
      if (!isHeld) throw unexpected();
    }
    this.#row = mine ?? this.#take(seat);
    Atomics.store(this.#words, this.#row + CLOSED, 0);
    const { buffer, byteOffset } = this.#words;
    new Uint8Array(buffer, byteOffset + 4 * (this.#row + NAME), NAME_BYTES).fill(0).set(bytes);
    notify(this.#words, this.#row);
    return this;
  }

  /**
   * Watches a worker of worker_threads, or of the web. When the worker has ended, however it did,
   * what it held becomes free, and the next holder is told. Call it before the worker joins, and
   * post what it returns to the worker.
   *
   * A page that terminates a worker calls `worker.terminate()` on this object. That call is
   * replaced, on the web: it also frees the place of a worker that has not joined yet.
   *
   * If the thread that watches ends, too, whoever watches that one goes on: so have a thread
   * watched that watches others. A thread learns of an end by its event loop: while it blocks, it
   * frees nothing.
   *
   * @param {object} worker
   * @returns {RegionHandle} for `Region.from`, by this worker alone
   * @throws {LockError} there is no room for another thread
   * @throws {TypeError} it is no worker, has ended, or is one whose end the engine does not tell
   */
  watch(worker) {
    this.assertJoined();
    const { once, addEventListener, threadId, terminate } = /** @type {any} */ (worker ?? {});
    const isNodes = typeof once === 'function';
    // A MessagePort has the rest of what a worker has.
    if (typeof terminate !== 'function' || threadId === -1)
      throw new TypeError('write region.watch(worker), of a worker that has not ended');
    const isBuns = /** @type {any} */ (globalThis).process?.versions?.bun;
    if (Deno || (!isNodes && !isBuns && !navigator?.locks))
      throw new TypeError('this engine does not tell when a worker has ended');

    const how = isNodes || isBuns ? EXITS : LOCKS;
    for (const row of this.#rows()) {
      const seat = this.#expect(row, this.#row, self, how);
      if (!seat) continue;
      const handle = { ...this.handle, row, seat };
      if (isNodes) once.call(worker, 'exit', () => this.#died(handle));
      else if (isBuns) addEventListener.call(worker, 'close', () => this.#died(handle));
      else this.#follow(handle, worker);
      return handle;
    }
    throw new LockError('no room for another thread: raise agents');
  }

  /**
   * Finds the mutex of this name, or makes it. All agents that ask for the same name, in any
   * thread, get the same mutex.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {RegionMutex}
   */
  mutex(name) {
    return this.#mutex(name, this.#find(name, 1));
  }

  /**
   * Finds the once of this name, or makes it. If the thread that runs it ends, the next one tries.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {Once}
   */
  once(name) {
    return this.#primitive(name, new Once());
  }

  /**
   * Finds the semaphore of this name, or makes it. Permits that a dead thread had are not given
   * back.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} [permits] of a new one
   * @returns {Semaphore}
   */
  semaphore(name, permits = 0) {
    return this.#primitive(name, Semaphore.create(permits));
  }

  /**
   * Finds the permits of this name, or makes them: at most n threads have one at a time, and those
   * that a dead thread had are free again.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} n how many there are, 1 to 252
   * @returns {Permits}
   * @throws {LockError} there is another number of permits
   */
  permits(name, n) {
    const record = this.#find(name, PERMITS, Permits.initial(n));
    const { buffer, byteOffset } = this.#words;
    const permits = new Permits(buffer, byteOffset + 4 * (record + RECORD));
    if (permits.count !== n) throw new LockError(`'${name}' has ${permits.count} permits`);
    // Nobody would give back what a thread takes that is no agent of the region any more.
    permits.assertJoined = () => this.assertJoined();
    this.#lent.add(permits.handle.byteOffset);
    return permits;
  }

  /**
   * Finds the event of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {{ autoReset?: boolean | undefined }} [options] of a new one; autoReset: it is an
   *   automatic one
   * @returns {Event}
   */
  event(name, options) {
    return this.#primitive(name, Event.create(options));
  }

  /**
   * Finds the counter of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} [value] of a new one
   * @returns {Counter}
   */
  counter(name, value) {
    return this.#primitive(name, Counter.create(value));
  }

  /**
   * Finds the wait group of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {WaitGroup}
   */
  waitGroup(name) {
    return this.#primitive(name, new WaitGroup());
  }

  /**
   * Finds the latch of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} count of a new one
   * @returns {Latch}
   */
  latch(name, count) {
    return this.#primitive(name, Latch.create(count));
  }

  /**
   * Finds the barrier of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} parties of a new one
   * @returns {Barrier}
   */
  barrier(name, parties) {
    return this.#primitive(name, Barrier.create(parties));
  }

  /**
   * Finds the read-write lock of this name, or makes it. If a holder dies, it stays locked.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {RWLock}
   */
  rwlock(name) {
    return this.#primitive(name, new RWLock());
  }

  /**
   * Finds the read-write lock of this name that knows its readers, or makes it. What a thread has
   * that ends is free again, and a writer's end is told of: `ownerDied`.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {RWTable}
   */
  rwtable(name) {
    const record = this.#find(name, RWTABLE, Permits.initial(LW_PERMITS_MAX));
    const region = this;
    const permits = this.#permits(record);
    const readers = {
      get words() {
        region.assertJoined();
        return permits;
      },
    };
    return new RWTable(this.#mutex(name, record), readers, this.#waits);
  }

  /**
   * Finds the condition of this name, or makes it. It works with a mutex of the region. A wait may
   * end without a notify, after a death: check the condition in a loop, or let `waitFor` do it.
   *
   * A wait unlocks the mutex, and so declares that what it guards is sound: if `ownerDied`, mend
   * that first. The mutex is held again when the wait ends, unless another holder has abandoned it
   * meanwhile, or this thread has closed the region: then the wait throws an AbandonedError or a
   * ClosedError.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {RegionCondition}
   */
  condition(name) {
    return this.#primitive(name, new Condition());
  }

  /**
   * Finds the range of bytes of this name, or makes it, full of zeros. All threads that ask for it
   * see the same bytes; guard them by a mutex, or use Atomics.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} byteLength
   * @returns {Uint8Array} at a multiple of 64 of the region
   * @throws {LockError} the range has another length
   */
  bytes(name, byteLength) {
    assertInteger(byteLength, 1, 2 ** 31 - 1, 'byteLength');
    const record = this.#find(name, BYTES, [byteLength]);
    if (this.#words[record + OTHER] !== byteLength)
      throw new LockError(`'${name}' has ${this.#words[record + OTHER]} bytes`);
    const { buffer, byteOffset } = this.#words;
    return new Uint8Array(buffer, byteOffset + 4 * (record + RECORD), byteLength);
  }

  /**
   * All names, with what is known of them.
   *
   * @returns {Description[]}
   */
  list() {
    return this.#records().map((record) => this.#describe(record));
  }

  /**
   * What is known of a name.
   *
   * @param {string} name
   * @returns {Description | undefined} undefined: there is no such name
   */
  describe(name) {
    return this.list().find((found) => found.name === name);
  }

  /**
   * Closes the region for this thread. What the thread holds becomes free, as after its death, and
   * its pending calls for mutexes, permits and an RWTable are rejected with a ClosedError.
   */
  close() {
    const row = this.#row;
    if (row < 0) return;
    this.#row = -1;
    for (const [caller] of this.#waits) if (caller?.queue) caller.end(caller, LW_CANCELLED);
    this.#waits.clear();
    // The last ones first: one that gives up makes way for those behind it.
    for (const caller of callersAt(this.#words.buffer).reverse()) {
      if (!this.#lent.has(caller.line.words.byteOffset) || !caller.queue) continue;
      caller.toValue = () => this.assertJoined();
      caller.end(caller, LW_CANCELLED);
    }
    this.#release(self);
    // Whom it watches is found by its row, if it ends.
    Atomics.store(this.#words, row + CLOSED, 1);
    this.#vacateIfClosed();
  }

  /** The same as `close()`, called at the end of a `using` block. */
  [dispose]() {
    this.close();
  }

  /** @param {number} index */
  #load(index) {
    return Atomics.load(this.#words, index);
  }

  /** Where the rows of agents are. */
  #rows() {
    return Array.from({ length: this.#words[AGENTS] }, (_, i) => HEADER + ROW * i);
  }

  /** Where the records are. */
  #records() {
    const index = HEADER + ROW * this.#words[AGENTS];
    const entries = Array.from({ length: this.#words[ENTRIES] }, (_, i) => this.#load(index + i));
    return entries.filter((record) => record > 0 && record + RECORD <= this.#words.length);
  }

  /**
   * @param {number} from
   * @param {number} length
   * @returns {import('./wait.js').Words}
   */
  #view(from, length) {
    return this.#words.subarray(from, from + length);
  }

  /**
   * @param {number} from
   * @param {number} words
   */
  #text(from, words) {
    const { buffer, byteOffset } = this.#view(from, words);
    // Browsers decode no shared memory: this is a copy.
    const bytes = new Uint8Array(buffer, byteOffset, 4 * words).slice();
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  /**
   * @param {string} name
   * @param {any} fresh equal to what is made
   * @returns {any}
   */
  #primitive(name, fresh) {
    const Class = fresh.constructor;
    const record = this.#find(name, KINDS.indexOf(Class.type) + 1, fresh.words);
    const { buffer, byteOffset } = this.#words;
    return new Class(buffer, byteOffset + 4 * (record + OTHER));
  }

  /**
   * @param {string} name
   * @param {number} record
   */
  #mutex(name, record) {
    const words = this.#view(record + MUTEX, 8);
    this.#lent.add(words.byteOffset);
    return new RegionMutex(this, name, words);
  }

  /**
   * @param {string} name
   * @param {number} kind
   * @param {ArrayLike<number>} [initial] of a new one's own words
   * @returns {number} where its record is
   */
  #find(name, kind, initial = []) {
    this.assertJoined();
    const bytes = bytesOf(name, RECORD_NAME_BYTES - 1);
    if (bytes.length === 0) throw new RangeError('a name has at least 1 byte');
    const packed = new Int32Array(RECORD_NAME_BYTES / 4);
    new Uint8Array(packed.buffer).set(bytes);
    let hash = 2166136261 | 0; // FNV-1a
    for (const byte of bytes) hash = Math.imul(hash ^ byte, 16777619);

    const words = this.#words;
    const index = HEADER + ROW * words[AGENTS];
    const entries = words[ENTRIES];
    let made = 0;
    for (let i = 0; i < entries; i++) {
      const entry = index + (((hash >>> 0) + i) % entries);
      let record = this.#load(entry);
      if (record === 0) {
        made ||= this.#make(kind, hash, packed, initial);
        record = Atomics.compareExchange(words, entry, 0, made);
        if (record === 0) return made;
      }
      if (!(record > 0 && record + RECORD <= words.length)) break;
      if (words[record + HASH] !== hash) continue;
      if (packed.some((word, n) => word !== words[record + RECORD_NAME + n])) continue;
      const found = words[record + TYPE] & 0xff;
      if (found === kind) return record;
      throw new LockError(`'${name}' is the name of something else: ${KINDS[found - 1]}`);
    }
    throw new LockError('no room for another name: raise byteLength');
  }

  /**
   * Makes a record, which no other agent sees yet. If another one of that name is published first,
   * its memory is lost: that happens once for two threads that make it at the same moment.
   *
   * @param {number} kind
   * @param {number} hash
   * @param {Int32Array} packed
   * @param {ArrayLike<number>} initial
   */
  #make(kind, hash, packed, initial) {
    const permits = hasTable(kind) ? initial : [];
    const bytes = 4 * (RECORD + permits.length) + (kind === BYTES ? initial[0] : 0);
    const size = Math.ceil(bytes / 64) * 64;
    let next;
    do {
      next = this.#load(NEXT);
      if (!(next > 0 && next + size <= this.#words.byteLength))
        throw new LockError('no room for another name: raise byteLength');
    } while (Atomics.compareExchange(this.#words, NEXT, next, next + size) !== next);
    const record = next / 4;
    this.#words.set([(1 << 8) | kind, hash, ...packed], record);
    this.#words.set(permits.length ? permits : initial, record + (permits.length ? RECORD : OTHER));
    return record;
  }

  /**
   * @param {number} record
   * @returns {Description}
   */
  #describe(record) {
    const words = this.#words;
    const type = KINDS[(words[record + TYPE] & 0xff) - 1];
    const fate = robustFate(this.#view(record + MUTEX, 4));
    const permits = hasTable(words[record + TYPE] & 0xff) ? this.#permits(record) : undefined;
    const id =
      type === 'Once'
        ? onceRunner(this.#view(record + OTHER, 2))
        : permits
          ? Atomics.load(permits, LW_PERMITS_WRITER)
          : mutexOwner(this.#view(record + MUTEX, 4));
    const row = this.#rows().find((row) => this.#load(row) === id);
    return {
      name: this.#text(record + RECORD_NAME, RECORD_NAME_BYTES / 4),
      type,
      state:
        fate & LW_ROBUST_ABANDONED
          ? 'abandoned'
          : fate & LW_ROBUST_OWNER_DIED
            ? 'owner died'
            : 'sound',
      holder: id ? { id, name: row ? this.#text(row + NAME, NAME_BYTES / 4) : '' } : undefined,
      acquisitions: words[record + ACQUISITIONS] >>> 0,
      contended: words[record + CONTENDED] >>> 0,
      recoveries: words[record + RECOVERIES] >>> 0,
      byteLength: type === 'bytes' ? words[record + OTHER] : 0,
      permits: permits ? permitsCount(permits) : 0,
      held: permits ? permitsCount(permits) - permitsOf(permits, 0) : 0,
    };
  }

  /** @returns {number | undefined} this thread's row */
  #mine() {
    return this.#rows().find((row) => this.#load(row) === self);
  }

  /**
   * Takes a row for an agent to come, if it is free.
   *
   * @param {number} row
   * @param {number} watching the row of the agent that watches, or the same one: nobody does
   * @param {number} watcher
   * @param {number} how
   * @returns {number} the seat, or 0
   */
  #expect(row, watching, watcher, how) {
    const words = this.#words;
    const generation = this.#load(row);
    const seat = SEAT | (((watching - HEADER) / ROW) << SEAT_WATCHER) | generation;
    if (!isFree(generation) || Atomics.compareExchange(words, row, generation, seat) !== generation)
      return 0;
    Atomics.store(words, row + GENERATION, generation);
    Atomics.store(words, row + WATCHER, watcher);
    Atomics.store(words, row + HOW, how);
    words.fill(0, row + NAME, row + ROW);
    return seat;
  }

  /**
   * Takes a row in this thread's name.
   *
   * @param {RegionHandle | undefined} expected
   */
  #take(expected) {
    for (const row of expected?.row ? [expected.row] : this.#rows()) {
      const seat = expected?.seat ?? this.#expect(row, row, 0, 0);
      if (seat && Atomics.compareExchange(this.#words, row, seat, self) === seat) return row;
    }
    throw expected ? unexpected() : new LockError('no room for another thread: raise agents');
  }

  /**
   * Frees a row, of an agent or a seat. That is one operation: it is done or not.
   *
   * @param {number} row
   * @param {number} state what the row has
   */
  #vacate(row, state) {
    const generation = state < 0 ? state : this.#load(row + GENERATION);
    Atomics.compareExchange(this.#words, row, state, (generation + 1) & GENERATIONS);
  }

  /** Frees this thread's row, if it has closed the region, and watches nobody. */
  #vacateIfClosed() {
    const mine = this.#mine();
    if (mine && this.#load(mine + CLOSED) && !this.#rows().some((row) => this.#isOf(row, mine)))
      this.#vacate(mine, self);
  }

  /**
   * Whether the agent or the seat of a row is watched by the agent that has another row.
   *
   * @param {number} row
   * @param {number} watching
   */
  #isOf(row, watching) {
    const state = this.#load(row);
    return state < 0
      ? ((state & ~SEAT) >> SEAT_WATCHER) * ROW + HEADER === watching
      : !isFree(state) && this.#load(row + WATCHER) === this.#load(watching);
  }

  /**
   * The name of the engine's lock that a worker holds as long as it lives.
   *
   * @param {RegionHandle} seat
   */
  #token({ row, seat = 0 }) {
    const { [ID]: id, [ID + 1]: more } = this.#words;
    const words = [id, more, row, seat & GENERATIONS].map((n) => Number(n) >>> 0);
    return `lockword region ${words.map((n) => n.toString(16)).join('-')}`;
  }

  /**
   * Waits until the worker has joined, which it does with the engine's lock held; then for that
   * lock. The engine gives it when the worker makes no further step, which `terminate` does not
   * wait for.
   *
   * The engine does not tell of a worker that ends before it has joined. It is not to join later
   * either, if `terminate` comes first: one compare-and-swap of the row decides.
   *
   * @param {RegionHandle} seat
   * @param {any} [worker] which this thread has started
   */
  #follow(seat, worker) {
    const row = /** @type {number} */ (seat.row);
    const terminate = worker?.terminate;
    if (worker)
      worker.terminate = () => {
        terminate.call(worker);
        this.#vacate(row, /** @type {number} */ (seat.seat));
        notify(this.#words, row);
      };
    let idle = 0;
    const look = () => {
      if (this.#load(row) === seat.seat) {
        const again = (/** @type {number} */ why) => why === LW_SLICE || look();
        waitAsync(this.#words, row, /** @type {number} */ (seat.seat), idle++, again);
      } else navigator.locks.request(this.#token(seat), () => this.#died(seat));
    };
    look();
  }

  /**
   * The worker of this seat has ended.
   *
   * @param {RegionHandle} seat
   */
  #died({ row = 0, seat = 0 }) {
    const state = this.#load(row);
    if (state === seat) this.#vacate(row, seat);
    // Another agent may have this row now.
    else if (state > 0 && !isFree(state) && this.#load(row + GENERATION) === (seat & GENERATIONS))
      this.#bury(row, state);
    this.#vacateIfClosed();
  }

  /** @param {number} record */
  #permits(record) {
    return this.#view(record + RECORD, Permits.BYTE_LENGTH / 4);
  }

  /**
   * Gives back what an agent has, and then its row. It has ended, and this agent watched it.
   *
   * @param {number} row
   * @param {number} id
   */
  #bury(row, id) {
    this.#inherit(row);
    this.#release(id);
    this.#wake();
    Atomics.add(this.#words, EPOCH, 1);
    this.#vacate(row, id);
  }

  /**
   * The dead agent's own workers end with it. Where the engine tells of each of them, this agent
   * watches them from now on.
   *
   * @param {number} dead its row
   */
  #inherit(dead) {
    for (const row of this.#rows()) {
      if (row === dead || !this.#isOf(row, dead)) continue;
      const state = this.#load(row);
      if (state < 0) {
        this.#vacate(row, state);
        notify(this.#words, row);
      } else if (this.#load(row + HOW) === EXITS) this.#bury(row, state);
      else {
        Atomics.store(this.#words, row + WATCHER, self);
        this.#follow({ ...this.handle, row, seat: SEAT | this.#load(row + GENERATION) });
      }
    }
  }

  /**
   * Frees what an agent holds, and wakes in its stead whom it may have been about to wake.
   *
   * @param {number} id
   */
  #release(id) {
    const words = this.#words;
    for (const record of this.#records()) {
      const mutex = this.#view(record + MUTEX, 4);
      const once = this.#view(record + OTHER, 2);
      const kind = KINDS[(words[record + TYPE] & 0xff) - 1];
      const table = hasTable(words[record + TYPE] & 0xff) ? this.#permits(record) : undefined;
      const isOnce = kind === 'Once' && onceRunner(once) === id;
      // First: those that are woken look at it.
      if (isOnce || mutexOwner(mutex) === id || (table && permitsOf(table, id)))
        Atomics.add(words, record + RECOVERIES, 1);
      if (table) permitsBuryStep(table, id);
      if (kind === 'Mutex') robustBury(mutex, id);
      if (table && kind === 'RWTable') buryTable(mutex, table, id);
      if (isOnce) onceEndStep(once, id, false);
    }
  }

  /**
   * Wakes all waiters of anything but a mutex: the dead may have changed a word, and not have come
   * to notify, or have been woken in place of others. No word tells.
   */
  #wake() {
    for (const record of this.#records()) {
      const number = this.#words[record + TYPE] & 0xff;
      const kind = KINDS[number - 1];
      const words = this.#view(record + OTHER, 8);
      if (kind === 'Mutex' || kind === 'bytes') continue;
      // The dead may have freed a permit, and not have said so: this says it for any agent.
      if (hasTable(number)) permitsBuryStep(this.#permits(record), NOBODY);
      if (kind === 'Semaphore') semBuryStep(words);
      for (let word = 0; word < words.length; word++) notify(words, word);
    }
  }
}

const unexpected = () =>
  new LockError('this thread is no longer expected: the worker of this handle has joined or ended');

/**
 * Whether this state of a row is that of a free one.
 *
 * @param {number} state
 */
const isFree = (state) => state >= 0 && state <= GENERATIONS;

/**
 * Whether 1024 bytes of permits lie behind a record of this kind.
 *
 * @param {number} kind
 */
const hasTable = (kind) => kind === PERMITS || kind === RWTABLE;

/**
 * Frees the mutex of an RWTable, and notes that a writer died. A reader holds the mutex for a
 * moment, and a writer also until all readers have gone: then the data are as they were.
 *
 * @param {import('./wait.js').Words} mutex
 * @param {import('./wait.js').Words} table
 * @param {number} id
 */
function buryTable(mutex, table, id) {
  if (Atomics.load(table, LW_PERMITS_WRITER) === id) {
    // The fate first: if this agent ends in between, the next one finds no writer any more.
    robustMourn(mutex);
    Atomics.store(table, LW_PERMITS_WRITER, 0);
  }
  mutexBuryStep(mutex, id);
}

/**
 * @param {any} memory
 * @returns {SharedArrayBuffer}
 */
function bufferOf(memory) {
  // By their names: they may be of another realm.
  const nameOf = (/** @type {any} */ it) => it?.[Symbol.toStringTag];
  const buffer = nameOf(memory) === 'WebAssembly.Memory' ? memory.buffer : memory;
  if (nameOf(buffer) !== 'SharedArrayBuffer')
    throw new TypeError(
      'memory must be a SharedArrayBuffer, or a WebAssembly.Memory that is shared',
    );
  return buffer;
}

/**
 * @param {SharedArrayBuffer} buffer
 * @param {number} byteOffset
 * @param {number} byteLength
 * @returns {import('./wait.js').Words}
 */
function wordsAt(buffer, byteOffset, byteLength) {
  assertInteger(byteOffset, 0, buffer.byteLength, 'byteOffset');
  assertInteger(byteLength, 0, buffer.byteLength - byteOffset, 'byteLength');
  if (byteOffset % 64)
    throw new RangeError(`byteOffset must be a multiple of 64, not ${byteOffset}`);
  return new Int32Array(buffer, byteOffset, byteLength / 4);
}

/**
 * @param {SharedArrayBuffer} buffer
 * @param {number} byteOffset
 */
function regionAt(buffer, byteOffset) {
  const end = buffer.byteLength - (buffer.byteLength % 4);
  const header = wordsAt(buffer, byteOffset, Math.min(4 * HEADER, end - byteOffset));
  const [, second, version, size] = header;
  const fits =
    header.length === HEADER &&
    size % 64 === 0 &&
    byteOffset + size <= buffer.byteLength &&
    4 * (HEADER + ROW * header[AGENTS] + header[ENTRIES]) < size;
  if (Atomics.load(header, 0) !== MAGIC[0] || second !== MAGIC[1])
    throw new RangeError('there is no region here');
  if (version !== THIS_VERSION || !fits)
    throw new RangeError('this region is damaged, or of another version of lockword');
  return wordsAt(buffer, byteOffset, size);
}
