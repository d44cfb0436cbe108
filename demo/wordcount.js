/**
 * The table of wordcount.h, for agents that run JavaScript. The same bytes, the same locks; see
 * there for the layout.
 */

import { Mutex } from 'lockword';

/** Which 32-bit word of struct wc_arena is what. */
const ARENA = {
  magic: 0,
  arenaBytes: 1,
  wordBytes: 2,
  tallyBytes: 3,
  size: 4,
  stripes: 5,
  stripesAt: 6,
  buckets: 7,
  bucketsAt: 8,
  heapAt: 9,
  maxChain: 10,
  locking: 11,
  files: 12,
  nextFile: 13,
  filesLock: 14,
  heapNext: 16,
  heapLock: 17,
};
const ARENA_BYTES = 76;
const MAGIC = 0x31304357;

/** The same of struct wc_word. */
const NEXT = 0;
const HASH = 1;
const COUNT = 2;
const LENGTH = 3;
const WORD_BYTES = 16;

/** The fields of struct wc_tally, in their order. */
const TALLY = ['words', 'contended', 'waits', 'waitedUs', 'longestUs', 'full', 'damaged'];
export const TALLY_BYTES = 4 * TALLY.length;

export const NO_FILE = 0xffffffff;

const FNV_BASIS = 0x811c9dc5 | 0;
const FNV_PRIME = 0x01000193;

const STARTS_WORD = 2;
const CONTINUES_WORD = 1;
const KIND = Uint8Array.from({ length: 256 }, (_, c) => {
  const char = String.fromCharCode(c);
  return /[A-Za-z_]/.test(char) ? STARTS_WORD : /[0-9]/.test(char) ? CONTINUES_WORD : 0;
});

/** What one agent has done. */
const newTally = () => Object.fromEntries(TALLY.map((name) => [name, 0]));

/** A struct wc_tally as C left it. */
export function readTally(buffer, at) {
  const words = new Uint32Array(buffer, at, TALLY.length);
  return Object.fromEntries(TALLY.map((name, i) => [name, words[i]]));
}

/** Finds the words of a text: their start, their end, and their hash. */
class Scanner {
  start = 0;
  end = 0;
  hash = 0;

  /** @param {Uint8Array} text */
  constructor(text) {
    this.text = text;
  }

  /** Moves to the next word; false: there is none. */
  next() {
    const { text } = this;
    const { length } = text;
    let i = this.end;
    while (i < length && KIND[text[i]] !== STARTS_WORD) i++;
    this.start = i;
    let hash = FNV_BASIS;
    while (i < length && KIND[text[i]] !== 0) hash = Math.imul(hash ^ text[i++], FNV_PRIME);
    this.end = i;
    this.hash = hash >>> 0;
    return this.start < i;
  }
}

/** What a word's search found besides its offset. */
const UNKNOWN = 0;
const DAMAGED = -1;

/**
 * The bytes of a table, wherever it is. Takes no lock: the caller holds what wordcount.h asks for.
 */
export class Table {
  /**
   * @param {ArrayBuffer | SharedArrayBuffer} buffer
   * @param {number} base where in the buffer the table starts
   */
  constructor(buffer, base = 0) {
    const header = new Uint32Array(buffer, base, ARENA_BYTES / 4);
    const sizes = [
      header[ARENA.magic],
      header[ARENA.arenaBytes],
      header[ARENA.wordBytes],
      header[ARENA.tallyBytes],
    ];
    const expected = [MAGIC, ARENA_BYTES, WORD_BYTES, TALLY_BYTES];
    if (sizes.some((size, i) => size !== expected[i]))
      throw new Error(`wordcount.h and wordcount.js differ: ${sizes}, ${expected}`);

    for (const name of [
      'size',
      'stripes',
      'stripesAt',
      'buckets',
      'bucketsAt',
      'heapAt',
      'maxChain',
      'locking',
      'files',
    ]) {
      this[name] = header[ARENA[name]];
    }
    // A table that was written to a file ends where its last word does.
    const bytes = Math.min(this.size, buffer.byteLength - base);
    this.base = base;
    this.u32 = new Uint32Array(buffer, base, bytes >>> 2);
    this.u8 = new Uint8Array(buffer, base, bytes);
    this.lastWordAt = bytes - WORD_BYTES;
  }

