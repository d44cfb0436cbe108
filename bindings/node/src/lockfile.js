/**
 * lockword-region/lockfile: the calls of proper-lockfile, by the mutexes of a region. A change of
 * the import makes a program that locks files wait instead of poll, and its locks never go stale.
 *
 *     import { lock } from 'lockword-region/lockfile';
 *     const release = await lock('settings.json', { retries: 5 });
 *     try { … } finally { await release(); }
 *
 * No lock file is made. All programs of this user that use these calls exclude each other, as well
 * as `lockword run`, if it is given the name that `lockName` returns.
 */

import { createHash } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import process from 'node:process';

import { LockError } from '../../../js/src/errors.js';
import { RemovedError } from './errors.js';
import { open } from './region.js';

/**
 * @typedef {object} Retries as of npm's `retry`
 * @property {number} [retries] how often to try again; the default is 10. Infinity: as `forever`
 * @property {number} [factor] how many times as long each pause is as the one before; 2
 * @property {number} [minTimeout] the first pause, in ms; 1000
 * @property {number} [maxTimeout] the longest pause, in ms; no limit
 * @property {number} [maxRetryTime] after so long, in ms, there is no other try; no limit
 * @property {boolean} [randomize] makes each pause up to twice as long: here it has no meaning
 * @property {boolean} [forever] waits as long as it takes
 *
 * @typedef {object} FileOptions
 * @property {boolean} [realpath] resolves links, so that the file must exist; the default is true
 * @property {string} [lockfilePath] what is locked in place of FILE.lock
 * @property {number} [stale] has no meaning: a dead holder's lock is free at once
 * @property {undefined} [fs] must not be given: no lock file is made
 *
 * @typedef {object} LockOptions
 * @property {number | Retries} [retries] how long to wait: as long as so many tries would take. The
 *   default, 0, does not wait
 * @property {number} [update] has no meaning: nothing has to be renewed
 * @property {(error: Error) => void} [onCompromised] is never called: a lock that is held is held
 */

/** A lock was refused, or is not there to be released. */
export class LockFileError extends LockError {
  name = 'LockFileError';

  /**
   * @internal
   * @param {'ELOCKED' | 'ENOTACQUIRED' | 'ERELEASED' | 'ESYNC'} code
   * @param {string} message
   * @param {string} [file]
   */
  constructor(code, message, file) {
    super(message);
    /** @readonly As proper-lockfile has it. */
    this.code = code;
    /** @readonly */
    this.file = file;
  }
}

const OPTIONS = ['realpath', 'lockfilePath', 'stale', 'fs', 'retries', 'update', 'onCompromised'];

/** @param {FileOptions & LockOptions} options */
function assertOptions(options) {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.includes(name)) throw new TypeError(`no such option: ${name}`);
  }
  if (options.fs) throw new TypeError('fs: no lock file is made, in whichever file system');
}

/** @type {import('./region.js').Region | undefined} */
let region;

/** This user's region, in which `lockword run` has its locks, too. */
function userRegion() {
  region ??= open(process.env.LOCKWORD_REGION || `/dev/shm/lockword-${process.getuid?.()}`);
  return region;
}

/** What fits into a name, in bytes. */
const LONGEST = 55;

/** @param {string} text */
const lengthOf = (text) => new TextEncoder().encode(text).length;

/**
 * The name of a file's lock in the region: its path or, if that is too long, the end of its path
 * behind a hash of all of it.
 *
 * @param {string} path absolute
 */
export function lockName(path) {
  if (lengthOf(path) <= LONGEST) return path;
  const hash = createHash('sha256').update(path).digest('base64url').slice(0, 22);
  const name = `${hash}:${path.slice(path.lastIndexOf('/') + 1)}`;
  return lengthOf(name) <= LONGEST ? name : hash;
}

/** The names that `lockName` makes. */
const NAMES = /^\/|^[\w-]{22}(:|$)/;

/**
 * Removes the names of files that nobody has locked and that are in this state. Others that have
 * just found one try again.
 *
 * @param {'sound' | 'owner died'} wanted
 */
function forgetFiles(wanted) {
  for (const { name, type, state, holder, waiters } of userRegion().list()) {
    if (type !== 'Mutex' || !NAMES.test(name) || state !== wanted || holder || waiters) continue;
    try {
      userRegion().remove(name);
    } catch (/** @type {any} */ error) {
      if (error.code !== 'EBUSY') throw error;
    }
  }
}

/**
 * The mutex of this name. If the region is full, names of files make room. Only if these are not
 * enough, a death is forgotten of which the next one would be told.
 *
 * @param {string} name
 */
function mutexOf(name) {
  for (const state of /** @type {const} */ (['sound', 'owner died'])) {
    try {
      return userRegion().mutex(name);
    } catch (/** @type {any} */ error) {
      if (error.code !== 'ENOSPC') throw error;
      forgetFiles(state);
    }
  }
  return userRegion().mutex(name);
}

