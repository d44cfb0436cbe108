/**
 * copies.cjs: copies of lockword in one thread are one agent: its ES modules, its CommonJS, another
 * version, and one whose properties a tool has renamed. A worker contends with all of them. Prints
 * 'ok', or fails.
 */
const assert = require('node:assert/strict');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { isMainThread, parentPort, Worker, workerData } = require('node:worker_threads');

const cjs = require('lockword');

const TURNS = 300;

/** Blocks for the mutex, adds, and unlocks. */
function work({ handle, sum }) {
  const mutex = cjs.Mutex.from(handle);
  for (let i = 0; i < TURNS; i++) {
    mutex.lock();
    sum[0] = sum[0] + 1;
    mutex.unlock();
  }
  parentPort.postMessage('done');
}

/** The promise's value, unless it takes more than ten seconds. */
function within(promise) {
  let timer;
  const late = new Promise(
    (_, reject) => (timer = setTimeout(() => reject(new Error('stranded')), 10_000)),
  );
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const fileOf = (path) => import(pathToFileURL(join(__dirname, path)).href);
const atOf = (copy, { handle }) => copy[handle.type].from(handle);

async function main() {
  // By its path: Deno imports what a program of CommonJS would require.
  const esm = await fileOf('node_modules/lockword/js/src/index.js');
  const other = await fileOf('another-version/js/src/index.js');
  const renamed = await fileOf('renamed.mjs');
  const copies = [esm, cjs, other, renamed];
  assert.equal(new Set(copies.map(({ Mutex }) => Mutex)).size, copies.length, 'these are copies');
  assert.equal(new Set(copies.map(({ self }) => self)).size, 1, 'they are one agent');

  // What one has locked, another unlocks; a blocking call would wait for its own agent, and says
  // so.
  for (const [a, b] of [
    [esm, cjs],
    [cjs, other],
    [other, renamed],
    [renamed, esm],
  ]) {
    const mutex = new a.Mutex();
    const twin = atOf(b, mutex);
    assert(mutex.tryLock() && twin.isMine);
    assert.throws(() => twin.lock(), { code: 'ERR_DEADLOCK' });
    // Copies of two versions may be served in either order.
    const waiting = [mutex.lockAsync(), twin.lockAsync()].map((lock) =>
      lock.then((taken) => assert(taken) ?? twin.unlock()),
    );
    twin.unlock();
    await within(Promise.all(waiting));
    assert(!mutex.isLocked);

    const recursive = new a.RecursiveMutex();
    assert(recursive.lock() && atOf(b, recursive).lock());
    assert.equal(recursive.depth, 2);
    recursive.unlock();
    atOf(b, recursive).unlock();
    assert(!recursive.isLocked);

    const condition = new a.Condition();
    await mutex.lockAsync();
    const told = atOf(b, condition).waitAsync(mutex, 5000);
    assert.equal(condition.notify(), 1);
    assert(await within(told));
    atOf(b, mutex).unlock();
  }

  // One version: all tasks of the agent are served in the order in which they asked.
  const mutex = new esm.Mutex();
  const faces = [mutex, atOf(cjs, mutex)];
  const order = [];
  mutex.tryLock();
  const tasks = Array.from({ length: 20 }, (_, i) =>
    faces[(i >> 1) % 2].runExclusive(() => void order.push(i)),
  );
  faces[1].unlock();
  await within(Promise.all(tasks));
  assert.deepEqual(order, [...order.keys()]);

  // Nor does a task overtake one of another copy when the mutex is free but not yet taken.
  const [first, second] = faces;
  first.tryLock();
  const entered = [];
  const before = first.runExclusive(() => void entered.push('first'));
  first.unlock();
  await within(Promise.all([before, second.runExclusive(() => void entered.push('second'))]));
  assert.deepEqual(entered, ['first', 'second']);

  // All who wait are released, whichever copy they wait in and whichever releases them.
  const event = new esm.Event();
  const permits = cjs.Semaphore.create(0);
  const all = copies.flatMap((copy) => [
    atOf(copy, event).waitAsync(),
    copy.waitAny([atOf(copy, permits).when(3), atOf(copy, event).when()]),
    atOf(copy, permits).waitAsync({ permits: 2 }),
  ]);
  const mixed = esm.waitAny([atOf(cjs, permits).when(9), event.when()]);
  setTimeout(() => (atOf(other, event).set(), atOf(esm, permits).release(8)), 5);
  assert.deepEqual(
    await within(Promise.all(all)),
    copies.flatMap(() => [true, 1, true]),
  );
  assert.equal(await within(mixed), 1);

  // A worker blocks for the mutex, and tasks of all copies wait for it, some of them not for long.
  const sum = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(__filename, { workerData: { handle: mutex.handle, sum } });
  const done = new Promise((resolve, reject) =>
    worker.once('message', resolve).once('error', reject),
  );
  let mine = 0;
  const add = async (copy, k) => {
    const face = atOf(copy, mutex);
    for (let i = 0; i < TURNS; i++) {
      if (!(await face.lockAsync(k % 2 ? Infinity : Math.random()))) continue;
      const before = sum[0];
      if (i % 8 === 0) await null;
      sum[0] = before + 1;
      mine++;
      face.unlock();
    }
  };
  await within(Promise.all([done, ...copies.flatMap((copy) => [add(copy, 0), add(copy, 1)])]));
  assert.equal(sum[0], mine + TURNS);
  assert(!mutex.isLocked);
  console.log('ok');
}

if (isMainThread) main();
else work(workerData);
