/**
 * A cache that processes share. What is missing is made once: who asks meanwhile waits for it, in
 * whichever process, and none polls. If the process dies that makes it, the next one in line does.
 */
import { open } from 'lockword-region';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Before the key and the value in a place: their lengths, and when the value is too old. */
const [KEY, VALUE, OLD, HEAD] = [0, 4, 8, 16];

export class Cache {
  #region;
  #places;
  #size;
  #bytes;

  /**
   * @param {string} path of the region; all who share the cache give the same numbers
   * @param {number} [places] how many values there are at most
   * @param {number} [size] of a place, in bytes: a value that does not fit is not kept
   */
  constructor(path, places = 256, size = 1024) {
    // One half is for names, and so much of the other one for the places.
    this.#region = open(path, { size: 2 ** 19 + 2 * places * size });
    this.#places = places;
    this.#size = size;
    this.#bytes = this.#region.bytes('places', places * size);
  }

  /**
   * @param {string} key
   * @param {(key: string) => Promise<string>} make
   * @param {number} [ms] how long the value is good
   */
  get(key, make, ms = Infinity) {
    // Another key that has the same place drives this one out, as in any cache.
    const n = hash(key) % this.#places;
    const place = this.#bytes.subarray(n * this.#size, (n + 1) * this.#size);
    return this.#region.mutex(`place ${n}`).runExclusive(async ({ ownerDied }) => {
      if (ownerDied) place.fill(0); // it may be half written
      const found = read(place, key);
      if (found !== undefined) return found;
      const value = await make(key);
      write(place, key, value, Date.now() + ms);
      return value;
    });
  }
}

/** FNV-1a. */
function hash(key) {
  let sum = 2166136261;
  for (const byte of encoder.encode(key)) sum = Math.imul(sum ^ byte, 16777619);
  return sum >>> 0;
}

const fields = ({ buffer, byteOffset }) => new DataView(buffer, byteOffset, HEAD);

function read(place, key) {
  const head = fields(place);
  if (head.getFloat64(OLD) <= Date.now()) return undefined; // in an empty place, too
  const middle = HEAD + head.getUint32(KEY);
  // Copies, since a decoder may refuse memory that is shared.
  if (decoder.decode(place.slice(HEAD, middle)) !== key) return undefined;
  return decoder.decode(place.slice(middle, middle + head.getUint32(VALUE)));
}

function write(place, key, value, old) {
  const head = fields(place);
  const [keyBytes, valueBytes] = [key, value].map((text) => encoder.encode(text));
  const middle = HEAD + keyBytes.length;
  if (middle + valueBytes.length > place.length) return;
  head.setUint32(KEY, keyBytes.length);
  head.setUint32(VALUE, valueBytes.length);
  head.setFloat64(OLD, old);
  place.set(keyBytes, HEAD);
  place.set(valueBytes, middle);
}
