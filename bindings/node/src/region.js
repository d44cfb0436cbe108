/** A region: named locks in a file, for all processes of this machine that open it. */

import { constants } from 'node:os';
import process from 'node:process';

import { Barrier } from '../../../js/src/barrier.js';
import { Counter } from '../../../js/src/counter.js';
import { Event } from '../../../js/src/event.js';
import '../../../js/src/inspect.js';
import { Latch } from '../../../js/src/latch.js';
import { Once } from '../../../js/src/once.js';
import { assertOptions } from '../../../js/src/options.js';
import { Permits } from '../../../js/src/permits.js';
import { RWLock } from '../../../js/src/rwlock.js';
import { RWTable } from '../../../js/src/rwtable.js';
import { Semaphore } from '../../../js/src/semaphore.js';
import { WaitGroup } from '../../../js/src/waitgroup.js';
import { assertInteger } from '../../../js/src/waiting.js';
import { addon } from './addon.js';
import { become } from './agent.js';
import { RegionCondition } from './condition.js';
import { dispose, inWords, RegionMutex } from './mutex.js';
import { RegionRecursiveMutex } from './rmutex.js';
import { closed, Domain } from './wait.js';

/**
 * @typedef {object} OpenOptions
 * @property {boolean | undefined} [create] makes the region if there is none yet; the default is
 *   true
 * @property {boolean | undefined} [exclusive] throws EEXIST if there is one
 * @property {boolean | undefined} [anyOwner] opens a file that belongs to another user, too
 * @property {number | undefined} [mode] of a new file, less the umask; the default is 0o600
 * @property {number | undefined} [size] of a new file, in bytes: 324 KiB, and the rest half for
 *   names, 128 each, half for `bytes`; the default has room for 2048 names, and 256 KiB for `bytes`
 *
 * @typedef {object} Description what is known of a name; it may be old when you read it
 * @property {string} name
 * @property {Kind} type
 * @property {'sound' | 'owner died' | 'abandoned'} state of what it guards
 * @property {{ pid: number, tid: number, name: string } | undefined} holder the thread that holds
 *   it
 * @property {number} waiters how many threads are blocked by it; pending promises do not count
 * @property {number} longestWait of those, in ms
 * @property {number} acquisitions how often it was taken, modulo 2^32
 * @property {number} contended how often a thread that took it had to wait or to spin
 * @property {number} recoveries how often a holder died
 * @property {number} byteLength of a range of bytes
 * @property {number} permits how many permits there are
 * @property {number} held how many of them have owners
 *
 * @typedef {(typeof KINDS)[number]} Kind what a name is the name of
 */

const CREATE = 1;
const EXCLUSIVE = 2;
const ANY_OWNER = 4;

const {
  EAGAIN,
  EBADMSG,
  EBUSY,
  EEXIST,
  EINVAL,
  ELOOP,
  EMFILE,
  ENAMETOOLONG,
  ENOENT,
  ENOSPC,
  EPERM,
  EPROTO,
} = constants.errno;

/** What errors of regions mean. Others are the system's. @type {Record<number, string>} */
const MEANINGS = {
  [EAGAIN]: 'the region has no room for another process or thread, or no thread can be started',
  [EBADMSG]: 'the file is no region, or is damaged',
  [EBUSY]: 'a thread holds it, or waits for it',
  [EEXIST]: 'the name is that of something else, or of another number of permits or bytes',
  [EINVAL]: 'the name or the number is out of range',
  [ELOOP]: 'a symbolic link is not followed',
  [EMFILE]: 'this process has 64 regions open',
  [ENAMETOOLONG]: 'a name has at most 55 bytes',
  [ENOENT]: 'no such file',
  [ENOSPC]: 'no room for another name, or for so many bytes; or on the disk',
  [EPERM]: 'the file belongs to another user: use anyOwner',
  [EPROTO]: 'the region was made by another version of lockword',
};

/** The same where they mean something else to `open`. @type {Record<number, string>} */
const MEANINGS_TO_OPEN = {
  [EEXIST]: 'the file exists',
  [EINVAL]: 'not a regular file, or the size is out of range',
  [ENOSPC]: 'no room on the disk',
};

/**
 * @param {number} errno
 * @param {string} syscall
 * @param {string} path
 */
function systemError(errno, syscall, path) {
  const [code] = Object.entries(constants.errno).find(([, n]) => n === errno) ?? [`E${errno}`];
  const meaning = (syscall === 'open' && MEANINGS_TO_OPEN[errno]) || MEANINGS[errno];
  const why = meaning ? `: ${meaning}` : '';
  return Object.assign(new Error(`${code}${why}, ${syscall} '${path}'`), {
    code,
    errno: -errno,
    syscall,
    path,
  });
}

