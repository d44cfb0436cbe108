/**
 * WorkerMutex.bindWorkerExit: what a dead worker held is released, wherever it died, and nobody
 * waits for ever.
 */
import { expect } from 'chai';

import { WorkerMutex } from '../../../js/src/worker-mutex.js';
import { mode } from '../modes.js';
import { OWNER, sleep, stateOf, until, within } from '../support.js';
import { finish, start, startNow } from './threads.js';

const { bindWorkerExit, createSharedBuffer } = WorkerMutex;

/**
 * In Deno, terminate() reports the end of a worker that may run on for a while, or stay queued:
 * only its own end can be relied on.
 */
const isDeno = Boolean(globalThis.Deno);

const ownerOf = (buffer, index = 0) => Atomics.load(new Int32Array(buffer), 4 * index) & OWNER;

/** Ends the thread while it holds the mutex `depth` times. */
const holdAndEnd = async ({ WorkerMutex, data, say }) => {
  const mutex = new WorkerMutex({ handle: data.buffer, index: data.index ?? 0 });
  for (let i = 0; i < data.depth; i++) {
    if (i === 0 && data.how === 'lockAsync') await mutex.lockAsync();
    else mutex.lock();
  }
  say('holding');
  if (data.end) globalThis.process.exit();
};

function codeOf(call) {
  try {
    call();
    return 'none';
  } catch ({ code }) {
    return code;
  }
}

/** A thread that waits for the mutex, blocking; what it will return once it has had it. */
async function blockedOn(buffer) {
  const thread = await start();
  const result = thread.run(({ WorkerMutex, data, say }) => {
    const mutex = new WorkerMutex(data);
    say('waiting');
    mutex.lock();
    mutex.unlock();
    return 'got it';
  }, buffer);
  await thread.said('waiting');
  return { result };
}

// The other modes are kinder: what is not lost when waits do not end by themselves is not lost in
// them.
const describeIf = mode === 'unhealed' ? describe : () => {};

