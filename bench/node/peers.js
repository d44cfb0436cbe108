/**
 * Locks that Node processes share, and the bare Mutex of two workers, as bench/node measures them.
 *
 * A peer has a `name`; `start(folder, region)`, which returns its place, and how to stop what it
 * has started; and `connect(place)`, which returns `lock` and `unlock`: either may return a
 * promise, and
 * `unlock` takes what `lock` gave. Where they apply, it has `packages` that it is made of;
 * `server`, its name and what finds its version; `prepare`, which builds it; `bare`, the lock
 * inside of a process that its hand-offs are compared with; and `inWorkers`: its members are
 * threads of one process, which cannot be killed.
 *
 * Those that poll do so each millisecond, as often as their timers can: that makes their hand-offs
 * short, and shows in the CPU of a waiter. Locks that expire do so after TTL, which is the least
 * that proper-lockfile takes.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Mutex } from '../../js/src/index.js';

const HERE = import.meta.dirname;
const require = createRequire(import.meta.url);
export const REGION_PACKAGE = resolve(HERE, '../../build/node_modules/lockword-region');
const [openRegion, lockfile] = ['index', 'lockfile'].map(
  (name) => () => import(join(REGION_PACKAGE, `${name}.js`)),
);

/** How long a lock outlives its holder if it has to expire, ms. */
export const TTL = 2000;

const output = (command, ...args) => spawnSync(command, args, { encoding: 'utf8' }).stdout ?? '';
const redisVersion = () => /v=(\S+)/.exec(output('redis-server', '--version'))?.[1];

/** PostgreSQL's programs, which Debian keeps out of PATH. */
function postgresFolder() {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => b - a) : [];
  const folders = versions.map((version) => join(debian, version, 'bin'));
  return [...folders, ...(process.env.PATH ?? '').split(':')].find((folder) =>
    existsSync(join(folder, 'initdb')),
  );
}
function postgresVersion() {
  const folder = postgresFolder();
  return folder && /\d[\d.]*/.exec(output(join(folder, 'postgres'), '--version'))?.[0];
}

/** Runs a server until it is stopped; `isReady` says whether it answers. */
async function serve(program, args, options, isReady) {
  const server = spawn(program, args, { ...options, stdio: 'ignore' });
  const kill = () => server.kill('SIGKILL');
  process.once('exit', kill);
  for (let tries = 0; !isReady(); tries++) {
    if (server.exitCode !== null || tries > 200) throw new Error(`${program} does not start`);
    await sleep(50);
  }
  return async () => {
    server.kill('SIGINT');
    if (server.exitCode === null) await new Promise((done) => server.once('exit', done));
    process.off('exit', kill);
  };
}

async function startRedis(folder) {
  const place = join(folder, 'redis.sock');
  const settings = ['--port', '0', '--unixsocket', place, '--save', '', '--dir', folder];
  const stop = await serve('redis-server', settings, {}, () => existsSync(place));
  return { place, stop };
}

/** PostgreSQL refuses to run as root: then it runs as its own user. */
async function startPostgres(folder) {
  const programs = postgresFolder();
  const place = join(folder, 'postgres');
  const options = {};
  mkdirSync(place, { mode: 0o700 });
  if (process.getuid() === 0) {
    [options.uid, options.gid] = ['-u', '-g'].map((flag) => Number(output('id', flag, 'postgres')));
    chownSync(place, options.uid, options.gid);
  }
  const data = join(place, 'data');
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync'];
  execFileSync(join(programs, 'initdb'), initdb, { ...options, stdio: 'pipe' });
  const settings = ['-D', data, '-k', place, '-c', 'listen_addresses='];
  const isReady = () => spawnSync(join(programs, 'pg_isready'), ['-h', place]).status === 0;
  const stop = await serve(join(programs, 'postgres'), settings, options, isReady);
  return { place, stop };
}

/** A file that is locked. */
function startFile(folder) {
  const place = join(folder, 'file');
  writeFileSync(place, '');
  return { place };
}

/**
 * fs-ext, built for this Node with c++ and Node's own headers, as node-gyp would, which the package
 * asks for.
 */
function fsExt() {
  try {
    return require('fs-ext');
  } catch {
    const folder = dirname(require.resolve('fs-ext/package.json'));
    mkdirSync(join(folder, 'build/Release'), { recursive: true });
    const headers = resolve(dirname(process.execPath), '../include/node');
    const include = [headers, dirname(require.resolve('nan'))].map((path) => `-I${path}`);
    const flags = ['-std=c++20', '-O2', '-fPIC', '-shared', '-w', ...include];
    const files = [join(folder, 'fs-ext.cc'), '-o', join(folder, 'build/Release/fs_ext.node')];
    execFileSync('c++', [...flags, ...files], { stdio: 'pipe' });
    return require('fs-ext');
  }
}

