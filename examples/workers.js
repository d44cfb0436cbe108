/** Module workers as the examples use them, the same in a page, Node, Deno and Bun. */

const { Worker } = globalThis.Worker ? globalThis : await import('node:worker_threads');

/**
 * Calls `listen` with what the worker says; Node's workers have `on` for that, the web's
 * addEventListener.
 */
function hear(worker, name, listen) {
  if (worker.on) worker.on(name, listen);
  else worker.addEventListener(name, (event) => listen(event.data ?? event));
}

/**
 * Starts a worker and sends it a message.
 *
 * @param {URL} url
 * @param {object} message
 * @returns {{ done: Promise<any>, stop: () => void }} what the worker answers, which is also its
 *   end
 */
export function start(url, message) {
  const worker = new Worker(url, { type: 'module' });
  const done = new Promise((resolve, reject) => {
    hear(worker, 'message', resolve);
    hear(worker, 'error', reject);
  });
  const stop = () => void worker.terminate();
  done.then(stop, stop);
  worker.postMessage(message);
  return { done, stop };
}
