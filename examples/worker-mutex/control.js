/**
 * By what main-thread.js directs its worker: elements that are 0 until something has happened, or
 * may.
 */
export const TOOK = 0;
export const GO_ON = 1;
export const INSIDE = 2;
export const LEAVE = 3;

export const control = () => new Int32Array(new SharedArrayBuffer(16));

export function set(cells, element) {
  Atomics.store(cells, element, 1);
  Atomics.notify(cells, element);
}

export async function until(cells, element) {
  while (Atomics.load(cells, element) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
}