  /** How many files were handed out. A glance without the lock. */
  get filesTaken() {
    return Atomics.load(this.u32, ARENA.nextFile);
  }

  /** The next file to count; NO_FILE if all are taken. */
  takeFile() {
    return this.filesTaken < this.files ? this.u32[ARENA.nextFile]++ : NO_FILE;
  }

  /** Where the lock of the work list is, from the table's start. */
  get filesLockAt() {
    return 4 * ARENA.filesLock;
  }

  get heapLockAt() {
    return 4 * ARENA.heapLock;
  }

  stripeAt(i) {
    return this.stripesAt + Mutex.BYTE_LENGTH * i;
  }

  /** Whether all locks are as if nobody had ever used them. */
  get locksAreZero() {
    const places = [
      this.filesLockAt,
      this.heapLockAt,
      ...Array.from({ length: this.stripes }, (_, i) => this.stripeAt(i)),
    ];
    return places.every((at) => this.u32[at >>> 2] === 0 && this.u32[(at >>> 2) + 1] === 0);
  }

  #isPlace(offset) {
    return offset >= this.heapAt && offset <= this.lastWordAt && offset % 4 === 0;
  }

  #bucketOf(hash) {
    return (this.bucketsAt >>> 2) + (hash & (this.buckets - 1));
  }

  #isWord(offset, text, start, end, hash) {
    const { u32, u8 } = this;
    const at = offset >>> 2;
    const length = end - start;
    if (u32[at + HASH] !== hash || u32[at + LENGTH] !== length) return false;
    const letters = offset + WORD_BYTES;
    let i = 0;
    while (i < length && u8[letters + i] === text[start + i]) i++;
    return i === length;
  }

  /**
   * The offset of the scanner's word, UNKNOWN, or DAMAGED if the chain leads nowhere or in circles.
   */
  #find({ text, start, end, hash }) {
    const { u32, maxChain } = this;
    let offset = u32[this.#bucketOf(hash)];
    for (let steps = 0; offset !== 0; steps++) {
      if (!this.#isPlace(offset) || steps === maxChain) return DAMAGED;
      if (this.#isWord(offset, text, start, end, hash)) return offset;
      offset = u32[(offset >>> 2) + NEXT];
    }
    return UNKNOWN;
  }

  /** Counts the scanner's word if the table has it, and returns false if it must be inserted. */
  countKnown(scanner, tally) {
    const offset = this.#find(scanner);
    tally.words++;
    if (offset === DAMAGED) tally.damaged++;
    else if (offset !== UNKNOWN) this.u32[(offset >>> 2) + COUNT]++;
    return offset !== UNKNOWN;
  }

  /** Room for the scanner's word; 0: there is none left. */
  allocate({ start, end }) {
    const offset = this.u32[ARENA.heapNext];
    const next = Math.ceil((offset + WORD_BYTES + end - start) / 4) * 4;
    if (next > this.size) return 0;
    this.u32[ARENA.heapNext] = next;
    return offset;
  }

  /** Puts the scanner's word, new to the table, at the head of its chain. */
  insert({ text, start, end, hash }, offset, tally) {
    if (offset === 0) {
      tally.full++;
      return;
    }
    const { u32, u8 } = this;
    const at = offset >>> 2;
    const bucket = this.#bucketOf(hash);
    for (let from = start, to = offset + WORD_BYTES; from < end;) u8[to++] = text[from++];
    u32[at + HASH] = hash;
    u32[at + LENGTH] = end - start;
    u32[at + COUNT] = 1;
    u32[at + NEXT] = u32[bucket];
    u32[bucket] = offset;
  }

  /**
   * Whether what follows a word are letters only, all inside the table. Without locks two words may
   * have been given the same place: letters of one are then the other's length.
   */
  #isWhole(letters, end) {
    if (end > this.u8.length) return false;
    let i = letters;
    while (i < end && KIND[this.u8[i]] !== 0) i++;
    return i === end;
  }

  /**
   * Every word and its count. Survives a damaged table: words that are none are left out, and
   * broken chains end where they break.
   */
  toMap() {
    const { u32 } = this;
    const bytes = Buffer.from(this.u8.buffer, this.u8.byteOffset, this.u8.length);
    const words = new Map();
    for (let bucket = 0; bucket < this.buckets; bucket++) {
      let offset = u32[(this.bucketsAt >>> 2) + bucket];
      for (let steps = 0; this.#isPlace(offset) && steps < this.maxChain; steps++) {
        const at = offset >>> 2;
        const letters = offset + WORD_BYTES;
        const end = letters + u32[at + LENGTH];
        if (this.#isWhole(letters, end)) {
          const word = bytes.latin1Slice(letters, end);
          words.set(word, (words.get(word) ?? 0) + u32[at + COUNT]);
        }
        offset = u32[at + NEXT];
      }
    }
    return words;
  }
}

