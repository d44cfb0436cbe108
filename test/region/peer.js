/**
 * peer.js: what a process, or a worker, of region.test.js does: the function that its first
 * argument names. It says what it has come to by a line, or by a message.
 */
import { openSync, readlinkSync, readSync, writeSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';

import { Event, Mutex } from '../../build/node_modules/lockword/js/src/index.js';
import { open } from '../../build/node_modules/lockword-region/index.js';

const [name, path, ...rest] = workerData ?? process.argv.slice(2);
const say = (what) =>
  isMainThread ? process.stdout.write(`${what}\n`) : parentPort.postMessage(what);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const here = fileURLToPath(import.meta.url);

export const inWorker = (...data) => new Worker(here, { workerData: data.map(String) });

/** A turn: adds 1 to both numbers of the file, which are the same unless a holder has died. */
function turn(data, ownerDied) {
  const numbers = new Uint32Array(2);
  readSync(data, numbers, 0, 8, 0);
  if (ownerDied) numbers[1] = numbers[0];
  if (numbers[0] !== numbers[1]) throw new Error(`${numbers[0]} and ${numbers[1]}`);
  for (const i of [0, 1]) {
    numbers[i]++;
    writeSync(data, numbers, 4 * i, 4, 4 * i);
  }
}

const does = {
  /** Takes turns, every other way to lock. */
  async turns(file, n) {
    const jobs = open(path).mutex('jobs');
    const data = openSync(file, 'r+');
    process.emitWarning = () => {};
    for (let i = 0; i < n; i++) {
      if (i % 3 === 0) {
        await jobs.runExclusive(({ ownerDied }) => turn(data, ownerDied));
      } else {
        if (i % 3 === 1) jobs.lock();
        else while (!jobs.tryLock()) if (await jobs.lockAsync(1)) break;
        turn(data, jobs.ownerDied);
        jobs.unlock();
      }
    }
    say('done');
  },

  /** The main thread and a worker take turns. */
  async both(file, n) {
    const worker = inWorker('turns', path, file, n);
    const ended = new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject));
    await this.turns(file, n);
    await ended;
  },

  hold() {
    open(path).mutex('jobs').lock();
    say('held');
    setInterval(() => {}, 1000);
  },

  holdAsync(ms) {
    const jobs = open(path).mutex('jobs');
    jobs.lockAsync().then(async () => {
      say('held');
      await sleep(Number(ms));
      jobs.unlock();
    });
  },

  /** Blocks twice, and says of what it is warned. */
  warned() {
    process.emitWarning = (message, { code }) => say(`${code} ${message}`);
    const jobs = open(path).mutex('jobs');
    for (let i = 0; i < 2; i++) {
      jobs.lock();
      jobs.unlock();
    }
    say('done');
  },

  /** Ends in various ways while it holds the mutex. */
  end(how) {
    open(path).mutex('jobs').tryLock();
    say('held');
    if (how === 'exit') process.exit(3);
    if (how === 'throw') throw new Error('on purpose');
    if (how === 'reject') Promise.reject(new Error('on purpose'));
    if (how === 'kill') process.kill(process.pid, 'SIGKILL');
    if (how === 'abort') process.abort();
  },

  /** Holds and waits in the thread until it is terminated. */
  async wait(way) {
    const region = open(path);
    region.mutex('other').lock();
    say('waits');
    if (way === 'lock') region.mutex('jobs').lock();
    else await region.mutex('jobs').lockAsync();
    say('got it');
  },

  /** Says which thread it is, and blocks for the mutex or for a permit. */
  block(what) {
    const region = open(path);
    say(readlinkSync('/proc/thread-self'));
    if (what === 'mutex') region.mutex('jobs').lock();
    else region.semaphore('none', 0).wait();
  },

  /** Many calls wait at once, each for `ms` at most. */
  async many(n) {
    const jobs = open(path).mutex('jobs');
    const calls = Array.from({ length: n }, (_, i) =>
      jobs.lockAsync().then(() => (jobs.unlock(), i)),
    );
    say('waits');
    const before = process.cpuUsage();
    await sleep(1000);
    const { user, system } = process.cpuUsage(before);
    say((user + system) / 1000);
    const order = await Promise.all(calls);
    say(order.every((i, place) => i === place) ? 'in order' : 'out of order');
  },

  /** Says how much CPU time, in ms, it takes to be blocked for a second. */
  blocked() {
    const jobs = open(path).mutex('jobs');
    const before = process.cpuUsage();
    const got = jobs.lock(1000);
    const { user, system } = process.cpuUsage(before);
    say(`${got} ${(user + system) / 1000}`);
  },

  /** Ends by itself, with the region open. */
  async finish() {
    const jobs = open(path).mutex('jobs');
    await jobs.lockAsync();
    const next = jobs.lockAsync();
    setTimeout(() => jobs.unlock(), 20);
    await next;
    jobs.unlock();
    say('done');
  },

  async lockFile(file, many) {
    process.env.LOCKWORD_REGION = path;
    const { lock, lockSync } = await import('../../build/node_modules/lockword-region/lockfile.js');
    await lock(file);
    try {
      for (let i = 0; many; i++) lockSync(`${file}.${i}`, { realpath: false });
    } catch (error) {
      if (error.code !== 'ENOSPC') throw error;
    }
    say('held');
    setInterval(() => {}, 1000);
  },

  /** Takes one or two of the three permits, every other way, and counts who is inside. */
  async permits(n) {
    const region = open(path);
    const slots = region.semaphore('slots', 3);
    const { buffer, byteOffset } = region.bytes('inside', 8);
    const inside = new Int32Array(buffer, byteOffset, 2);
    process.emitWarning = () => {};
    for (let i = 0; i < n; i++) {
      const permits = 1 + (i & 1);
      if (i % 3 === 0) await slots.waitAsync({ permits });
      else if (i % 3 === 1) slots.wait({ permits });
      else while (!slots.tryAcquire(permits)) if (await slots.waitAsync({ permits })) break;
      if (Atomics.add(inside, 0, permits) + permits > 3) throw new Error('too many');
      Atomics.add(inside, 1, 1);
      Atomics.sub(inside, 0, permits);
      slots.release(permits);
    }
    say('done');
  },

  /** Has one of two owned permits, every other way; each stands for a word that nobody else has. */
  async ownPermits(n) {
    const region = open(path);
    const owned = region.permits('owned', 2);
    const { buffer, byteOffset } = region.bytes('owners', 12);
    const words = new Int32Array(buffer, byteOffset, 3);
    process.emitWarning = () => {};
    const use = ({ number }) => {
      if (Atomics.exchange(words, number, 1) === 1) throw new Error('somebody else has it');
      Atomics.add(words, 2, 1);
      Atomics.store(words, number, 0);
    };
    for (let i = 0; i < n; i++) {
      const permit = i & 1 ? owned.acquire() : await owned.acquireAsync();
      use(permit);
      permit.release();
    }
    say('done');
  },

  /** Has both of two owned permits, until it is killed. */
  async keepPermits() {
    const owned = open(path).permits('owned', 2);
    await owned.acquireAsync();
    owned.acquire();
    say('held');
    setInterval(() => {}, 1000);
  },

  /** Reads or writes the table, until it is killed. */
  async keepTable(side, way) {
    const table = open(path).rwtable('table');
    process.emitWarning = () => {};
    say('waits');
    await table[`${side}${way}`]();
    say('has it');
    setInterval(() => {}, 1000);
  },

  /** Adds to two numbers under the table, and reads that they are equal; mends after a death. */
  async useTable() {
    const region = open(path);
    const table = region.rwtable('table');
    const { buffer, byteOffset } = region.bytes('pair', 8);
    const pair = new Int32Array(buffer, byteOffset, 2);
    process.emitWarning = () => {};
    const read = (died) => {
      if (!died && pair[0] !== pair[1]) throw new Error(`${pair}`);
    };
    const write = (died) => {
      read(died);
      if (died) pair[1] = pair[0];
      pair[0]++;
      for (let i = 0; i < 3000; i++) Atomics.load(pair, 0); // most deaths come here
      pair[1]++;
    };
    for (let i = 0; ; i++) {
      if (i % 4 === 0) {
        table.readLock();
        read(table.ownerDied);
        table.readUnlock();
      } else if (i % 4 === 1) {
        table.writeLock();
        write(table.ownerDied);
        table.writeUnlock();
      } else if (i % 4 === 2) await table.runShared(({ ownerDied }) => read(ownerDied));
      else await table.runExclusive(({ ownerDied }) => write(ownerDied));
      if (i === 3) say('began');
    }
  },

  /** Writes two numbers, or reads that they are equal, every other way; and adds to both once. */
  async readAndWrite(n) {
    const region = open(path);
    const lock = region.rwlock('lock');
    const { buffer, byteOffset } = region.bytes('pair', 8);
    const pair = new Int32Array(buffer, byteOffset, 2);
    const add = (by) => [(pair[0] += by), (pair[1] += by)];
    process.emitWarning = () => {};
    await region.once('once').runAsync(() => add(1));
    for (let i = 0; i < n; i++) {
      const writes = i & 1;
      if (i & 2) await lock[writes ? 'writeLockAsync' : 'readLockAsync']();
      else lock[writes ? 'writeLock' : 'readLock']();
      if (pair[0] !== pair[1]) throw new Error(`${pair}`);
      add(writes);
      lock[writes ? 'writeUnlock' : 'readUnlock']();
    }
    say('done');
  },

  /** Adds to two numbers, with the recursive mutex taken for each and for both. */
  async nests(n) {
    const region = open(path);
    const nested = region.recursiveMutex('nested');
    const { buffer, byteOffset } = region.bytes('pair', 8);
    const pair = new Int32Array(buffer, byteOffset, 2);
    process.emitWarning = () => {};
    for (let i = 0; i < n; i++) {
      const mutex = i % 3 === 0 ? await nested.lockAsync() : nested;
      if (i % 3 === 1) nested.lock();
      else if (i % 3 === 2) while (!nested.tryLock()) await sleep(0);
      if (pair[0] !== pair[1]) throw new Error(`${pair}`);
      for (const number of [0, 1]) {
        mutex.lock();
        pair[number]++;
        mutex.unlock();
      }
      mutex.unlock();
    }
    say('done');
  },

  /** Holds the recursive mutex, three times. */
  async nest(way) {
    const nested = open(path).recursiveMutex('nested');
    process.emitWarning = () => {};
    const mutex = way === 'lock' ? (nested.lock(), nested) : await nested.lockAsync();
    mutex.lock();
    mutex.lock();
    say(`held ${nested.depth}`);
    setInterval(() => {}, 1000);
  },

  /** Takes the one in the table, when it is there. */
  async waitFor(way) {
    const region = open(path);
    const [jobs, condition] = [region.mutex('jobs'), region.condition('condition')];
    const { buffer, byteOffset } = region.bytes('pair', 8);
    const ready = new Int32Array(buffer, byteOffset, 1);
    process.emitWarning = () => {};
    say('waits');
    await jobs.lockAsync();
    if (way === 'wait') condition.waitFor(jobs, () => ready[0] === 1);
    else await condition.waitForAsync(jobs, () => ready[0] === 1);
    ready[0] = 0;
    jobs.unlock();
    say('has it');
  },

  /** Begins what is to be run once, and does not end it. */
  async begin() {
    const region = open(path);
    await region.once('once').runAsync(() => {
      say('runs');
      return new Promise(() => setInterval(() => {}, 1000));
    });
  },

  /** Waits for more permits than there are. */
  claim(way) {
    const slots = open(path).semaphore('slots', 3);
    say('waits');
    if (way === 'wait') slots.wait({ permits: 3 });
    else slots.waitAsync({ permits: 3 });
  },

  /** Says when it has passed each of these. */
  async pass(way) {
    const region = open(path);
    const names = ['event', 'waitGroup', 'latch'];
    process.emitWarning = () => {};
    say('waits');
    for (const name of names) {
      if (way === 'wait') region[name](name, name === 'latch' ? 2 : undefined).wait();
      else await region[name](name, name === 'latch' ? 2 : undefined).waitAsync();
      say(name);
    }
    const counter = region.counter('counter');
    if (way === 'wait') counter.waitUntil(5);
    else await counter.waitUntilAsync(5);
    say(`counter ${counter.value}`);
    const barrier = region.barrier('barrier', 3);
    if (way === 'wait') barrier.wait();
    else await barrier.waitAsync();
    say('barrier');
  },

  /** Adds 1 to an element of the array that it is posted. */
  addTo() {
    parentPort.once('message', (bytes) => {
      Atomics.add(bytes, 4, 1);
      say('added');
    });
  },

  /** A pending call keeps the process alive, though lockword's own calls begin before and end. */
  async pend() {
    const jobs = open(path).mutex('jobs');
    const [mutex, event] = [new Mutex(), new Event()];
    mutex.tryLock();
    const before = mutex.lockAsync();
    const last = event.waitAsync();
    jobs.lockAsync().then(() => {
      say(`ownerDied ${jobs.ownerDied}`);
      jobs.unlock();
      event.set();
    });
    await sleep(20);
    mutex.unlock();
    await before;
    if (rest[0] === 'alone') event.set();
    say('waits');
    await last;
  },
};

if (name in does) does[name](...rest);
