/** What a user of Jest writes, without any flag. */
const { Worker } = require('node:worker_threads');

const { DeadlockError, Mutex, self } = require('lockword');

test('tasks exclude each other, and a worker that blocks', async () => {
  const mutex = new Mutex();
  await mutex.lockAsync();
  const source = `
    const { workerData, parentPort } = require('node:worker_threads');
    const { Mutex } = require('lockword');
    const mutex = Mutex.from(workerData);
    parentPort.postMessage(mutex.lock(10_000));
    mutex.unlock();
  `;
  const worker = new Worker(source, { eval: true, workerData: mutex.handle });
  const waiting = [1, 2].map(() => mutex.runExclusive(() => mutex.isMine));
  expect(() => mutex.lock()).toThrow(DeadlockError);
  mutex.unlock();
  expect(await Promise.all(waiting)).toEqual([true, true]);
  expect(await new Promise((resolve) => worker.once('message', resolve))).toBe(true);
  expect(await mutex.lockAsync({ timeout: 1000, signal: new AbortController().signal })).toBe(true);
});

test('a module that is loaded anew is the same agent', () => {
  jest.resetModules();
  const again = require('lockword');
  expect(again.Mutex).not.toBe(Mutex);
  expect(again.self).toBe(self);
});