/** @param {unknown} text */
function assertText(text, what = 'name') {
  if (typeof text !== 'string') throw new TypeError(`${what} must be a string, not ${typeof text}`);
  if (text.includes('\0')) throw new TypeError(`${what} must not contain a 0 byte`);
}

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

/** From a slot's mutex to its other words, the first of which is a depth: src/region/layout.h. */
const MUTEX_TO_OTHER = 32;

/** The pages of WebAssembly, in bytes. */
const PAGE = 65536;

/**
 * What the addon calls. After a close the engine keeps it until the event loop has turned, so that
 * it must not keep the region's memory, which takes 8 GiB of addresses.
 *
 * @param {{ domain?: Domain | undefined }} told
 */
const heardBy = (told) => (/** @type {number} */ moved) => told.domain?.heard(moved);

/**
 * A region that this thread has open.
 *
 * What this thread holds when it closes the region, or ends in whatever way, becomes free, and the
 * next holder is told. A thread that has the region open keeps no process alive.
 */
export class Region {
  /** @type {import('./wait.js').State} */
  #state;
  /** @type {{ domain?: Domain | undefined }} */
  #told = {};

  /** @readonly */
  path;

  /**
   * The region as a WebAssembly.Memory, which does not grow: an instance that imports it finds what
   * `bytes` returns at its byteOffset. Nothing in it may be the module's own: neither data nor a
   * stack, but where `bytes` has made room.
   *
   * @readonly
   * @type {any} WebAssembly.Memory
   */
  memory;

