/**
 * agent.js: the worker behind agents.js. It enters its mode, imports the library, and runs the
 * functions that it is sent, one after the other.
 */
import * as modes from './modes.js';
import * as support from './support.js';

const { process } = globalThis;
const isNode = Boolean(process?.versions?.node) && !process.versions.bun && !globalThis.Deno;
const port = isNode ? (await import('node:worker_threads')).parentPort : globalThis;

const words = new Map();

/** Resolves once the test has said this word to the agent; each time once. */
function heard(word) {
  if (!words.has(word)) {
    const entry = {};
    entry.promise = new Promise((resolve) => (entry.resolve = resolve));
    words.set(word, entry);
  }
  return words.get(word).promise;
}

function hear({ word, value }) {
  heard(word);
  words.get(word).resolve(value);
}

const say = (word, value) => port.postMessage({ word, value });

/** The globals that some jobs replace. A worker in which a job has done so does no other job. */
const replaceable = () => [
  ...Object.getOwnPropertyNames(Atomics).map((name) => Atomics[name]),
  globalThis.SharedArrayBuffer,
  performance,
  setTimeout,
];
let before;
const isAsBefore = () => replaceable().every((value, i) => value === before[i]);

async function work({ job, data, mode }) {
  words.clear();
  if (!before) modes.enter(mode);
  before ??= replaceable();
  const lockword = await import('../../js/src/index.js');
  // Hundreds of workers start, and few of their jobs use more than this.
  const region = /\bRegion\b/.test(job) ? await import('../../js/src/region.js') : {};
  const { imports } = /\bimports\b/.test(job) ? await import('../../js/src/wasm.js') : {};
  const { imports: emscripten } = /\bemscripten\b/.test(job)
    ? await import('../../js/src/emscripten.js')
    : {};
  const run = (0, eval)(`(${job})`);
  return run({
    ...lockword,
    ...region,
    ...support,
    imports,
    emscripten,
    counts: modes.counts,
    briefs: modes.briefs,
    data,
    say,
    heard,
  });
}

async function receive(message) {
  if (!message.job) return hear(message);
  try {
    port.postMessage({ result: await work(message), isAsBefore: isAsBefore() });
  } catch (error) {
    const { name, message: text, code, stack } = error;
    port.postMessage({ error: { name, message: text, code, stack } });
  }
}

if (isNode) port.on('message', receive);
else port.onmessage = ({ data }) => receive(data);
