/** Several primitives in one buffer, laid out as C lays out a struct of them. */

/**
 * @typedef {import('./primitive.js').SharedMemory} SharedMemory
 * @typedef {{ BYTE_LENGTH: number, ALIGN: number, new (memory?: SharedMemory, byteOffset?: number):
 *   object }} PrimitiveClass
 */

/**
 * Lays out primitives in the order given, each at the next multiple of its ALIGN, in bytes.
 *
 *     const shared = layout({ lock: Mutex, ready: Event });        // struct { lw_mutex lock; lw_event ready; }
 *     const { lock, ready } = shared.on(new SharedArrayBuffer(shared.byteLength));
 *
 * @template {Record<string, PrimitiveClass>} F
 * @param {F} fields
 * @throws {TypeError} one of them is something else
 */
export function layout(fields) {
  let byteLength = 0;
  const entries = Object.entries(fields).map(([name, Class]) => {
    if (!Class?.ALIGN) throw new TypeError(`${name} is no primitive`);
    const { BYTE_LENGTH, ALIGN } = Class;
    const byteOffset = Math.ceil(byteLength / ALIGN) * ALIGN;
    byteLength = byteOffset + BYTE_LENGTH;
    return /** @type {[string, number]} */ ([name, byteOffset]);
  });
  const offsets = /** @type {{ [K in keyof F]: number }} */ (Object.fromEntries(entries));
  return {
    /** At which byte each of them is. */
    offsets,
    /** How many bytes they take together. */
    byteLength,
    /**
     * Attaches to them all, and writes nothing.
     *
     * @param {SharedMemory} memory
     * @param {number} [byteOffset] where the first one is, a multiple of 4
     * @throws {TypeError} memory is not shared, or byteOffset not an integer
     * @throws {RangeError} byteOffset is misaligned or out of range
     * @returns {{ [K in keyof F]: InstanceType<F[K]> }}
     */
    on(memory, byteOffset = 0) {
      const primitives = entries.map(([name, offset]) => [
        name,
        // What is no integer is told by the class.
        new fields[name](
          memory ?? null,
          Number.isInteger(byteOffset) ? byteOffset + offset : byteOffset,
        ),
      ]);
      return /** @type {any} */ (Object.fromEntries(primitives));
    },
  };
}
