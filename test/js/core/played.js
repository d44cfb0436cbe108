/** played.js: the functions of js/src/core.js, over words that a test plays: it is asked what comes of every operation. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { transformSync } from 'esbuild';

const HEAP = { of: 'nothing but what the test says' };

/** The address of a primitive; the second is one that is negative in int32. */
export const ADDRESSES = [0x40, 0xc0000040];

let address = ADDRESSES[0];
let play;

/** An operation of core.js in the words of the explorer. Operands are unsigned, results are what Atomics answers: signed. */
const operation =
  (kind) =>
  (heap, index, ...operands) => {
    assert.equal(heap, HEAP);
    return play(kind, index - address / 4, ...operands.map((operand) => operand >>> 0)) | 0;
  };

/** All that core.js may use. */
const Atomics = { load: operation('load'), store: operation('store'), compareExchange: operation('cas') };
const modules = { './wait.js': { notify: operation('notify') } };

const source = readFileSync(new URL('../../../js/src/core.js', import.meta.url), 'utf8');
const module = { exports: {} };
new Function('module', 'require', 'Atomics', transformSync(source, { format: 'cjs' }).code)(
  module,
  (name) => modules[name],
  Atomics,
);

/** core.js's constants. */
export const constants = module.exports;

/**
 * Calls a function of core.js for a primitive at this address.
 *
 * @param {string} name in JavaScript
 * @param {number[]} args what follows the address
 * @param {number} at the address
 * @param {(kind: string, word: number, ...operands: number[]) => number} player answers each operation
 * @returns {{ result: number | boolean, expected: number }} the second for steps
 */
export function call(name, args, at, player) {
  address = at;
  play = player;
  const result = module.exports[name](HEAP, at, ...args);
  return { result, expected: module.exports.answerExpected() };
}
