/** Where a primitive lives: some words of a shared buffer. Checked once, when it is constructed; never written. */

/**
 * @typedef {import('./wait.js').Heap} Heap
 * @typedef {{ type: string, buffer: SharedArrayBuffer, byteOffset: number }} Handle
 */

/** Every primitive is made of 32-bit words. */
export const ALIGN = 4;

/**
 * One view a buffer, whatever number of primitives live in it. Of fixed length: engines make length-tracking ones several times slower.
 *
 * @type {WeakMap<SharedArrayBuffer, Heap>}
 */
const heaps = new WeakMap();

/**
 * The buffer that a primitive is to live in.
 *
 * @param {SharedArrayBuffer | WebAssembly.Memory | undefined} memory undefined: a new one
 * @param {number} byteLength
 * @returns {SharedArrayBuffer}
 */
export function bufferOf(memory, byteLength) {
  if (memory === undefined) {
    if (typeof SharedArrayBuffer === 'undefined') {
      throw new TypeError('no SharedArrayBuffer here: the page is not cross-origin isolated (COOP same-origin, COEP require-corp)');
    }
    return new SharedArrayBuffer(byteLength);
  }
  const buffer = memory instanceof WebAssembly.Memory ? memory.buffer : memory;
  if (Object.prototype.toString.call(buffer) !== '[object SharedArrayBuffer]') {
    throw new TypeError('buffer must be a SharedArrayBuffer or a shared WebAssembly.Memory');
  }
  return /** @type {SharedArrayBuffer} */ (buffer);
}

/**
 * A view of the buffer in which the words at `byteOffset` can be reached.
 *
 * @param {SharedArrayBuffer} buffer
 * @param {number} byteOffset
 * @param {number} byteLength
 * @returns {Heap}
 */
export function heapOf(buffer, byteOffset, byteLength) {
  if (typeof byteOffset !== 'number') throw new TypeError(`byteOffset must be a number, not ${typeof byteOffset}`);
  if (!Number.isInteger(byteOffset) || byteOffset % ALIGN !== 0) {
    throw new RangeError(`byteOffset must be a multiple of ${ALIGN}: ${byteOffset}`);
  }
  if (byteOffset < 0 || byteOffset + byteLength > buffer.byteLength) {
    throw new RangeError(`${byteLength} bytes at byteOffset ${byteOffset} do not fit a buffer of ${buffer.byteLength} bytes`);
  }
  let heap = heaps.get(buffer);
  // A growable buffer may have grown since.
  if (!heap || byteOffset + byteLength > heap.byteLength) {
    heap = new Int32Array(buffer, 0, Math.floor(buffer.byteLength / 4));
    heaps.set(buffer, heap);
  }
  return heap;
}

/**
 * Checks that a handle, perhaps from another worker, is one of this type.
 *
 * @param {Handle} handle
 * @param {string} type
 */
export function assertHandle(handle, type) {
  if (handle?.type !== type) {
    throw new TypeError(
      `expected the handle of a ${type}, not ${handle?.type === undefined ? typeof handle : `of a ${handle.type}`}`,
    );
  }
}