describeIf('WorkerMutex.bindWorkerExit', () => {
  afterEach(finish);

  for (const how of ['lock', 'lockAsync']) {
    for (const end of isDeno ? ['exit'] : ['exit', 'terminate']) {
      it(`releases what a worker took by ${how}, however deep, at its ${end}; who waits goes on`, async () => {
        const buffer = createSharedBuffer();
        const thread = await start();
        bindWorkerExit(thread.worker, buffer);
        const running = thread.run(holdAndEnd, { buffer, how, depth: 3 });
        running.catch(() => {});
        await thread.said('holding');
        const blocked = await blockedOn(buffer);
        const mutex = new WorkerMutex(buffer);
        const mine = mutex.lockAsync();
        await until(() => Atomics.load(new Int32Array(buffer), 0) >>> 30 === 3);
        expect(await stateOf(mine)).to.equal('pending');

        if (end === 'exit') thread.worker.postMessage({ job: '() => globalThis.process.exit()' });
        else void thread.kill();
        await within(10_000, mine, 'lockAsync');
        mutex.unlock();
        expect(await blocked.result).to.equal('got it');
        expect(ownerOf(buffer)).to.equal(0);
      });
    }
  }

  it('is in time for a worker that has not begun to run, and is not undone by its normal end', async () => {
    const buffer = createSharedBuffer();
    const thread = startNow();
    bindWorkerExit(thread.worker, buffer);
    await thread.said('ready');
    thread.run(holdAndEnd, { buffer, depth: 1, end: true }).catch(() => {});
    await within(10_000, thread.exited);
    expect(ownerOf(buffer)).to.equal(0);
  });

  it("releases all of the worker's mutexes in the buffer, and nobody else's", async () => {
    const buffer = createSharedBuffer(4);
    const thread = await start();
    const other = await start();
    bindWorkerExit(thread.worker, buffer);
    for (const index of [0, 2]) await thread.run(holdAndEnd, { buffer, index, depth: 2 });
    await other.run(holdAndEnd, { buffer, index: 1, depth: 1 });
    const mutex = new WorkerMutex({ handle: buffer, index: 3 });
    mutex.lock();
    thread.run(() => globalThis.process.exit()).catch(() => {});
    await within(10_000, thread.exited);
    expect([0, 1, 2, 3].map((index) => ownerOf(buffer, index))).to.deep.equal([
      0,
      other.worker.threadId + 1,
      0,
      1,
    ]);
    mutex.unlock();
  });

  it('returns what undoes it; another binding stays', async () => {
    const buffers = [createSharedBuffer(), createSharedBuffer()];
    const thread = await start();
    const unbind = bindWorkerExit(thread.worker, buffers[0]);
    bindWorkerExit(thread.worker, buffers[1]);
    expect(unbind()).to.equal(undefined);
    unbind();
    for (const buffer of buffers) await thread.run(holdAndEnd, { buffer, depth: 1 });
    const { threadId } = thread.worker;
    thread.run(() => globalThis.process.exit()).catch(() => {});
    await within(10_000, thread.exited);
    expect(buffers.map((buffer) => ownerOf(buffer))).to.deep.equal([threadId + 1, 0]);
  });

  /**
   * Runs a thread that, with the mutex held by this one, gets stuck where `job` gets stuck, and
   * ends it there.
   */
  async function dieAt(job, buffer, free) {
    const thread = await start();
    bindWorkerExit(thread.worker, buffer);
    thread.run(job, buffer).catch(() => {});
    await thread.said('waiting');
    await until(() => Atomics.load(new Int32Array(buffer), 0) >>> 31 === 1);
    await sleep(20);
    const blocked = await blockedOn(buffer);
    await sleep(20);
    free();
    return { thread, blocked };
  }

  if (!isDeno) {
    it('replaces the wake that died with a worker that was woken, but had not taken the mutex yet', async () => {
      const buffer = createSharedBuffer();
      const mutex = new WorkerMutex(buffer);
      mutex.lock();
      const { thread, blocked } = await dieAt(
        ({ WorkerMutex, data, say }) => {
          const { wait } = Atomics;
          Atomics.wait = (...args) => {
            if (wait(...args) === 'ok')
              for (;;) wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
          };
          const mutex = new WorkerMutex(data);
          say('waiting');
          mutex.lock();
        },
        buffer,
        () => mutex.unlock(),
      );
      await sleep(20);
      expect(await stateOf(blocked.result)).to.equal('pending');
      await thread.kill();
      expect(await within(10_000, blocked.result, 'who waited behind it')).to.equal('got it');
    });

    it('does no harm where the worker only waited', async () => {
      const buffer = createSharedBuffer();
      const mutex = new WorkerMutex(buffer);
      mutex.lock();
      const { thread, blocked } = await dieAt(
        ({ WorkerMutex, data, say }) => {
          const mutex = new WorkerMutex(data);
          void mutex.lockAsync();
          say('waiting');
          mutex.lock();
        },
        buffer,
        () => {},
      );
      await thread.kill();
      expect(ownerOf(buffer)).to.equal(1);
      mutex.unlock();
      expect(await blocked.result).to.equal('got it');
    });

    it('replaces the wake that a worker owed when it died between freeing the mutex and notifying', async () => {
      const buffer = createSharedBuffer();
      const thread = await start();
      bindWorkerExit(thread.worker, buffer);
      await thread.run(({ WorkerMutex, data }) => new WorkerMutex(data).lock(), buffer);
      const blocked = await blockedOn(buffer);
      await until(() => Atomics.load(new Int32Array(buffer), 0) >>> 31 === 1);
      await sleep(20);
      thread
        .run(({ WorkerMutex, data, say }) => {
          Atomics.notify = () => {
            say('freed');
            for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
          };
          new WorkerMutex(data).unlock();
        }, buffer)
        .catch(() => {});
      await thread.said('freed');
      expect(ownerOf(buffer)).to.equal(0);
      expect(await stateOf(blocked.result)).to.equal('pending');
      await thread.kill();
      expect(await within(10_000, blocked.result, 'who waited')).to.equal('got it');
    });
  }

  it('throws WORKER_INSTANCE_MUST_SUPPORT_EXIT_EVENT', () => {
    for (const worker of [undefined, null, 1, {}, { threadId: 1 }, new EventTarget()])
      expect(codeOf(() => bindWorkerExit(worker, createSharedBuffer()))).to.equal(
        'WORKER_INSTANCE_MUST_SUPPORT_EXIT_EVENT',
      );
  });

  const workerWith = (threadId) => ({ threadId, once() {}, removeListener() {} });

  it('throws WORKER_THREAD_ID_MUST_BE_A_POSITIVE_INTEGER', () => {
    for (const id of [0, -2, 1.5, NaN, undefined, '1'])
      expect(codeOf(() => bindWorkerExit(workerWith(id), createSharedBuffer()))).to.equal(
        'WORKER_THREAD_ID_MUST_BE_A_POSITIVE_INTEGER',
      );
  });

  it('throws WORKER_IS_ALREADY_EXITED', async () => {
    expect(codeOf(() => bindWorkerExit(workerWith(-1), createSharedBuffer()))).to.equal(
      'WORKER_IS_ALREADY_EXITED',
    );
    if (isDeno) return;
    const thread = await start();
    await thread.kill();
    expect(codeOf(() => bindWorkerExit(thread.worker, createSharedBuffer()))).to.equal(
      'WORKER_IS_ALREADY_EXITED',
    );
  });

  it('knows a worker that has ended by its exit code, where it has one', () => {
    const bind = (exitCode) => bindWorkerExit({ ...workerWith(1), exitCode }, createSharedBuffer());
    for (const exitCode of [0, 1])
      expect(codeOf(() => bind(exitCode))).to.equal('WORKER_IS_ALREADY_EXITED');
    for (const exitCode of [null, undefined]) bind(exitCode)();
  });

  it('needs no removeListener to be undone', () => {
    for (const undone of [false, true]) {
      const buffer = createSharedBuffer();
      new Int32Array(buffer).set([8, 0, 1]);
      let exit;
      const undo = bindWorkerExit(
        { threadId: 7, once: (_, listener) => (exit = listener) },
        buffer,
      );
      if (undone) undo();
      exit();
      expect(ownerOf(buffer)).to.equal(undone ? 8 : 0);
    }
  });

  it('throws about the buffer what the constructor throws', () => {
    const code = (buffer) => codeOf(() => bindWorkerExit(workerWith(1), buffer));
    expect(code(new ArrayBuffer(12))).to.equal('HANDLE_MUST_BE_A_SHARED_ARRAY_BUFFER');
    for (const size of [0, 4, 12])
      expect(code(new SharedArrayBuffer(size))).to.equal(
        'MUTEX_BUFFER_SIZE_MUST_MATCH_SINGLE_MUTEX',
      );
  });
});
