/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Named locks that machines share, as leases on an etcd cluster: the same queue as lw_lease in C,
 * whose manual (include/lockword/lease.h) says what is promised, and why.
 *
 *     import { connect } from 'lockword/lease';
 *     const cluster = connect('etcd://a:2379,b:2379,c:2379');
 *     await cluster.runExclusive('accounts', async ({ token, lost }) => {
 *       await fetch(url, { method: 'PUT', headers: { 'if-newer-than': `${token}` }, signal: lost });
 *     });
 *
 * A lock is a queue of keys in etcd, lockword/NAME/LEASE, each with a lease of its own. The holder
 * has the key that was created first. Each other one watches the key before its own.
 *
 * For Node, Deno and Bun: it asks etcd's JSON gateway by `fetch`, which a page may not. Each waiter
 * has a request under way. Bun makes at most 256 at once (BUN_CONFIG_MAX_HTTP_REQUESTS), and holds
 * renewals back beside more waiters. Deno and Bun ask through HTTP_PROXY where that is set: name
 * the servers in NO_PROXY. Deno lets others read the host's name with --allow-sys=hostname only. It
 * repeats by itself a request whose connection breaks: then `unlock` may say that a lease was lost
 * which it has just freed.
 */

import { hostname } from 'node:os';

import { LockError, TimeoutError } from './errors.js';
import { listen, signalOf, timeoutOf } from './options.js';
import { assertInteger } from './waiting.js';

/**
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 *
 * @typedef {object} LeaseOptions
 * @property {number | undefined} [ttl] after so many ms without a renewal etcd frees the lock:
 *   2,000 to 3,600,000, rounded up to seconds; 10,000 by default. etcd may make it longer
 * @property {string | undefined} [holder] any text about the holder, for others to read; by
 *   default, what this process runs
 *
 * @typedef {WaitOptions & LeaseOptions} LockOptions
 *
 * @typedef {object} LeaseInfo one that holds a lock, or waits for it
 * @property {string} name
 * @property {number} place in the line of this name: 0 holds the lock, 1 is next
 * @property {bigint} token of its lease
 * @property {number} came since when it has been in the line: ms since 1970 by its machine's wall
 *   clock; 0: unknown
 * @property {number} held since when it holds the lock, if it had to wait for it; 0: it has never
 *   waited, or has not said yet, as in its first second
 * @property {number} pid of its process; 0: unknown
 * @property {string} host its machine; '': unknown
 * @property {string} holder the text about it
 *
 * @typedef {{ [name: string]: any }} Reply what the gateway says; it writes 64-bit numbers as
 *   strings. isLater: the request was repeated, and an earlier try may have done it
 * @typedef {{ running: number, wall: number }} Moment
 * @typedef {{ signal?: Signal, until: number }} Limits of a request; until: of performance.now
 *
 * @typedef {import('./options.js').Signal} Signal
 * @typedef {typeof globalThis extends { AbortSignal: { prototype: infer S } } ? S : Signal} LostSignal
 *   an AbortSignal
 */

const { fetch, process, AbortController, TextDecoder } = /** @type {any} */ (globalThis);

const DEFAULT_TTL = 10_000;

const OPTIONS = { timeout: 0, signal: 0, ttl: 0, holder: 0 };

/**
 * In parts of the time-to-live: when the next renewal is due, and when the lease is lost. What is
 * left is for the holder to stop in, and for clocks that run at different speed.
 */
const RENEW = 2 / 8;
const STOP = 5 / 8;

/** One server has an eighth of the time-to-live for its response, but no longer than so many ms. */
const MOST_PATIENCE = 5000;

/**
 * In the time that so many servers have, a waiter looks at the queue again: a watch may be mute.
 */
const ROUNDS = 10;

/** Before the first server is asked again, ms. */
const PAUSE = 100;

/** A response has so many keys at most. */
const PAGE = 256;

/** So many leases that do not exist, one after the other: these servers are not one cluster. */
const MOST_IN_VAIN = 10;

/** A holder that had to wait writes down since when it holds the lock, after so long, ms. */
const NOTE_AFTER = 1000;

/** A response that is longer is none, characters. */
const LONGEST = 2 ** 20;

