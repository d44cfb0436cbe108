/**
 * agents.js: workers that run a function of the test, on any runtime.
 *
 *     const agent = spawn(async ({ Mutex, data, say }) => {
 *       const mutex = Mutex.from(data.handle);
 *       mutex.lock();
 *       say('holding');
 *       …
 *       return 42;
 *     }, { handle: mutex.handle });
 *     await agent.said('holding');
 *     await agent.result;                               // 42, or rejects with what the function threw
 *
 * The function crosses over as source, so it sees nothing of the test around it but `data`.
 * agent.js lists what else it is given. finish() belongs into afterEach: it ends the agents that a
 * test left behind.
 */
import { within } from './support.js';

const script = new URL('./agent.js', import.meta.url);
const { process } = globalThis;
/** Whether workers are Node's own. */
export const isNode = Boolean(process?.versions?.node) && !process.versions.bun && !globalThis.Deno;
const isWebWorker = globalThis instanceof (globalThis.DedicatedWorkerGlobalScope ?? class {});
const NodeWorker = isNode ? (await import('node:worker_threads')).Worker : undefined;

let modeOfSuite = 'normal';
const living = new Set();

/** The mode (modes.js) of agents that are spawned without one. */
export const spawnIn = (mode) => (modeOfSuite = mode);

function start() {
  if (!NodeWorker) return new Worker(script, { type: 'module' });
  const worker = new NodeWorker(script);
  return Object.assign(worker, {
    addEventListener: (name, listen) =>
      worker.on(name, (data) => listen({ data, message: `${data}` })),
  });
}

class Agent {
  #worker = start();
  #heard = new Map();
  #settle;

  /** What the function returned. */
  result = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));

  constructor(job, data, mode) {
    living.add(this);
    this.result.catch(() => {});
    this.#worker.addEventListener('message', ({ data: message }) => this.#receive(message));
    this.#worker.addEventListener('error', ({ message }) =>
      this.#end('reject', new Error(`the agent failed: ${message}`)),
    );
    this.#worker.postMessage({ job: `${job}`, data, mode });
  }

  /** Resolves, with what was said along with it, once the agent has said this word. */
  said(word) {
    return Promise.race([
      this.#wordOf(word).promise,
      this.result.then(() => this.#wordOf(word).promise),
    ]);
  }

  /** Makes the agent's heard(word) resolve. */
  say(word, value) {
    this.#worker.postMessage({ word, value });
  }

  /** The seat in which this region expects the agent: Region.from(seat). */
  watchedBy(region) {
    return region.watch(this.#worker);
  }

  /** Ends the agent wherever it is. */
  async terminate() {
    living.delete(this);
    await this.#worker.terminate();
  }

  #wordOf(word) {
    if (!this.#heard.has(word)) {
      const heard = {};
      heard.promise = new Promise((resolve) => (heard.resolve = resolve));
      this.#heard.set(word, heard);
    }
    return this.#heard.get(word);
  }

  #receive({ word, value, result, error }) {
    if (word !== undefined) this.#wordOf(word).resolve(value);
    else if (error) this.#end('reject', Object.assign(new Error(error.message), error));
    else this.#end('resolve', result);
  }

  #end(how, value) {
    this.#settle[how](value);
    // Bun's workers do not end by themselves, and would keep the process alive. Firefox's may block
    // for ever when they terminate others (docs/runtimes.md): theirs end with them.
    if (isWebWorker) living.delete(this);
    else void this.terminate();
  }
}

/** Runs a function in a worker of its own. */
export const spawn = (job, data = {}, mode = modeOfSuite) => new Agent(job, data, mode);

/** Ends all agents that still run. */
export const finish = () =>
  within(10_000, Promise.all([...living].map((agent) => agent.terminate())), 'terminating agents');
