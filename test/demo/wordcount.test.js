import { strict as assert } from 'node:assert';
import { Table } from '../../demo/wordcount.js';

const MAGIC = 0x31304357;
const HEADER = [MAGIC, 76, 16, 28];
const BUCKET_AT = 128;
const HEAP_AT = 192;

/** A table of one bucket, as a file has it: it ends where its only word does. */
function tableOf(word, { length = word.length } = {}) {
  const bytes = new Uint8Array(HEAP_AT + 16 + word.length);
  const u32 = new Uint32Array(bytes.buffer);
  const [size, stripes, stripesAt, buckets, maxChain] = [bytes.length, 0, 128, 1, 256];
  u32.set([...HEADER, size, stripes, stripesAt, buckets, BUCKET_AT, HEAP_AT, maxChain, 0, 1]);
  u32[BUCKET_AT / 4] = HEAP_AT;
  u32.set([0, 0, 7, length], HEAP_AT / 4);
  bytes.set(Buffer.from(word, 'latin1'), HEAP_AT + 16);
  return new Table(bytes.buffer);
}

describe('The table that the demo reads back', () => {
  it('has the word and its count', () => {
    assert.deepEqual([...tableOf('lock').toMap()], [['lock', 7]]);
  });

  // Without locks two agents may be given one place; the letters of one are the other's length.
  it('leaves out a word whose length reaches beyond the table', () => {
    assert.deepEqual([...tableOf('lock', { length: 0xfffffff0 }).toMap()], []);
  });
});
