/**
 * What all primitives have in common: words in shared memory, and a name for them that other
 * workers understand.
 */

/**
 * Names a primitive to other workers: postMessage it, and attach there with `from` of the same
 * class.
 *
 * @template {string} [Type=string]
 * @typedef {object} Handle
 * @property {Type} type the class, by name
 * @property {SharedArrayBuffer} buffer the memory that it lives in
 * @property {number} byteOffset at which byte of it
 */

/**
 * Where primitives may live: a SharedArrayBuffer, or a WebAssembly.Memory that is shared.
 *
 * @typedef {SharedArrayBuffer | { readonly buffer: ArrayBufferLike, grow(pages: number): number }}
 *   SharedMemory
 */

/**
 * A primitive in shared memory. The object holds no state but an address: any number of them, in
 * any number of workers, may stand for the same primitive. Attaching to one writes nothing.
 *
 * @template {string} [Type=string]
 */
export class Primitive {
  /** @type {number} How many bytes it takes. */
  static BYTE_LENGTH;
  /** What its byteOffset must be a multiple of. */
  static ALIGN = 4;
  /** @type {string} What its handles say: the name of the class. */
  static type;

  /**
   * A view of its own words. Of fixed length, since engines make length-tracking ones several times
   * slower; when a WebAssembly.Memory grows, what it views stays where it is.
   *
   * @internal
   * @protected
   * @type {import('./wait.js').Words}
   */
  words;

  /**
   * Attaches to a primitive, and writes nothing; zeroed memory is an unused one.
   *
   * @param {SharedMemory} [memory] where it lives; by default, in a new buffer of its own
   * @param {number} [byteOffset] at which byte, a multiple of 4
   * @throws {TypeError} memory is not shared, or byteOffset not an integer
   * @throws {RangeError} byteOffset is misaligned or out of range
   */
  constructor(memory, byteOffset = 0) {
    const { BYTE_LENGTH, ALIGN, type } = new.target;
    if (!Number.isInteger(byteOffset))
      throw new TypeError(`byteOffset must be an integer, not ${byteOffset}`);
    if (memory === undefined) {
      if (!globalThis.SharedArrayBuffer)
        throw new TypeError('the page is not cross-origin isolated');
      memory = new SharedArrayBuffer(BYTE_LENGTH);
    }
    // Not by instanceof: they may be of another realm, and not every engine has WebAssembly.
    /** @type {any} */
    const buffer =
      (memory && /** @type {any} */ (memory).grow && /** @type {any} */ (memory).buffer) || memory;
    if (buffer?.[Symbol.toStringTag] !== 'SharedArrayBuffer') {
      throw new TypeError(
        `memory must be a SharedArrayBuffer; or write ${'create' in new.target ? `${type}.create(…)` : `new ${type}()`}`,
      );
    }
    try {
      this.words = new Int32Array(buffer, byteOffset, BYTE_LENGTH / 4);
    } catch {
      throw new RangeError(
        `${type} needs ${BYTE_LENGTH} bytes at a multiple of ${ALIGN}, not at ${byteOffset} of ${buffer.byteLength}`,
      );
    }
  }

  /**
   * Attaches to the primitive that a handle names, and writes nothing. Do so once in each thread,
   * and keep the object. Each message makes another SharedArrayBuffer of the same memory, and an
   * engine does not tell that they are the same: asynchronous calls by objects of two of them wait
   * in two lines, in no order, at the cost of a waiter for each.
   *
   * @template {{ readonly type: string, new (memory?: SharedMemory, byteOffset?: number): Primitive
   *   }} C
   * @this {C}
   * @param {Handle<C['type']>} handle
   * @returns {InstanceType<C>}
   * @throws {TypeError} it is the handle of something else, or has lost its memory
   */
  static from(handle) {
    // JSON, in which Node sends messages to other processes, makes {} of a SharedArrayBuffer.
    if (handle?.type !== this.type || !handle.buffer?.byteLength)
      throw new TypeError(
        `not a handle of ${this.type}, or its memory is lost: postMessage its 'handle', not as JSON`,
      );
    return /** @type {InstanceType<C>} */ (new this(handle.buffer, handle.byteOffset ?? null));
  }

  /**
   * Names it to other workers: postMessage it, and attach there with `from`.
   *
   * @returns {Handle<Type>}
   */
  get handle() {
    const { buffer, byteOffset } = this.words;
    const { type } = /** @type {typeof Primitive} */ (this.constructor);
    return { type: /** @type {Type} */ (type), buffer, byteOffset };
  }
}