  /**
   * @internal
   * @param {string} path
   * @param {OpenOptions} options
   */
  constructor(path, options) {
    assertText(path, 'path');
    assertOptions(options, { create: 0, exclusive: 0, anyOwner: 0, mode: 0, size: 0 });
    const { create = true, exclusive, anyOwner, mode = 0o600, size = 0 } = options;
    assertInteger(mode, 0, 0o7777, 'mode');
    assertInteger(size, 0, 2 ** 32 - 1, 'size');
    const flags = (create ? CREATE : 0) | (exclusive ? EXCLUSIVE : 0) | (anyOwner ? ANY_OWNER : 0);
    // Its engine takes the memory from a heap, and writes to it when it is free.
    if (process.versions.bun)
      throw new Error('lockword-region does not run on Bun, which allows no file as shared memory');
    /** @type {any} */
    let memory;
    const opened = addon.open(path, flags, mode, size, heardBy(this.#told));
    if (typeof opened === 'number') throw systemError(opened, 'open', path);
    const { handle, byteLength } = opened;
    try {
      const pages = Math.ceil(byteLength / PAGE);
      memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
      const buffer = /** @type {SharedArrayBuffer} */ (memory.buffer);
      const errno = addon.map(handle, new Uint8Array(buffer));
      if (errno) throw systemError(errno, 'mmap', path);
      const [error, self, busy] = addon.agent(handle);
      if (error) throw systemError(error, 'open', path);
      const domain = new Domain(handle, buffer, new Int32Array(buffer, busy, 12));
      this.#told.domain = domain;
      this.#state = { buffer, domain, self, describe: (name) => this.describe(name) };
    } catch (error) {
      addon.close(handle);
      throw error;
    }
    this.path = path;
    this.memory = memory;
  }

  #handle() {
    if (!this.#state.self) throw closed();
    return this.#state.domain.handle;
  }

  /**
   * Finds the mutex of this name, or makes it. All who ask for the same name, in any process, get
   * the same mutex.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {RegionMutex}
   */
  mutex(name) {
    return this.#mutex(name, 'Mutex').mutex;
  }

  /**
   * Finds the recursive mutex of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {RegionRecursiveMutex}
   */
  recursiveMutex(name) {
    const { mutex, offset } = this.#mutex(name, 'RecursiveMutex');
    return new RegionRecursiveMutex(
      mutex,
      new Int32Array(this.#state.buffer, offset + MUTEX_TO_OTHER, 1),
    );
  }

  /**
   * @param {string} name
   * @param {'Mutex' | 'RecursiveMutex'} kind
   */
  #mutex(name, kind) {
    assertText(name);
    const [error, offset, fate] = addon.mutex(this.#handle(), name, KINDS.indexOf(kind) + 1);
    if (error) throw systemError(error, 'mutex', name);
    return { mutex: new RegionMutex(this.#state, name, offset, fate), offset };
  }

  /**
   * Finds the semaphore of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} [permits] of a new one
   * @returns {import('lockword').Semaphore}
   */
  semaphore(name, permits = 0) {
    return this.#find(name, Semaphore.create(permits));
  }

  /**
   * Finds the permits of this name, or makes them: at most n threads of all processes have one at a
   * time, and those that a dead thread had are free again.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} n how many there are, 1 to 252; EEXIST is thrown if there is another number
   * @returns {Permits}
   */
  permits(name, n) {
    assertText(name);
    Permits.initial(n); // checks it
    const [error, offset, slot] = addon.permits(this.#handle(), name, n);
    if (error) throw systemError(error, 'permits', name);
    return this.#permits(name, offset, slot);
  }

  /**
   * @param {string} name
   * @param {number} offset
   * @param {number} slot of the name
   * @returns {any} Permits
   */
  #permits(name, offset, slot) {
    this.#state.domain.slots.set(offset, slot);
    return this.#bind(new Permits(), name, offset);
  }

  /**
   * Finds the event of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {{ autoReset?: boolean | undefined }} [options] of a new one
   * @returns {import('lockword').Event}
   */
  event(name, options) {
    return this.#find(name, Event.create(options));
  }

  /**
   * Finds the counter of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} [value] of a new one
   * @returns {import('lockword').Counter}
   */
  counter(name, value) {
    return this.#find(name, Counter.create(value));
  }

  /**
   * Finds the wait group of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {import('lockword').WaitGroup}
   */
  waitGroup(name) {
    return this.#find(name, new WaitGroup());
  }

  /**
   * Finds the latch of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} count of a new one
   * @returns {import('lockword').Latch}
   */
  latch(name, count) {
    return this.#find(name, Latch.create(count));
  }

  /**
   * Finds the barrier of this name, or makes it.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} parties of a new one
   * @returns {import('lockword').Barrier}
   */
  barrier(name, parties) {
    return this.#find(name, Barrier.create(parties));
  }

  /**
   * Finds the condition of this name, or makes it. It works with a mutex of the region. A
   * `waitAsync` may end without a notify: check the condition in a loop, or let `waitForAsync` do
   * it.
   *
   * A wait unlocks the mutex, and so declares that what it guards is sound: if `ownerDied`, mend
   * that first. The mutex is held again when the wait ends, unless it is lost meanwhile: then the
   * wait throws an AbandonedError, RemovedError or ClosedError.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {import('./condition.js').ConditionOfRegion}
   */
  condition(name) {
    return this.#find(name, new RegionCondition());
  }

  /**
   * Finds the once of this name, or makes it. If its runner dies, the next thread runs it.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {import('lockword').Once}
   */
  once(name) {
    return this.#find(name, new Once());
  }

  /**
   * Finds the read-write lock of this name, or makes it. If a holder dies, it stays locked.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {import('lockword').RWLock}
   */
  rwlock(name) {
    return this.#find(name, new RWLock());
  }

  /**
   * Finds the read-write lock of this name that knows its readers, or makes it. What a thread has
   * that dies is free again, and a writer's death is told of: `ownerDied`.
   *
   * @param {string} name of 1 to 55 bytes
   * @returns {RWTable}
   */
  rwtable(name) {
    assertText(name);
    const [error, offset, fate, readers, slot] = addon.rwtable(this.#handle(), name);
    if (error) throw systemError(error, 'rwtable', name);
    const mutex = new RegionMutex(this.#state, name, offset, fate);
    return new RWTable(mutex, this.#permits(name, readers, slot));
  }

  /**
   * Finds the range of bytes of this name, or makes it, full of zeros. All processes that ask for
   * it see the same bytes; guard them by a mutex, or use Atomics. The memory stays what it is after
   * `close()`.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number} byteLength
   * @returns {Uint8Array} at a multiple of 64 of the region's SharedArrayBuffer;
   *   EEXIST is thrown if the range has another length
   */
  bytes(name, byteLength) {
    assertText(name);
    assertInteger(byteLength, 1, 2 ** 32 - 1, 'byteLength');
    const [error, offset] = addon.bytes(this.#handle(), name, byteLength);
    if (error) throw systemError(error, 'bytes', name);
    return new Uint8Array(this.#state.buffer, offset, byteLength);
  }

  /**
   * Finds what has this name, or makes it equal to `fresh`, which is of the same class. Its words
   * are out of reach when the region is closed, and it cannot be posted: the waiting domain belongs
   * to a thread that has opened the region.
   *
   * @param {string} name
   * @param {any} fresh
   * @returns {any}
   */
  #find(name, fresh) {
    assertText(name);
    const Class = fresh.constructor;
    const kind = KINDS.indexOf(Class.type) + 1;
    const [error, offset] = addon.named(this.#handle(), name, kind, fresh.words);
    if (error) throw systemError(error, 'find', name);
    return this.#bind(fresh, name, offset);
  }

  /**
   * Lets `fresh` have the words at this byte.
   *
   * @param {any} fresh
   * @param {string} name
   * @param {number} offset
   */
  #bind(fresh, name, offset) {
    const { words } = new fresh.constructor(this.#state.buffer, offset);
    const toString = { value: () => this.#textOf(fresh, name) };
    return Object.defineProperties(fresh, {
      words: { get: () => (this.#handle(), become(this.#state.self), words) },
      handle: {
        get() {
          throw new TypeError('open the region in the other thread, and find the name there');
        },
      },
      toString,
      [Symbol.for('nodejs.util.inspect.custom')]: toString,
    });
  }

  /**
   * The state of a primitive in words, as lockword/inspect has them, with the names of the region.
   *
   * @param {any} primitive
   * @param {string} name
   */
  #textOf(primitive, name) {
    const { type, prototype } = primitive.constructor;
    const named = (/** @type {string} */ state) => `${type} '${name}' { ${state} }`;
    if (!this.#state.self) return named('closed');
    const found = this.describe(name);
    if (!found) return named('removed');
    const [, state] = /\{ (.*) \}/.exec(prototype.toString.call(primitive)) ?? [];
    const holder = inWords(found.holder) ?? 'a thread that has just left';
    return named(`${state}`.replace(/(thread|agent) \w+( \(this one\))?(?=$|,)/, holder));
  }

  /**
   * All names, with what is known of them.
   *
   * @returns {Description[]}
   */
  list() {
    return addon.list(this.#handle()).map(description);
  }

  /**
   * What is known of a name.
   *
   * @param {string} name
   * @returns {Description | undefined} undefined: there is no such name
   */
  describe(name) {
    assertText(name);
    const info = addon.list(this.#handle(), name);
    return info && description(info);
  }

  /**
   * Removes a name, and frees its place. A thread that still has the mutex gets a RemovedError. All
   * else must not be in use, nor be used afterwards: its place may get another name.
   *
   * @param {string} name
   * @returns {boolean} false: there was no such name; throws EBUSY if a thread holds it or,
   *   but for a mutex, is blocked by it
   */
  remove(name) {
    assertText(name);
    const error = addon.remove(this.#handle(), name);
    if (error && error !== ENOENT) throw systemError(error, 'remove', name);
    return !error;
  }

  /**
   * Gives this thread a name, which `list` and `describe` tell of a holder. By default it is the
   * name that the system has of the thread.
   *
   * @param {string} name of at most 31 bytes
   */
  nameThread(name) {
    assertText(name);
    const error = addon.nameThread(this.#handle(), name);
    if (error) throw systemError(error, 'nameThread', name);
  }

  /**
   * Closes the region for this thread. What the thread holds becomes free, as after its death, and
   * its pending calls are rejected with a ClosedError. Where the thread has opened the file several
   * times, it is one holder, and what it holds becomes free with the last close.
   */
  close() {
    const { domain, self } = this.#state;
    if (!self) return;
    this.#state.self = 0;
    domain.end();
    this.#told.domain = undefined;
    addon.close(domain.handle);
  }

  /** The same as `close()`, called at the end of a `using` block. */
  [dispose]() {
    this.close();
  }
}

/**
 * @param {import('./addon.js').Info} info
 * @returns {Description}
 */
function description(info) {
  const { name, fate, holderPid, holderTid, holder, waiters, longestMs } = info;
  const { acquisitions, contended, recoveries, kind, size, permits, held } = info;
  return {
    name,
    type: KINDS[kind - 1],
    state: fate === 0 ? 'sound' : fate === EOWNERDEAD ? 'owner died' : 'abandoned',
    holder: holderPid ? { pid: holderPid, tid: holderTid, name: holder } : undefined,
    waiters,
    longestWait: longestMs,
    acquisitions,
    contended,
    recoveries,
    byteLength: size,
    permits,
    held,
  };
}

/** Node has no name for it; include/lockword/errors.h. */
const EOWNERDEAD = 130;

/**
 * Opens the region in the file at this path, such as '/dev/shm/jobs', and makes it if there is
 * none. All threads that use it open it, in whichever process; those of one process count as one
 * process. A thread opens a file once, and not for each use: each `open` needs a `close`, since no
 * region is closed by the garbage collector.
 *
 * @param {string} path
 * @param {OpenOptions} [options]
 * @returns {Region}
 * @throws with a `code`: EPERM: the file belongs to another user; EBADMSG: it is no region; EPROTO:
 *   it is one of another version; or what the system says: ENOENT, EACCES, ELOOP, ENOSPC
 */
export function open(path, options = {}) {
  return new Region(path, options);
}
