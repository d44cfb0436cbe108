/**
 * played.js: the functions of js/src/core, over words that a test plays: it is asked what comes of
 * every operation.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

import { transformSync } from 'esbuild';

const CORE = new URL('../../../js/src/core/', import.meta.url);

/** Plain accesses are operations, too. */
const WORDS = new Proxy(
  {},
  {
    get: (_, index) => OPERATIONS.load(WORDS, Number(index)),
    set(_, index, value) {
      OPERATIONS.store(WORDS, Number(index), value);
      return true;
    },
  },
);

let play;

/**
 * An operation of the core in the words of the explorer. Operands are unsigned, results are what
 * Atomics returns: signed.
 */
const operation = (kind) => {
  // Tests make tens of millions of them, for which lists of operands are slow.
  const forms = [
    (index) => play(kind, index),
    (index, one) => play(kind, index, one >>> 0),
    (index, one, other) => play(kind, index, one >>> 0, other >>> 0),
  ];
  return function (words, index, one, other) {
    assert.ok(words === WORDS);
    return forms[arguments.length - 2](index, one, other) | 0;
  };
};
const OPERATIONS = Object.fromEntries(
  ['load', 'store', 'cas', 'notify'].map((kind) => [kind, operation(kind)]),
);

/** All that the core may use. */
const Atomics = {
  load: OPERATIONS.load,
  store: OPERATIONS.store,
  compareExchange: OPERATIONS.cas,
};
const modules = { 'wait.js': { notify: playedNotify } };

/** Engines notify nobody if they are told to notify a negative number, and all without a number. */
function playedNotify(words, index, n = 0xffffffff) {
  assert.ok(n >= 0, `${n} to be notified`);
  return OPERATIONS.notify(words, index, n);
}

function load(path) {
  const name = basename(path);
  if (!modules[name]) {
    const module = { exports: {} };
    modules[name] = module.exports;
    const source = readFileSync(new URL(name, CORE), 'utf8').split('\n');
    if (without?.file === name) source[without.line - 1] = without.dropped;
    const { code } = transformSync(source.join('\n'), { format: 'cjs' });
    new Function('module', 'require', 'Atomics', code)(module, load, Atomics);
    modules[name] = module.exports;
  }
  return modules[name];
}

/** One of coercions(), which is left out. */
let without;

/**
 * Loads the core anew.
 *
 * @param {string} [coercion] to be left out
 */
export function reload(coercion) {
  without = coercion && JSON.parse(coercion);
  for (const name of Object.keys(modules)) if (name !== 'wait.js') delete modules[name];
  functions = Object.assign({}, ...readdirSync(CORE).map(load));
}

const MASKED = 'waitersChange takes bits of it';
const BITS = 'only bits of it are used';
const ATOMIC = 'Atomics makes an int32 of it';
const SMALL = 'the value is at most LW_COUNTER_MAX';
export const FEW = 'there are at most LW_PERMITS_MAX permits';

/**
 * Coercions that change no result, for a reason that the printer cannot know: the file, how the
 * line goes up to there, and the reason.
 */
const NOT_NEEDED = [
  [
    'counter.js',
    'const sum = ((state & LW_COUNTER_MAX) + n) | 0',
    `its order is unsigned, and ${MASKED}`,
  ],
  ['event.js', '((state | LW_EVENT_SET) + LW_EVENT_ONE_GENERATION) | 0', MASKED],
  ['counter.js', '? value >>> 0', SMALL],
  ['counter.js', ': value >>> 0', SMALL],
  ['permits.js', 'which >>> 0', FEW],
  ['permits.js', 'which = (which + 1) | 0', FEW],
  ['permits.js', '(LW_PERMITS_FIRST + which) | 0', FEW],
  ['permits.js', 'n = (n + 1) | 0', FEW],
  ['permits.js', 'freed = (freed + 1) | 0', FEW],
  ['permits.js', 'permitsCount(permits) >>> 0', FEW],
  ['sem.js', 'n >>> 0 <= (LW_SEM_MAX - state) >>> 0', 'the state is at most LW_SEM_MAX'],
  ['sem.js', '(permits - n) | 0', 'n is at most the permits'],
  ['sem.js', 'waitersWay(phase, permits >= n >>> 0', 'n is 1, or at most the permits'],
  ['sem.js', 'reserves(phase) && permits < n >>> 0', 'n is 1'],
  ['rwlock.js', 'const GENERATIONS = 0xffffffff | 0', BITS],
  ['rwlock.js', 'const remains = (((state | owed) & ~claims) - before + after) | 0', BITS],
  ['rwlock.js', 'const next = (((state & ~ended) | owed) - before + after) | 0', ATOMIC],
  ['rwlock.js', 'take(rwlock, state, (state - before + after) | 0', ATOMIC],
  ['sem.js', 'notify(sem, LW_SEM_STATE, n >>> 0', 'a release gives at most LW_SEM_MAX'],
  ['waitgroup.js', 'let next = (state + n) | 0', ATOMIC],
  ['waitgroup.js', 'waitersChange(group, state, (state - n) | 0', MASKED],
];

/** The reasons that have been found. */
const used = new Set();

/**
 * Every `>>> 0` and `| 0` in the functions of the core, but for the constants of its headers.
 *
 * @returns {[coercion: string, why: string | undefined][]} why: the reason, if it is not needed
 */
export function coercions() {
  return readdirSync(CORE).flatMap((file) => {
    if (file === 'constants.js') return [];
    const lines = readFileSync(new URL(file, CORE), 'utf8').split('\n');
    return lines.flatMap((text, i) => {
      if (/^ *const LW_/.test(text)) return [];
      return [...text.matchAll(/ (>>> 0|\| 0)\b/g)].map(({ 0: coercion, index }) => {
        const dropped = text.slice(0, index) + text.slice(index + coercion.length);
        const known = NOT_NEEDED.find(
          ([where, part]) =>
            where === file && text.slice(0, index + coercion.length).endsWith(part),
        );
        used.add(known);
        return [JSON.stringify({ file, line: i + 1, text: text.trim(), dropped }), known?.[2]];
      });
    });
  });
}

/** The reasons for coercions that are not there any more, after a call of `coercions`. */
export const unused = () => NOT_NEEDED.filter((reason) => !used.has(reason));

let functions;
reload();

/** The core's constants, as drivers read them. */
export const constants = modules['constants.js'];

/**
 * Calls a function of the core.
 *
 * @param {string} name in JavaScript
 * @param {any[]} args what follows the words
 * @param {(kind: string, word: number, ...operands: number[]) => number} player returns the result
 *   of each operation
 * @param {boolean} [hasWords] whether it takes the words
 * @returns {any}
 */
export function call(name, args, player, hasWords = true) {
  play = player;
  return hasWords ? functions[name](WORDS, ...args) : functions[name](...args);
}
