/**
 * The other end of workers.js: in a worker, replies to the message with what `work` returns for it.
 */
const port = globalThis.postMessage ? globalThis : (await import('node:worker_threads')).parentPort;

/** @param {(message: any) => any} work */
export function serve(work) {
  port.onmessage = async ({ data }) => port.postMessage(await work(data));
}
