/**
 * node bench/js/wasm.js: what JavaScript on a shared WebAssembly.Memory would gain by calling the C
 * core as WebAssembly instead of the translated one. Measures one uncontended lock and unlock by
 * either, on the same word, and by the class that users call; then by turns on several memories.
 * Each memory needs an instance, so the engine knows less and less well what is called.
 * docs/experiments.md says why lockword does not do it.
 */

import { fileURLToPath } from 'node:url';
import { imports } from '../../js/src/wasm.js';
import { mutexFree, mutexTake } from '../../js/src/core/mutex.js';
import { Mutex } from '../../js/src/index.js';
import { link } from '../../tools/core/link.js';
import { pin } from './crew.js';
import { rotated } from './measure.js';
import { median } from './statistics.js';
import { fixed, sayTable } from './table.js';

const PAIRS = 50_000;
const ROUNDS = 301;
const WARM_UP_ROUNDS = 20;
const SELF = 42;

const module = await link([fileURLToPath(new URL('wasm.c', import.meta.url))], {
  exports: ['take', 'release'],
});

/** A memory with an instance of the core and a mutex in it. */
async function place() {
  const memory = new WebAssembly.Memory({ initial: 4, maximum: 4, shared: true });
  const { exports } = (await WebAssembly.instantiate(module, { env: { memory }, ...imports() }))
    .instance;
  const address = exports.__heap_base.value;
  return { memory, exports, address, words: new Int32Array(memory.buffer, address, 2) };
}

const places = await Promise.all(Array.from({ length: 5 }, place));
const both = places.slice(0, 2);
const [{ memory, exports, address, words }] = places;
const heap = new Int32Array(memory.buffer);
const mutex = new Mutex(memory, address);

/* Each has a function of its own, so that the engine compiles it for that one alone. */
const ways = [
  {
    name: 'Atomics, on a view of all memory',
    pairs(n) {
      const index = address / 4;
      for (let i = 0; i < n; i++) {
        Atomics.compareExchange(heap, index, 0, SELF);
        Atomics.compareExchange(heap, index, SELF, 0);
      }
    },
  },
  {
    name: 'the core in JavaScript',
    pairs(n) {
      for (let i = 0; i < n; i++) {
        mutexTake(words, SELF);
        mutexFree(words, SELF);
      }
    },
  },
  {
    name: 'the core as WebAssembly',
    pairs(n) {
      for (let i = 0; i < n; i++) {
        exports.take(address, SELF);
        exports.release(address, SELF);
      }
    },
  },
  {
    name: 'the core in JavaScript, five memories',
    pairs(n) {
      for (let i = 0; i < n; i++) {
        const { words } = places[i % 5];
        mutexTake(words, SELF);
        mutexFree(words, SELF);
      }
    },
  },
  {
    name: 'the core as WebAssembly, two memories',
    pairs(n) {
      for (let i = 0; i < n; i++) {
        const { exports, address } = both[i % 2];
        exports.take(address, SELF);
        exports.release(address, SELF);
      }
    },
  },
  {
    name: 'the core as WebAssembly, five memories',
    pairs(n) {
      for (let i = 0; i < n; i++) {
        const { exports, address } = places[i % 5];
        exports.take(address, SELF);
        exports.release(address, SELF);
      }
    },
  },
  {
    name: 'Mutex, lock and unlock',
    pairs(n) {
      for (let i = 0; i < n; i++) {
        mutex.lock();
        mutex.unlock();
      }
    },
  },
];

pin(process.pid, 1);
const rounds = [];
for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
  const ns = new Map();
  for (const way of rotated(ways, round)) {
    const before = performance.now();
    way.pairs(PAIRS);
    ns.set(way, ((performance.now() - before) * 1e6) / PAIRS);
  }
  if (round >= WARM_UP_ROUNDS) rounds.push(ns);
}
const translated = ways[1];
console.log(
  `${process.release.name} ${process.version}: one lock and unlock, uncontended; medians of ${ROUNDS} rounds\n`,
);
sayTable([
  ['', 'ns', 'x translated'],
  ...ways.map((way) => [
    way.name,
    fixed(median(rounds.map((ns) => ns.get(way))), 2),
    fixed(median(rounds.map((ns) => ns.get(way) / ns.get(translated))), 3),
  ]),
]);