/** The codes of gRPC that a retry does not change. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

/**
 * Symbol.asyncDispose, or what transpilers use in its stead where an engine has none.
 *
 * @type {typeof Symbol.asyncDispose}
 */
export const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

/** The lock was not taken, or was lost, for a reason that lies with etcd: `code` says which. */
export class LeaseError extends LockError {
  name = 'LeaseError';

  /**
   * @internal
   * @param {'ERR_UNREACHABLE' | 'ERR_REFUSED' | 'ERR_LEASE_LOST'} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** What etcd says of a lease or a key that it does not have. */
class Missing extends Error {}

/** A server failed, so that another one is to be asked. */
class Silence extends Error {
  /**
   * @param {string} [message]
   * @param {boolean} [isLate] it had too little time
   */
  constructor(
    message = "no response of etcd's JSON gateway (version 3.4 or later)",
    isLate = false,
  ) {
    super(message);
    this.isLate = isLate;
  }
}

/**
 * The clock that counts runs on, whatever happens to the time of day. On some systems it stands
 * while the machine sleeps; then the time of day tells. So whichever has moved more is right, or
 * too careful.
 *
 * @returns {Moment}
 */
const moment = () => ({ running: performance.now(), wall: Date.now() });

/** @param {Moment} since */
const passed = ({ running, wall }) => Math.max(performance.now() - running, Date.now() - wall);

/**
 * @param {number} ms
 * @param {Signal} [signal] ends it, by its reason
 * @returns {Promise<void>}
 */
const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });

/**
 * A 64-bit number, which JSON has as a string; 0 for anything else.
 *
 * @param {unknown} text
 */
const int64 = (text) =>
  /^-?\d{1,19}$/.test(`${text}`) ? BigInt.asIntN(64, BigInt(`${text}`)) : 0n;

/** @param {string} text */
const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/**
 * A transaction that reads the key where the comparison fails, so that each response has a result.
 *
 * @param {string} key
 * @param {'VERSION' | 'CREATE'} target
 * @param {string} value
 * @param {Reply} operation
 */
const transaction = (key, target, value, operation) => ({
  compare: [{ key, target, [target === 'VERSION' ? 'version' : 'create_revision']: value }],
  success: [operation],
  failure: [{ request_range: { key } }],
});

/**
 * Deletes the key, if it is still the same one.
 *
 * @param {string} key
 * @param {string} token
 */
const deletion = (key, token) =>
  transaction(key, 'CREATE', token, { request_delete_range: { key } });

/**
 * The keys of a name: from the first, with which each begins, to before the second.
 *
 * @param {string} name
 */
function lineOf(name) {
  const length = typeof name === 'string' ? new TextEncoder().encode(name).length : 0;
  if (typeof name !== 'string' || name.includes('\0'))
    throw new TypeError('name must be a string without a 0 byte');
  if (length < 1 || length > 55) throw new RangeError('a name has 1 to 55 bytes');
  const escaped = name.replace(/[/%]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return [`lockword/${escaped}/`, `lockword/${escaped}0`];
}

/** @param {string} bytes in base64 */
const decode = (bytes) =>
  new TextDecoder().decode(Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)));

/**
 * What a key and its value say. Whatever else than JSON stands there is a text about the holder.
 *
 * @param {Reply} key
 * @returns {LeaseInfo[]} none: it is another program's
 */
function infosOf({ key, value = '', create_revision }) {
  const [, escaped] = /^lockword\/([^/]+)\//.exec(decode(key)) ?? [];
  if (!escaped) return [];
  const text = decode(value);
  let said;
  try {
    said = Object(JSON.parse(text));
  } catch {
    said = {};
  }
  const number = (/** @type {any} */ of) => (typeof of === 'number' && of > 0 ? of : 0);
  const string = (/** @type {any} */ of, otherwise = '') =>
    typeof of === 'string' ? of : otherwise;
  return [
    {
      name: escaped.replace(/%2F/g, '/').replace(/%25/g, '%'),
      place: 0,
      token: int64(create_revision),
      came: number(said.came),
      held: number(said.held),
      pid: number(said.pid),
      host: string(said.host),
      holder: string(said.holder, text),
    },
  ];
}

