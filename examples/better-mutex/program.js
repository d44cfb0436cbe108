/**
 * node examples/better-mutex/program.js usual | lockword
 *
 * Three want a mutex that this thread holds: A for a short time only, B as long as it takes, and C,
 * which comes later.
 *
 *     1. A and B sleep. This thread unlocks, and A is woken.
 *     2. Before A has done anything, C finds the mutex free and takes it.
 *     3. A goes on, sees that it is taken and that its time is up, and leaves.
 *     4. C unlocks. Nobody else wants the mutex but B.
 *
 * The usual code frees it in step 1, which forgets that somebody sleeps; C's lock knows nothing of
 * B, A does not pass on the wake that it got, and so C's unlock wakes nobody: B sleeps beside a
 * free mutex. A machine does this when it is busy in step 2. Here A's worker is held up there.
 *
 * C is this thread, too, which never blocks.
 */
import { start } from '../workers.js';
import { ASLEEP, BEGIN, cells, GO_ON, GOT, MUTEX, READY, WOKEN } from './cells.js';

const A_WAITS_MS = 300;
const LIMIT_MS = 1000;

const library = globalThis.process?.argv[2] === 'usual' ? './usual.js' : './lockword.js';
const { BetterMutex } = await import(library);

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until the element holds the value; false: it does not within the limit. */
async function holds(memory, element, value, limit = 10_000) {
  const end = performance.now() + limit;
  while (Atomics.load(memory, element) !== value && performance.now() < end) await sleep(1);
  return Atomics.load(memory, element) === value;
}

function set(memory, element, value) {
  Atomics.store(memory, element, value);
  Atomics.notify(memory, element);
}

/**
 * Does it once. Undefined: A was not the one that was woken, as the machine was too busy: do it
 * again.
 */
async function once() {
  const memory = cells();
  const mutex = new BetterMutex(memory, MUTEX);
  const run = (name, timeout) =>
    start(new URL('./worker.js', import.meta.url), { library, memory, name, timeout });
  const a = run('A', A_WAITS_MS);
  const b = run('B', Infinity);
  try {
    await holds(memory, READY, 2);
    mutex.tryLock();
    set(memory, BEGIN, 1);
    await holds(memory, ASLEEP, 1);
    const timeIsUp = sleep(A_WAITS_MS + 10);
    await sleep(10);
    set(memory, BEGIN, 2);
    await holds(memory, ASLEEP, 2);
    await sleep(10);

    mutex.unlock();
    if (!(await holds(memory, WOKEN, 1, A_WAITS_MS)) || !mutex.tryLock()) return undefined;
    await timeIsUp;
    set(memory, GO_ON, 1);
    const got = await a.done;
    mutex.unlock();
    return { a: got, b: await holds(memory, GOT, 1, LIMIT_MS), free: mutex.tryLock() };
  } finally {
    a.stop();
    b.stop();
  }
}

let result;
while (!result) result = await once();
console.log(`A's lock(${A_WAITS_MS}) returns ${result.a}`);
if (result.b) console.log('B has the mutex');
else
  console.log(
    `B still sleeps after ${LIMIT_MS} ms; the mutex is ${result.free ? 'free' : 'locked'}`,
  );
