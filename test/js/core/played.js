/** played.js: the functions of js/src/core.js, over words that a test plays: it is asked what comes of every operation. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

import { transformSync } from 'esbuild';

const WORDS = { of: 'nothing but what the test says' };

let play;

/** An operation of core.js in the words of the explorer. Operands are unsigned, results are what Atomics answers: signed. */
const operation =
  (kind) =>
  (words, index, ...operands) => {
    assert.equal(words, WORDS);
    return play(kind, index, ...operands.map((operand) => operand >>> 0)) | 0;
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
 * Calls a function of core.js.
 *
 * @param {string} name in JavaScript
 * @param {number[]} args what follows the words
 * @param {(kind: string, word: number, ...operands: number[]) => number} player answers each operation
 * @returns {{ result: number | boolean, expected: number }} the second for steps
 */
export function call(name, args, player) {
  play = player;
  const result = module.exports[name](WORDS, ...args);
  return { result, expected: module.exports.answerExpected() };
}