/** What stands in for a mutex where the demo goes without. */
const NO_LOCK = {
  isLocked: false,
  tryLock: () => true,
  lock: () => true,
  lockAsync: async () => true,
  unlock: () => {},
};

/** An agent at work on a table: takes the locks, blocking or not, and keeps the tally. */
export class Counter {
  tally = newTally();

  /**
   * @param {WebAssembly.Memory} memory
   * @param {Table} table
   */
  constructor(memory, table) {
    const mutex = (at) => new Mutex(memory, table.base + at);
    const guard = (at) => (table.locking ? mutex(at) : NO_LOCK);
    this.table = table;
    this.filesLock = mutex(table.filesLockAt);
    this.heapLock = guard(table.heapLockAt);
    this.stripes = Array.from({ length: table.stripes }, (_, i) => guard(table.stripeAt(i)));
  }

  #stripeOf(scanner) {
    return this.stripes[scanner.hash & (this.stripes.length - 1)];
  }

  #contended() {
    this.tally.contended++;
    return performance.now();
  }

  #held(came) {
    const us = Math.round(1000 * (performance.now() - came));
    this.tally.waitedUs += us;
    this.tally.longestUs = Math.max(this.tally.longestUs, us);
  }

  #take(lock) {
    if (lock.tryLock()) return;
    const came = this.#contended();
    if (!lock.tryLock()) {
      this.tally.waits++;
      lock.lock();
    }
    this.#held(came);
  }

  #takeAsync(lock) {
    return lock.isLocked ? this.#takeContendedAsync(lock) : lock.lockAsync();
  }

  async #takeContendedAsync(lock) {
    const came = this.#contended();
    if (lock.isLocked) this.tally.waits++;
    await lock.lockAsync();
    this.#held(came);
  }

  takeFile() {
    this.#take(this.filesLock);
    const file = this.table.takeFile();
    this.filesLock.unlock();
    return file;
  }

  async takeFileAsync() {
    await this.#takeAsync(this.filesLock);
    const file = this.table.takeFile();
    this.filesLock.unlock();
    return file;
  }

  /** Counts the words of a text, which is a whole file. Blocks while others hold what it needs. */
  count(text) {
    const { table, tally, heapLock } = this;
    const scanner = new Scanner(text);
    while (scanner.next()) {
      const stripe = this.#stripeOf(scanner);
      this.#take(stripe);
      if (!table.countKnown(scanner, tally)) {
        this.#take(heapLock);
        const offset = table.allocate(scanner);
        heapLock.unlock();
        table.insert(scanner, offset, tally);
      }
      stripe.unlock();
    }
  }

  /**
   * The same, for a thread that must not block. Between words, when it holds nothing, it lets its
   * event loop run as often as the pace asks for: a promise that is settled already would not.
   */
  async countAsync(text, pace) {
    const { table, tally, heapLock } = this;
    const scanner = new Scanner(text);
    while (scanner.next()) {
      const stripe = this.#stripeOf(scanner);
      await this.#takeAsync(stripe);
      if (!table.countKnown(scanner, tally)) {
        await this.#takeAsync(heapLock);
        const offset = table.allocate(scanner);
        heapLock.unlock();
        table.insert(scanner, offset, tally);
      }
      stripe.unlock();
      if (pace.isTurnOver()) await pace.nextTurn();
    }
  }
}