/** The servers of a cluster, one of which is asked, and the next if it does not respond. */
class Etcd {
  #servers;
  #current = 0;

  /** @param {string} servers */
  constructor(servers) {
    if (typeof servers !== 'string' || !/^etcd:\/\/[^/@?#\s\\,:]/.test(servers))
      throw new TypeError(`write 'etcd://HOST:PORT,HOST:PORT', not ${String(servers)}`);
    this.#servers = servers.slice('etcd://'.length).split(',');
    for (const server of this.#servers)
      if (!/^(\[[\da-fA-F:.]+\]|[^/@?#\s\\:[\]]+)(:\d+)?$/.test(server))
        throw new TypeError(`no server: ${server || 'nothing between two commas'}`);
  }

  get #server() {
    return this.#servers[this.#current % this.#servers.length];
  }

  /**
   * Makes a request, of one server after another, until one responds.
   *
   * @param {string} path
   * @param {object} body
   * @param {number} patience how long one server has, ms
   * @param {Limits} limits
   * @returns {Promise<Reply>}
   * @throws {Missing} or a LeaseError, or the signal's reason
   */
  async ask(path, body, patience, { signal, until }) {
    let reason = 'the time was up';
    let isLater = false;
    for (let tried = 1; ; tried++) {
      const asked = this.#current;
      const ms = Math.max(Math.min(patience, until - performance.now()), 0);
      try {
        return await this.#fetch(path, body, ms, signal, async (response) => {
          let text = '';
          for await (const part of textOf(response)) text = joined(text, part);
          return { ...judge(path, response.status, text), isLater };
        });
      } catch (error) {
        if (!(error instanceof Silence)) throw error;
        // Whoever refuses a connection has got no request.
        isLater ||= !/refused/i.test(error.message);
        reason = `${this.#server}: ${error.message}`;
      }
      if (this.#current === asked) this.#current++;
      const rest = tried % this.#servers.length === 0 ? PAUSE : 0;
      if (performance.now() + rest >= until)
        throw new LeaseError('ERR_UNREACHABLE', `etcd does not respond: ${reason}`);
      if (rest) await pause(rest, signal);
    }
  }

  /**
   * Waits until the key is deleted after this revision, the time is up, or the server fails.
   *
   * @param {string} key
   * @param {string} revision
   * @param {Limits} limits
   */
  async watch(key, revision, { signal, until }) {
    const asked = this.#current;
    const start_revision = `${int64(revision) + 1n}`;
    const body = { create_request: { key, start_revision, filters: ['NOPUT'] } };
    try {
      await this.#fetch('watch', body, until - performance.now(), signal, async (response) => {
        let text = '';
        for await (const part of textOf(response)) {
          const lines = joined(text, part).split('\n');
          text = /** @type {string} */ (lines.pop());
          for (const line of lines) {
            const { result } = parse(line);
            if (!result || result.canceled) throw new Silence('the watch has ended');
            if (result.events) return;
          }
        }
        throw new Silence('the watch has ended');
      });
    } catch (error) {
      if (!(error instanceof Silence)) throw error;
      if (error.isLate) return;
      if (this.#current === asked) this.#current++;
      await pause(PAUSE, signal);
    }
  }

  /**
   * @template T
   * @param {string} path
   * @param {object} body
   * @param {number} ms
   * @param {Signal | undefined} signal
   * @param {(response: any) => Promise<T>} use
   * @returns {Promise<T>}
   */
  async #fetch(path, body, ms, signal, use) {
    if (signal?.aborted) throw signal.reason;
    const control = new AbortController();
    const abort = () => control.abort();
    signal?.addEventListener('abort', abort);
    // A timer takes 31 bits.
    const timer = setTimeout(abort, Math.min(ms, 2 ** 31 - 1));
    const server = this.#server;
    const port = /:\d+$/.test(server) ? '' : ':2379';
    try {
      const response = await fetch(`http://${server}${port}/v3/${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        signal: control.signal,
        redirect: 'error',
      });
      return await use(response);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof Missing || error instanceof LockError || error instanceof Silence)
        throw error;
      const { message, cause } = /** @type {any} */ (error);
      if (control.signal.aborted) throw new Silence('no response', true);
      throw new Silence(cause?.message || cause?.code || message);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      control.abort(); // ends a response that has no end
    }
  }
}

/**
 * The text of a response, as it comes.
 *
 * @param {any} response
 * @returns {AsyncGenerator<string, void>}
 */
async function* textOf({ body }) {
  const decoder = new TextDecoder();
  for (const reader = body.getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}

/**
 * @param {string} text
 * @param {string} part
 */
function joined(text, part) {
  if (text.length + part.length > LONGEST) throw new Silence();
  return text + part;
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    throw new Silence();
  }
}

/**
 * Whether a reply has what the caller reads. A field that is 0, false or empty is left out.
 *
 * @type {{ [path: string]: (reply: Reply) => unknown }}
 */
const IS_WHOLE = {
  'lease/grant': ({ ID, TTL }) => int64(ID) && int64(TTL) > 0n,
  'lease/keepalive': ({ result }) => int64(result?.header?.raft_term) > 0n,
  'lease/revoke': ({ header }) => header,
  'kv/range': ({ header }) => int64(header?.revision) > 0n,
  'kv/txn': ({ header, responses }) =>
    int64(header?.revision) > 0n &&
    (responses?.[0]?.response_range ??
      responses?.[0]?.response_put ??
      responses?.[0]?.response_delete_range),
};

/**
 * What a response means. Up to version 3.5 a failure has an "error" besides its code; that of a
 * stream is an object.
 *
 * @param {string} path
 * @param {number} status
 * @param {string} text
 * @returns {Reply}
 */
function judge(path, status, text) {
  const reply = parse(text);
  const { error } = reply;
  if (status === 200 && !error && IS_WHOLE[path](reply)) return reply;
  const { grpc_code, code, message } = typeof error === 'object' && error ? error : reply;
  const number = grpc_code ?? code;
  if (number === NOT_FOUND) throw new Missing();
  if ([PERMISSION_DENIED, UNAUTHENTICATED, INVALID_ARGUMENT].includes(number))
    throw new LeaseError('ERR_REFUSED', `etcd refuses: ${message}`);
  throw new Silence(message);
}

/**
 * A lock that is held, or waited for. `await using lease = await cluster.lock('accounts')` frees it
 * at the end of the block.
 */
export class Lease {
  #etcd;
  #ttl;
  #patience;
  #from;
  #to;
  #key = '';
  #id = '';
  #token = 0n;
  /** @type {{ [name: string]: unknown }} What others read about it. */
  #value;
  /** When the last renewal was sent that succeeded. */
  #renewed = moment();
  /** Aborted when the lease is lost. */
  #gone = new AbortController();
  /** Aborted when it is lost or given back: its renewals end. */
  #over = new AbortController();
  /** @type {Promise<void> | undefined} */
  #unlocking;
  /** @type {ReturnType<typeof setTimeout>[]} */
  #timers = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #noting;

  /** @readonly The lock's name. */
  name;

  /**
   * The fencing token: the revision of etcd at which the key of the lock was created. Each holder
   * of a name has a greater one than all before it. What is written to should keep the greatest
   * token that it has seen, and refuse smaller ones.
   */
  get token() {
    return this.#token;
  }

  /**
   * @internal
   * @param {Etcd} etcd
   * @param {string} name
   * @param {number} ttl s
   * @param {string} holder
   */
  constructor(etcd, name, ttl, holder) {
    [this.#from, this.#to] = lineOf(name);
    this.name = name;
    this.#etcd = etcd;
    this.#ttl = ttl;
    this.#patience = Math.min((1000 * ttl) / 8, MOST_PATIENCE);
    this.#value = { holder, host: host(), pid: process?.pid ?? 0, came: Date.now() };
  }

  /**
   * Aborted when the lease is lost: when no renewal has succeeded for 5/8 of the time-to-live, so
   * that another could get the lock before long; or when the lease is gone. The holder has to stop
   * then, within a quarter of the time-to-live. An event loop that was blocked or stopped learns of
   * it late, and so does a machine that has slept: up to 3/8 of the time-to-live after it has woken.
   * A holder that reads this property again, or `isHeld`, learns of it at once, by the clock. A time
   * of day that is set forward counts as time that has passed.
   *
   * @returns {LostSignal}
   */
  get lost() {
    if (!this.#over.signal.aborted && !this.isHeld) this.#lose();
    return /** @type {any} */ (this.#gone.signal);
  }

  /** Whether the lease is not lost, by this machine's clock, and the lock was not given back. */
  get isHeld() {
    return !this.#over.signal.aborted && passed(this.#renewed) < 1000 * this.#ttl * STOP;
  }

  /**
   * Frees the lock. A second call waits for the first one, and tells of no error. Without an error
   * the lock was held until now, and nobody else has had it: etcd looks. If a response was lost,
   * and etcd was asked again, an earlier try is taken to have freed it.
   *
   * @throws {LeaseError} ERR_LEASE_LOST: the lease had been lost before, or its key was deleted;
   *   ERR_UNREACHABLE: etcd does not respond, and frees the lock when the time-to-live has passed
   */
  unlock() {
    if (this.#unlocking) return this.#unlocking.catch(() => {});
    return (this.#unlocking = this.#unlock());
  }

  async #unlock() {
    let { isHeld } = this;
    this.#end();
    if (isHeld) {
      const rest = 1000 * this.#ttl * STOP - passed(this.#renewed);
      const until = performance.now() + Math.max(Math.min(rest, ROUNDS * this.#patience), PAUSE);
      // That the lease lives does not say that the key is still there.
      const body = deletion(this.#key, `${this.#token}`);
      const { succeeded, isLater } = await this.#ask('kv/txn', body, { until });
      isHeld = succeeded || isLater;
    }
    const left = this.leave(1);
    if (isHeld) return; // the lease serves nothing any more
    await left;
    throw new LeaseError('ERR_LEASE_LOST', `the lease of '${this.name}' was lost`);
  }

  /**
   * The same as `unlock()`, at the end of an `await using` block; but that the lease was lost, or
   * that etcd does not respond, is no error: it would hide how the block has ended. A block that has
   * to know calls `unlock()` as the last thing that it does.
   */
  async [asyncDispose]() {
    await this.unlock().catch((error) => {
      if (!['ERR_LEASE_LOST', 'ERR_UNREACHABLE'].includes(error.code)) throw error;
    });
  }

  /**
   * Gets a lease, joins the queue and waits for its turn.
   *
   * @internal
   * @param {Limits} limits
   * @param {boolean} waits
   * @returns {Promise<'held' | 'lost' | 'never joined'>}
   */
  async enter({ signal, until }, waits) {
    // A server that was asked in time may respond, and one that was not is not waited for long.
    const patient = () => {
      const [least, most] = [this.#patience, 1000 * this.#ttl];
      const left = waits ? until - performance.now() : most;
      return performance.now() + Math.max(Math.min(left, most), least);
    };
    const both = either(signal, this.#gone.signal);
    let hasJoined = false;
    try {
      await this.#join({ signal: both.signal, until: patient() });
      hasJoined = true;
      for (let hasWaited = false; ; hasWaited = true) {
        const found = await this.#look({ signal: both.signal, until: patient() }).catch((error) => {
          if (error.code !== 'ERR_UNREACHABLE' || !waits || performance.now() >= until) throw error;
          // As long as the lease is renewed. It may have been told at once.
          return pause(PAUSE, both.signal);
        });
        if (found && !found.before) {
          if (hasWaited) this.#noting = setTimeout(() => this.#note(), NOTE_AFTER);
          return this.isHeld ? 'held' : 'lost';
        }
        if (!waits || performance.now() >= until) throw new TimeoutError('timed out');
        if (!found?.before) continue;
        const next = Math.min(until, performance.now() + ROUNDS * this.#patience);
        await this.#etcd.watch(found.before, found.revision, { signal: both.signal, until: next });
        if (performance.now() >= until) throw new TimeoutError('timed out');
      }
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (error instanceof Missing) return hasJoined ? 'lost' : 'never joined';
      if (this.#gone.signal.aborted) return 'lost';
      throw error;
    } finally {
      both.drop();
    }
  }

  /**
   * Ends the lease, and with it the place in the queue. Resolves then, or when so many servers have
   * had their time.
   *
   * @internal
   * @param {number} rounds
   */
  async leave(rounds) {
    this.#end();
    if (!this.#id) return;
    const done = new AbortController();
    const end = () => done.abort();
    const until = performance.now() + 2 * this.#patience;
    void this.#ask('lease/revoke', { ID: this.#id }, { until }).then(end, end);
    await pause(rounds * this.#patience, done.signal).catch(() => {});
  }

  /**
   * @param {string} path
   * @param {object} body
   * @param {Limits} limits
   */
  #ask(path, body, limits) {
    return this.#etcd.ask(path, body, this.#patience, limits);
  }

  /** @param {Limits} limits */
  async #join(limits) {
    const sent = moment();
    const { ID, TTL } = await this.#ask('lease/grant', { TTL: `${this.#ttl}` }, limits);
    this.#id = ID;
    this.#ttl = Math.min(Number(TTL), 3600);
    this.#renewed = sent;
    const id = BigInt.asUintN(64, int64(ID)).toString(16).padStart(16, '0');
    this.#key = base64(`${this.#from}${id}`);
    // Done twice, as after a response that was lost, it is done once.
    const { succeeded, header, responses } = await this.#ask(
      'kv/txn',
      transaction(this.#key, 'VERSION', '0', this.#put()),
      limits,
    );
    const found = responses?.[0]?.response_range?.kvs?.[0];
    this.#token = int64(succeeded ? header.revision : found?.create_revision);
    if (this.#token <= 0n) throw new LeaseError('ERR_UNREACHABLE', 'these are no servers of etcd');
    this.#arm();
  }

  #put() {
    const value = base64(JSON.stringify(this.#value));
    return { request_put: { key: this.#key, value, lease: this.#id } };
  }

  /**
   * Looks at the queue, by a majority of the cluster.
   *
   * @param {Limits} limits
   * @returns {Promise<{ before: string | undefined, revision: string, term: string }>}
   */
  async #look(limits) {
    const range = {
      key: base64(this.#from),
      range_end: base64(this.#to),
      max_create_revision: `${this.#token - 1n}`,
      sort_order: 'DESCEND',
      sort_target: 'CREATE',
      limit: '1',
      keys_only: true,
    };
    const body = transaction(this.#key, 'CREATE', `${this.#token}`, { request_range: range });
    const { succeeded, responses, header } = await this.#ask('kv/txn', body, limits);
    if (!succeeded) throw new Missing();
    const [{ response_range }] = responses;
    // Without that it does not say that the queue is empty.
    if (!response_range) throw new LeaseError('ERR_UNREACHABLE', 'these are no servers of etcd');
    return {
      before: response_range.kvs?.[0]?.key,
      revision: header.revision,
      term: header.raft_term,
    };
  }

  /** Renews the lease in time, and tells when it is lost. */
  #arm() {
    const after = (/** @type {number} */ part) =>
      Math.max(1000 * this.#ttl * part - passed(this.#renewed), 0);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers = [
      setTimeout(() => void this.#renew(), after(RENEW)),
      setTimeout(() => this.#lose(), after(STOP)),
    ];
  }

  /**
   * The look after a renewal finds out whether the leader that has renewed it was the cluster's: a
   * leader that a majority follows in the same term after it has led all the time. One that was
   * deposed, and does not know yet, renews leases in its own memory only.
   */
  async #renew() {
    const { signal } = this.#over;
    const limits = { signal, until: performance.now() + 1000 * this.#ttl };
    while (this.isHeld) {
      const sent = moment();
      try {
        const { result } = await this.#ask('lease/keepalive', { ID: this.#id }, limits);
        if (!(Number(result?.TTL) > 0)) throw new Missing();
        const { term } = await this.#look(limits);
        if (term && term === result.header.raft_term) {
          // It may come too late, as after the machine has slept.
          if (!this.isHeld) break;
          this.#renewed = sent;
          return this.#arm();
        }
        await pause(PAUSE, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Missing) break;
        if (this.isHeld) await pause(PAUSE, signal).catch(() => {});
      }
    }
    if (!signal.aborted) this.#lose();
  }

  #lose() {
    this.#end();
    this.#gone.abort(new LeaseError('ERR_LEASE_LOST', `the lease of '${this.name}' is lost`));
  }

  #end() {
    for (const timer of [...this.#timers, this.#noting]) clearTimeout(timer);
    this.#over.abort();
  }

  /** Writes since when the lock is held, for others to read. If that fails, it is not written. */
  #note() {
    const { signal } = this.#over;
    this.#value = { ...this.#value, held: Date.now() - NOTE_AFTER };
    const body = transaction(this.#key, 'CREATE', `${this.#token}`, this.#put());
    const until = performance.now() + this.#patience;
    this.#ask('kv/txn', body, { signal, until }).catch(() => {});
  }
}

/**
 * A signal that is aborted when either of two is, until it is dropped.
 *
 * @param {Signal | undefined} one
 * @param {Signal} other
 */
function either(one, other) {
  const control = new AbortController();
  const end = () => control.abort((one?.aborted ? one : other).reason);
  const callers = [one, other].map((signal) => ({ signal: /** @type {any} */ (signal), end }));
  for (const caller of callers) listen(caller, true);
  if (one?.aborted || other.aborted) end();
  const drop = () => callers.forEach((caller) => listen(caller, false));
  return { signal: /** @type {Signal} */ (control.signal), drop };
}

function host() {
  try {
    return hostname();
  } catch {
    return ''; // Deno does not allow it
  }
}

/** An etcd cluster, as `connect` makes it. */
export class Cluster {
  #etcd;

  /**
   * @internal
   * @param {string} servers
   */
  constructor(servers) {
    this.#etcd = new Etcd(servers);
  }

  /**
   * Takes the lock of this name. First come, first served, among all machines, in JavaScript, C and
   * the shell. A lease that is held, or waited for, keeps the process alive.
   *
   * @param {string} name of 1 to 55 bytes
   * @param {number | LockOptions} [options] ms, or `{ timeout, signal, ttl, holder }`; with a
   *   timeout of 0 it does not wait for other holders
   * @returns {Promise<Lease>} rejects with `signal.reason` on abort. Before it rejects it leaves
   *   the line. For that it waits at most as long as two servers have for a response, or one after
   *   an abort: an eighth of the time-to-live each, but no more than 5 s
   * @throws {TimeoutError} the time was up
   * @throws {LeaseError} ERR_UNREACHABLE: no server has responded for as long as the time-to-live,
   *   or the timeout; ERR_REFUSED: the cluster refuses
   */
  async lock(name, options) {
    const timeout = timeoutOf(options, OPTIONS);
    const signal = signalOf(options);
    /** @type {LeaseOptions} */
    const { ttl = DEFAULT_TTL, holder = whatRuns() } = Object(options);
    lineOf(name);
    assertInteger(typeof ttl === 'number' ? Math.ceil(ttl) : ttl, 2000, 3_600_000, 'ttl');
    const until = performance.now() + timeout;
    const shown = [...String(holder)].slice(0, 80).join('');
    for (let inVain = 0; ;) {
      const lease = new Lease(this.#etcd, name, Math.ceil(ttl / 1000), shown);
      let end;
      try {
        end = await lease.enter({ signal, until }, timeout > 0);
      } catch (error) {
        // Whoever gives up may end the process, and has to have left the line. An abort waits less.
        await lease.leave(signal?.aborted ? 1 : 2);
        throw error;
      }
      if (end === 'held') return lease;
      // It was lost in the line, as when the machine has slept: it joins the end of the line again.
      await lease.leave(2);
      inVain = end === 'lost' ? 0 : inVain + 1;
      if (inVain === MOST_IN_VAIN)
        throw new LeaseError('ERR_UNREACHABLE', 'these servers are not one cluster');
      if (performance.now() >= until) throw new TimeoutError('timed out');
      await pause(PAUSE, signal);
    }
  }

  /**
   * Calls `fn` with the lock held, and frees the lock when what `fn` returns has settled, or when
   * it throws. If etcd does not respond then, that is no error: what had to be done is done, and
   * etcd frees the lock when the time-to-live has passed.
   *
   * @template T
   * @param {string} name
   * @param {(lease: Lease) => T | PromiseLike<T>} fn
   * @param {number | LockOptions} [options] ms, or `{ timeout, signal, ttl, holder }`
   * @returns {Promise<T>} what `fn` returns; rejects with `signal.reason` on abort
   * @throws {LeaseError} also ERR_LEASE_LOST: `fn` has returned, but the lease had been lost
   */
  async runExclusive(name, fn, options) {
    const lease = await this.lock(name, options);
    let result;
    try {
      result = await fn(lease);
    } catch (error) {
      await lease.unlock().catch(() => {});
      throw error;
    }
    await lease.unlock().catch((error) => {
      if (error.code !== 'ERR_UNREACHABLE') throw error;
    });
    return result;
  }

  /**
   * Who holds the lock of this name, and who waits for it, in the order of their turns. Without a
   * name, all locks, sorted by names. What changes while it reads may be there or not; what others
   * have written into etcd may be there, too.
   *
   * @param {string} [name]
   * @returns {Promise<LeaseInfo[]>}
   * @throws {LeaseError} ERR_UNREACHABLE: no server has responded for 10 s; ERR_REFUSED
   */
  async list(name) {
    let [from, to] = (name === undefined ? ['lockword/', 'lockword0'] : lineOf(name)).map(base64);
    /** @type {LeaseInfo[]} */
    const infos = [];
    for (let isMore = true; isMore;) {
      const body = { key: from, range_end: to, limit: `${PAGE}` };
      const { kvs = [], more } = await this.#ask('kv/range', body);
      infos.push(...kvs.flatMap(infosOf));
      isMore = more && kvs.length > 0;
      if (isMore) from = btoa(`${atob(kvs.at(-1).key)}\0`);
    }
    const rank = (/** @type {LeaseInfo} */ a, /** @type {LeaseInfo} */ b) =>
      a.name === b.name ? Number(a.token - b.token) : a.name < b.name ? -1 : 1;
    infos.sort(rank).forEach((info, i) => {
      if (infos[i - 1]?.name === info.name) info.place = infos[i - 1].place + 1;
    });
    return infos;
  }

  /**
   * Takes the lock from its holder, or, with a token, removes the holder or waiter that has it. The
   * next one gets the lock at once. The holder learns of that when it renews its lease, within a
   * quarter of its time-to-live: until then two of them run. So end its process first, if it can be
   * reached. A waiter joins the end of the line.
   *
   * @param {string} name
   * @param {bigint} [token]
   * @returns {Promise<LeaseInfo | undefined>} the one that was removed, if there was one
   * @throws {LeaseError} ERR_UNREACHABLE: no server has responded for 10 s; ERR_REFUSED
   */
  async break(name, token) {
    const [key, range_end] = lineOf(name).map(base64);
    const which =
      token === undefined
        ? { sort_target: 'CREATE', sort_order: 'ASCEND', limit: '1' }
        : { min_create_revision: `${token}`, max_create_revision: `${token}` };
    const { kvs } = await this.#ask('kv/range', { key, range_end, ...which });
    if (!kvs?.length) return undefined;
    const [{ lease }] = kvs;
    const { succeeded, isLater } = await this.#ask(
      'kv/txn',
      deletion(kvs[0].key, kvs[0].create_revision),
    );
    if (!succeeded && !isLater) return undefined;
    // Its lease serves nothing any more. If this fails, it runs out.
    if (lease) await this.#ask('lease/revoke', { ID: lease }).catch(() => {});
    return infosOf(kvs[0])[0];
  }

  /**
   * @param {string} path
   * @param {object} body
   */
  #ask(path, body) {
    const until = performance.now() + DEFAULT_TTL;
    return this.#etcd.ask(path, body, DEFAULT_TTL / 8, { until });
  }
}

const whatRuns = () => (process?.argv ?? []).slice(0, 2).join(' ');

/**
 * Locks on the etcd cluster of these servers. It asks them when a lock is wanted, and not before.
 *
 * @param {string} servers `'etcd://HOST:PORT,HOST:PORT'`; a port that is not given is 2379
 * @returns {Cluster}
 * @throws {TypeError} these are no servers
 */
export function connect(servers) {
  return new Cluster(servers);
}
