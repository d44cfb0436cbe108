/**
 * web.js: the suite in a browser. Tests that block their own thread run in a worker, as a page's
 * main thread may not; then all others on the page. The page's address says by ?grep= which tests.
 * The page sends what is reported to the server, in POSTs.
 */
import 'mocha/mocha.js';

import { engine, reporterTo, runSuite, whyOf } from './suite.js';

const { document, location, Mocha } = globalThis;
const grep = new URLSearchParams(location.search).get('grep') ?? undefined;

/** Mocha's own way is a timer, which takes 4 ms each time. */
const { port1, port2 } = new MessageChannel();
const soon = [];
port1.onmessage = () => soon.shift()();
Mocha.Runner.immediately = (callback) => {
  soon.push(callback);
  port2.postMessage(null);
};

const unsent = [];
let sending = Promise.resolve();

/** Sends what has come together since the last time. */
async function send() {
  const body = JSON.stringify(unsent.splice(0));
  if (body !== '[]') await fetch('/', { method: 'POST', body });
}

const tellServer = (report) => {
  unsent.push(report);
  return (sending = sending.then(send));
};
const tellPage = (report) => globalThis.postMessage(report);

/** The same script in a worker; returns how many failed. */
function runInWorker() {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(location.search, import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => {
      if (data.end === undefined) return tellServer(data);
      worker.terminate();
      resolve(data.end);
    };
    worker.onerror = ({ message }) => reject(new Error(message ?? 'the worker did not start'));
  });
}

/** @param {(() => Promise<unknown>)[]} tests each imports a file of tests */
export async function start(tests) {
  const tell = document ? tellServer : tellPage;
  const wanted = ({ blocks = false }) => blocks === !document;
  try {
    if (document) tell({ engine });
    const before = document ? await runInWorker() : 0;
    tell({
      end:
        before +
        (await runSuite(Mocha, tests, {
          mode: 'normal',
          reporter: reporterTo(tell),
          grep,
          wanted,
        })),
    });
  } catch (error) {
    tell({ failed: 'the run', why: whyOf(error) });
  }
}
