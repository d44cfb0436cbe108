/**
 * threads.js: workers of node:worker_threads that run functions of the test.
 *
 *     const thread = await start();
 *     thread.run(({ WorkerMutex, data, say }) => { new WorkerMutex(data).lock(); say('holding'); }, buffer);
 *     await thread.said('holding');
 *     await thread.kill();                              // resolves with the exit event
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { mode } from '../modes.js';
import { within } from '../support.js';

const script = new URL('./thread.js', import.meta.url);
const living = new Set();

class Thread {
  #heard = new Set();
  #wake = () => {};
  #results = [];

  constructor() {
    this.worker = new Worker(script, { workerData: { mode } });
    this.exited = once(this.worker, 'exit');
    living.add(this);
    this.worker.on('message', ({ word, result, error }) => {
      if (word) this.#heard.add(word);
      else this.#results.shift()(error ? Promise.reject(new Error(error)) : result);
      this.#wake();
    });
  }

  /** Runs a function in the thread; resolves with what it returned. */
  run(job, data) {
    const result = new Promise((resolve) => this.#results.push(resolve));
    result.catch(() => {});
    this.worker.postMessage({ job: `${job}`, data });
    return within(10_000, result, 'a thread');
  }

  /** Resolves once the thread has said this word. */
  async said(word) {
    while (!this.#heard.has(word))
      await within(10_000, new Promise((resolve) => (this.#wake = resolve)), `'${word}'`);
  }

  /** Ends the thread wherever it is. */
  async kill() {
    living.delete(this);
    void this.worker.terminate();
    await within(10_000, this.exited, 'the end of a thread');
  }
}

/** A new thread, ready to run functions. */
export async function start() {
  const thread = new Thread();
  await thread.said('ready');
  return thread;
}

/** A new thread that has not begun to run. */
export const startNow = () => new Thread();

/** Ends all threads that still run. */
export const finish = () => Promise.all([...living].map((thread) => thread.kill()));
