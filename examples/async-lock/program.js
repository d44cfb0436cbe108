/**
 * node examples/async-lock/program.js usual | lockword
 *
 * What a lock for workers and a main thread has to get right, and what comes of it. Runs in a page,
 * too.
 */
import { start } from '../workers.js';

const TIMES = 200;
const PATIENCE_MS = 200;

const library = globalThis.process?.argv[2] === 'usual' ? './usual.js' : './lockword.js';
const { AsyncLock } = await import(library);

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const fresh = () => new AsyncLock(new SharedArrayBuffer(8));
const isFree = (lock) =>
  Promise.race([
    lock.executeLocked(() => true).then(() => true),
    sleep(PATIENCE_MS).then(() => false),
  ]);
const say = (what, result) => console.log(`${what}: ${result}`);

/** Two workers that block, and this thread, which does not. */
async function exclusion() {
  const [buffer, cell] = [new SharedArrayBuffer(8), new Int32Array(new SharedArrayBuffer(4))];
  const job = { library, buffer, cell, times: TIMES };
  const workers = [1, 2].map(() => start(new URL('./worker.js', import.meta.url), job));
  const lock = new AsyncLock(buffer);
  for (let i = 0; i < TIMES; i++) await lock.executeLocked(() => cell[0]++);
  await Promise.all(workers.map(({ done }) => done));
  return `${cell[0]} of ${3 * TIMES}`;
}

async function throwing() {
  const lock = fresh();
  const fail = () => {
    throw new Error('a mistake');
  };
  await lock.executeLocked(fail).catch(() => {});
  return (await isFree(lock)) ? 'released' : 'locked for ever';
}

async function asynchronous() {
  const lock = fresh();
  let [inside, most] = [0, 0];
  const task = async () => {
    most = Math.max(most, ++inside);
    await sleep(5);
    inside--;
  };
  await Promise.all([lock.executeLocked(task), lock.executeLocked(task)]);
  return `${most} at once`;
}

async function notLocked() {
  try {
    fresh().unlock();
    return 'accepted';
  } catch ({ message }) {
    return `refused, '${message}'`;
  }
}

/** A worker holds it, and this thread, which does not, unlocks it by mistake. */
async function strangers() {
  const buffer = new SharedArrayBuffer(8);
  await start(new URL('./worker.js', import.meta.url), { library, buffer, hold: true }).done;
  try {
    new AsyncLock(buffer).unlock();
    return 'accepted';
  } catch ({ message }) {
    return `refused, '${message}'`;
  }
}

say('two workers and the main thread add to a cell', await exclusion());
say('a callback throws', await throwing());
say('asynchronous callbacks', await asynchronous());
say('unlock of what is not locked', await notLocked());
say('unlock of what another thread holds', await strangers());
