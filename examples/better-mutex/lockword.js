/** The same shape on lockword. A mutex takes two elements, 8 bytes, instead of one. */
import { Mutex } from 'lockword';

export class BetterMutex extends Mutex {
  /**
   * @param {Int32Array | SharedArrayBuffer} memory
   * @param {number} [offset] in elements of an Int32Array, or bytes of a buffer
   */
  constructor(memory, offset = 0) {
    if (ArrayBuffer.isView(memory))
      super(memory.buffer, memory.byteOffset + memory.BYTES_PER_ELEMENT * offset);
    else super(memory, offset);
  }
}
