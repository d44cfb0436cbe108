/** Where a primitive lives: some words of a shared buffer. Checked once, when it is constructed; never written. */

/**
 * @typedef {import('./wait.js').Heap} Heap
 * @typedef {{ type: string, buffer: SharedArrayBuffer, byteOffset: number }} Handle
 */

/** Every primitive is made of 32-bit words. */
export const ALIGN = 4;

/**
 * A view of a primitive's own words: its address in there is 0. Of fixed length, since engines make length-tracking ones several times slower;
 * when a WebAssembly.Memory grows, what it views stays where it is.
 *
 * @param {SharedArrayBuffer | WebAssembly.Memory | undefined} memory undefined: new memory
 * @param {number} byteOffset
 * @param {number} byteLength
 * @returns {Heap}
 */
export function wordsAt(memory, byteOffset, byteLength) {
  if (!Number.isInteger(byteOffset)) throw new TypeError(`byteOffset must be an integer: ${byteOffset}`);
  if (memory === undefined) {
    if (!globalThis.SharedArrayBuffer) throw new TypeError('no SharedArrayBuffer: the page is not cross-origin isolated');
    memory = new SharedArrayBuffer(byteLength);
  }
  const buffer = memory instanceof WebAssembly.Memory ? memory.buffer : memory;
  if (Object.prototype.toString.call(buffer) !== '[object SharedArrayBuffer]') {
    throw new TypeError('expected a SharedArrayBuffer or a shared WebAssembly.Memory');
  }
  // Throws a RangeError if byteOffset is misaligned or out of range.
  return new Int32Array(/** @type {SharedArrayBuffer} */ (buffer), byteOffset, byteLength / 4);
}

/**
 * Checks that a handle, perhaps from another worker, is one of this type.
 *
 * @param {Handle} handle
 * @param {string} type
 */
export function assertHandle(handle, type) {
  if (handle?.type !== type) throw new TypeError(`not the handle of a ${type}: ${handle?.type ?? handle}`);
}
