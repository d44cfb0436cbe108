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

let modeOfSuite;
const living = new Set();

/** Workers that have done a job in the suite's mode and are as before: they do the next one. */
const idle = [];

/** The mode (modes.js) of agents that are spawned without one. */
export const spawnIn = (mode) => (modeOfSuite = mode);

function start() {
  const worker = NodeWorker ? new NodeWorker(script) : new Worker(script, { type: 'module' });
  const listen = (name, hear) =>
    NodeWorker
      ? worker.on(name, hear)
      : worker.addEventListener(name, ({ data, message }) => hear(data ?? message));
  listen('message', (message) => worker.agent.receive(message));
  listen('error', (error) => worker.agent.fail(new Error(`the agent failed: ${error}`)));
  return worker;
}

class Agent {
  #worker;
  /** Whether the worker may do another job after this one. */
  #isReusable;
  #heard = new Map();
  #settle;

  /** What the function returned. */
  result = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));

  constructor(job, data, mode) {
    living.add(this);
    this.result.catch(() => {});
    this.#isReusable = mode !== undefined && mode === modeOfSuite;
    this.#worker = (this.#isReusable && idle.pop()) || start();
    this.#worker.agent = this;
    this.#worker.postMessage({ job: `${job}`, data, mode: mode ?? 'normal' });
  }

  /** Resolves, with what was said along with it, once the agent has said this word. */
  said(word) {
    return Promise.race([
      this.#wordOf(word).promise,
      this.result.then(() => this.#wordOf(word).promise),
    ]);
  }

  /** What the worker posts. */
  receive({ word, value, result, error, isAsBefore }) {
    if (word !== undefined) this.#wordOf(word).resolve(value);
    else if (error) this.fail(Object.assign(new Error(error.message), error));
    else {
      this.#settle.resolve(result);
      if (isAsBefore && this.#isReusable && this.#worker) {
        living.delete(this);
        idle.push(this.#worker);
        this.#worker = undefined;
      } else this.#end();
    }
  }

  fail(error) {
    this.#settle.reject(error);
    this.#end();
  }

  /** Makes the agent's heard(word) resolve. */
  say(word, value) {
    this.#worker?.postMessage({ word, value });
  }

  /** The seat in which this region expects the agent: Region.from(seat). */
  watchedBy(region) {
    this.#isReusable = false;
    return region.watch(this.#worker);
  }

  /** Ends the agent wherever it is. */
  async terminate() {
    living.delete(this);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #wordOf(word) {
    if (!this.#heard.has(word)) {
      const heard = {};
      heard.promise = new Promise((resolve) => (heard.resolve = resolve));
      this.#heard.set(word, heard);
    }
    return this.#heard.get(word);
  }

  // Bun's workers do not end by themselves, and would keep the process alive. Firefox's may block
  // for ever when they terminate others (docs/runtimes.md): theirs end with them.
  #end() {
    if (isWebWorker) living.delete(this);
    else void this.terminate();
  }
}

/** Runs a function in a worker: a new one, or one that has returned from another function. */
export const spawn = (job, data = {}, mode = modeOfSuite) => new Agent(job, data, mode);

/** Ends all agents that still run. */
export const finish = () =>
  within(10_000, Promise.all([...living].map((agent) => agent.terminate())), 'terminating agents');