const startRegion = (_folder, region) => ({ place: region });

async function regionMutex(place) {
  const { open } = await openRegion();
  return open(place).mutex('bench');
}

export const PEERS = [
  {
    name: 'lockword-region: lock',
    bare: 'Mutex of workers: lock',
    start: startRegion,
    async connect(place) {
      const mutex = await regionMutex(place);
      return { lock: () => void mutex.lock(), unlock: () => mutex.unlock() };
    },
  },
  {
    name: 'lockword-region: lockAsync',
    bare: 'Mutex of workers: lockAsync',
    start: startRegion,
    async connect(place) {
      const mutex = await regionMutex(place);
      return { lock: () => mutex.lockAsync(), unlock: () => mutex.unlock() };
    },
  },
  {
    name: 'lockword-region/lockfile',
    bare: 'Mutex of workers: lockAsync',
    start: startFile,
    async connect(place) {
      const { lock } = await lockfile();
      const options = { retries: { forever: true } };
      return { lock: () => lock(place, options), unlock: (release) => release() };
    },
  },
  {
    name: 'proper-lockfile',
    bare: 'Mutex of workers: lockAsync',
    packages: ['proper-lockfile'],
    start: startFile,
    connect(place) {
      const { lock } = require('proper-lockfile');
      const retries = { forever: true, factor: 1, minTimeout: 1, maxTimeout: 1 };
      const options = { retries, stale: TTL, update: TTL / 2 };
      return { lock: () => lock(place, options), unlock: (release) => release() };
    },
  },
  {
    name: 'fs-ext: flock',
    bare: 'Mutex of workers: lockAsync',
    packages: ['fs-ext', 'nan'],
    prepare: fsExt,
    start: startFile,
    connect(place) {
      const { flock } = fsExt();
      const file = openSync(place);
      const call = (how) =>
        new Promise((done, fail) => flock(file, how, (error) => (error ? fail(error) : done())));
      return { lock: () => call('ex'), unlock: () => call('un') };
    },
  },
  {
    name: 'redlock',
    bare: 'Mutex of workers: lockAsync',
    packages: ['redlock', 'ioredis'],
    server: ['Redis', redisVersion],
    start: startRedis,
    connect(place) {
      const Redlock = require('redlock');
      const Redis = require('ioredis');
      const locks = new Redlock([new Redis(place)], {
        retryCount: -1,
        retryDelay: 1,
        retryJitter: 0,
      });
      return { lock: () => locks.lock('bench', TTL), unlock: (lock) => lock.unlock() };
    },
  },
  {
    name: 'pg_advisory_lock',
    bare: 'Mutex of workers: lockAsync',
    packages: ['pg'],
    server: ['PostgreSQL', postgresVersion],
    start: startPostgres,
    async connect(place) {
      const client = new (require('pg').Client)({ host: place, user: 'postgres' });
      await client.connect();
      const call = (name) => client.query({ name, text: `SELECT pg_advisory_${name}(1)` });
      return { lock: () => call('lock'), unlock: () => call('unlock') };
    },
  },
  {
    name: 'Mutex of workers: lock',
    inWorkers: true,
    start: () => ({ place: new Mutex().handle }),
    connect(place) {
      const mutex = Mutex.from(place);
      return { lock: () => void mutex.lock(), unlock: () => mutex.unlock() };
    },
  },
  {
    name: 'Mutex of workers: lockAsync',
    inWorkers: true,
    start: () => ({ place: new Mutex().handle }),
    connect(place) {
      const mutex = Mutex.from(place);
      return { lock: () => mutex.lockAsync(), unlock: () => mutex.unlock() };
    },
  },
];

/** Of packages and server; those that are not installed are undefined. */
export function versionsOf({ packages = [], server }) {
  const versions = packages.map((name) => {
    try {
      return [name, require(`${name}/package.json`).version];
    } catch {
      return [name, undefined];
    }
  });
  return Object.fromEntries(server ? [...versions, [server[0], server[1]()]] : versions);
}

/** Why a peer cannot be measured here; '' if it can. */
export function lacks(peer) {
  const versions = Object.entries(versionsOf(peer));
  const missing = versions.filter(([, version]) => !version).map(([name]) => name);
  if (missing.length) return `${missing.join(', ')} not installed`;
  try {
    peer.prepare?.();
    return '';
  } catch (error) {
    return `not built: ${error.message.split('\n')[0]}`;
  }
}