const SHARED = Symbol.for('lockword.lockfile');

/**
 * The locks that this thread holds: their releases, by name. Copies of this module share them, as
 * the ES module and the CommonJS.
 *
 * @type {Map<string, () => void>}
 */
const held = Reflect.get(globalThis, SHARED) ?? new Map();
Reflect.set(globalThis, SHARED, held);

/**
 * The name of a file's lock. A call that waits comes into line before it returns, so this does not
 * wait for the file system.
 *
 * @param {string} file
 * @param {FileOptions & LockOptions} options
 */
function nameOf(file, options) {
  assertOptions(options);
  const path = options.realpath === false ? resolve(file) : realpathSync(file);
  return lockName(resolve(options.lockfilePath ?? `${path}.lock`));
}

/**
 * How long so many tries would take, in ms.
 *
 * @param {number | Retries} given
 */
function patience(given) {
  const options = typeof given === 'number' ? { retries: given } : given;
  const { retries = 10, factor = 2, minTimeout = 1000, maxTimeout = Infinity } = options;
  const { forever, maxRetryTime = Infinity } = options;
  if (forever || retries === Infinity) return maxRetryTime;
  let sum = 0;
  for (let i = 0; i < retries; i++)
    sum += Math.min(Math.max(minTimeout, 1) * factor ** i, maxTimeout);
  return Math.min(sum, maxRetryTime);
}

/**
 * @param {string} file
 * @param {string} name
 * @param {import('./mutex.js').RegionMutex} mutex it is held
 */
function hold(file, name, mutex) {
  const release = () => {
    // By itself: the name may be that of a later lock by now.
    if (held.get(name) !== release)
      throw new LockFileError('ERELEASED', 'Lock is already released', file);
    held.delete(name);
    mutex.unlock();
  };
  held.set(name, release);
  return release;
}

/** @param {string} file */
const locked = (file) => new LockFileError('ELOCKED', 'Lock file is already being held', file);

/** @param {string} file */
const notHeld = (file) =>
  new LockFileError('ENOTACQUIRED', 'Lock is not acquired/owned by you', file);

/**
 * Locks a file for this thread. A file that this thread has locked is not locked a second time: the
 * call waits, or is refused.
 *
 * @param {string} file
 * @param {FileOptions & LockOptions} [options]
 * @returns {Promise<() => Promise<void>>} releases the lock; rejects with ERELEASED the second time
 * @throws {LockFileError} ELOCKED: another one holds it, and the time is up
 */
export async function lock(file, options = {}) {
  const name = nameOf(file, options);
  const deadline = performance.now() + patience(options.retries ?? 0);
  for (;;) {
    const mutex = mutexOf(name);
    try {
      if (!(await mutex.lockAsync(Math.max(deadline - performance.now(), 0)))) throw locked(file);
    } catch (error) {
      if (error instanceof RemovedError) continue; // by forgetFiles
      throw error;
    }
    const release = hold(file, name, mutex);
    return async () => release();
  }
}

/**
 * `lock`, which never waits.
 *
 * @param {string} file
 * @param {FileOptions & LockOptions} [options]
 * @returns {() => void}
 * @throws {LockFileError} ELOCKED: another one holds it; ESYNC: retries were asked for
 */
export function lockSync(file, options = {}) {
  const name = nameOf(file, options);
  if (options.retries && patience(options.retries) > 0)
    throw new LockFileError('ESYNC', 'Cannot use retries with the sync api', file);
  for (;;) {
    const mutex = mutexOf(name);
    try {
      if (!mutex.tryLock()) throw locked(file);
      return hold(file, name, mutex);
    } catch (error) {
      if (!(error instanceof RemovedError)) throw error;
    }
  }
}

/**
 * Releases a file that this thread has locked.
 *
 * @param {string} file
 * @param {FileOptions} [options]
 * @throws {LockFileError} ENOTACQUIRED: it has not
 */
export async function unlock(file, options = {}) {
  const release = held.get(nameOf(file, options));
  if (!release) throw notHeld(file);
  release();
}

/**
 * The same, at once.
 *
 * @param {string} file
 * @param {FileOptions} [options]
 */
export function unlockSync(file, options = {}) {
  const release = held.get(nameOf(file, options));
  if (!release) throw notHeld(file);
  release();
}

/**
 * Returns whether a file is locked. It may be outdated when the caller looks at it.
 *
 * @param {string} file
 * @param {FileOptions} [options]
 * @returns {Promise<boolean>}
 */
export async function check(file, options = {}) {
  return Boolean(userRegion().describe(nameOf(file, options))?.holder);
}

/**
 * The same, at once.
 *
 * @param {string} file
 * @param {FileOptions} [options]
 * @returns {boolean}
 */
export function checkSync(file, options = {}) {
  return Boolean(userRegion().describe(nameOf(file, options))?.holder);
}

export default { lock, unlock, check, lockSync, unlockSync, checkSync };
