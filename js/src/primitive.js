/** What all primitives have in common: words in shared memory, and a name for them that other workers understand. */

/**
 * @typedef {import('./wait.js').Words} Words
 * @typedef {{ type: string, buffer: SharedArrayBuffer, byteOffset: number }} Handle
 */

/**
 * A primitive in shared memory. The object holds no state but an address: any number of them, in any number of workers, may stand for the same
 * primitive. Attaching to one writes nothing.
 */
export class Primitive {
  /** @type {number} How many bytes it takes. */
  static BYTE_LENGTH;
  /** What its byteOffset must be a multiple of. */
  static ALIGN = 4;
  /** @type {string} What its handles say. */
  static type;

  /**
   * Attaches to a primitive; zeroed memory is an unused one.
   *
   * @param {SharedArrayBuffer | WebAssembly.Memory} [memory] where it lives, a Memory being shared; its own new buffer by default
   * @param {number} [byteOffset] at which byte, a multiple of 4
   * @throws {TypeError} memory is not shared, or byteOffset not an integer
   * @throws {RangeError} byteOffset is misaligned or out of range
   */
  constructor(memory, byteOffset = 0) {
    /**
     * A view of its own words. Of fixed length, since engines make length-tracking ones several times slower; when a WebAssembly.Memory
     * grows, what it views stays where it is.
     *
     * @protected
     * @type {Words}
     */
    this.words = wordsAt(memory, byteOffset, new.target.BYTE_LENGTH);
  }

  /**
   * Attaches to the primitive that a handle names.
   *
   * @template {typeof Primitive} C
   * @this {C}
   * @param {Handle} handle
   * @returns {InstanceType<C>}
   * @throws {TypeError} it is the handle of something else
   */
  static from(handle) {
    if (handle?.type !== this.type) throw new TypeError(`not the handle of a ${this.type}`);
    return /** @type {InstanceType<C>} */ (new this(handle.buffer ?? null, handle.byteOffset ?? null));
  }

  /**
   * Names it to other workers: postMessage it, and attach there with `from`.
   *
   * @returns {Handle}
   */
  get handle() {
    const { buffer, byteOffset } = this.words;
    return { type: /** @type {typeof Primitive} */ (this.constructor).type, buffer, byteOffset };
  }
}

/**
 * @param {SharedArrayBuffer | WebAssembly.Memory | undefined} memory undefined: new memory
 * @param {number} byteOffset
 * @param {number} byteLength
 * @returns {Words}
 */
function wordsAt(memory, byteOffset, byteLength) {
  if (!Number.isInteger(byteOffset)) throw new TypeError('byteOffset must be an integer');
  if (memory === undefined) {
    if (!globalThis.SharedArrayBuffer) throw new TypeError('the page is not cross-origin isolated');
    memory = new SharedArrayBuffer(byteLength);
  }
  const buffer = memory instanceof WebAssembly.Memory ? memory.buffer : memory;
  if (/** @type {any} */ (buffer)?.[Symbol.toStringTag] !== 'SharedArrayBuffer') {
    throw new TypeError('memory must be shared');
  }
  // Throws a RangeError if byteOffset is misaligned or out of range.
  return new Int32Array(/** @type {SharedArrayBuffer} */ (buffer), byteOffset, byteLength / 4);
}
