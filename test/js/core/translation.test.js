/**
 * js/src/core is the C core: whatever a function is asked, and whatever comes of its operations, in
 * states that can be reached or not, both do the same. Here the C runs as wasm, compiled over words
 * that this test plays (by the explorer's word.h), and every choice of outcomes is tried.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';

import { printers } from '../../../tools/core/build.js';
import {
  camelCase,
  CFLAGS,
  clang,
  headers,
  llvm,
  read,
  ROOT,
  tree,
} from '../../../tools/core/toolchain.js';
import { mutexTake, mutexUnlockStep } from '../../../js/src/core/mutex.js';
import { call, coercions, unused, constants, FEW, reload } from './played.js';

/** Where the C has the primitive. */
const ADDRESS = 0x40;

const SELF = 0x10000005;
const OTHER = 0x1ffffffe;
const unsigned = (value) => value >>> 0;
const range = (length) => Array.from({ length }, (_, value) => value);

/** What arguments may be, by their names in C. */
const ARGUMENTS = {
  self: [SELF],
  why: range(constants.LW_CANCELLED + 1).flatMap((why) =>
    [0, 1, 3].map((abilities) => why | (abilities << 4)),
  ),
  phase: [0, 1, 2, 3, 0x07, 0x23, 0x24, 0x3f, 0x40, 0x47, 0x8003, 0xffff],
  before: [0, constants.LW_RWLOCK_UPGRADABLE, constants.LW_RWLOCK_WRITER],
  after: [
    0,
    constants.LW_RWLOCK_READER,
    constants.LW_RWLOCK_UPGRADABLE,
    constants.LW_RWLOCK_WRITER,
  ],
  way: [constants.LW_WAIT, constants.LW_WAIT_BRIEF],
  mark: [0, 0x20000000],
  ran: [0, 1],
  n: [0x80000000, 1, 0, 2],
  task: [0, 0x80000000],
};
const ANY = [0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff];

/**
 * What words may hold: nobody, the caller or another agent, with any of the three highest bits,
 * which are every primitive's flags. And a read-write lock that wakes all.
 */
const VALUES = [0, SELF, OTHER]
  .flatMap((low) => range(8).map((flags) => low | (flags << 29)))
  .concat(constants.LW_RWLOCK_MIXED | constants.LW_RWLOCK_READER)
  .map(unsigned);
const FEWER_VALUES = [0, OTHER, 0x20000000, 0x7fffffff, 0xe0000000, OTHER | 0x80000000].map(
  unsigned,
);

const LAST_VALUES = [0, OTHER | 0xe0000000].map(unsigned);

/** What may come of an operation. A call's later ones have fewer outcomes, for it has to end. */
const OUTCOMES = {
  load: (nth) => [VALUES, FEWER_VALUES][nth] ?? LAST_VALUES,
  store: () => [0],
  cas: (nth, expected) => (nth === 0 ? [expected, ...FEWER_VALUES] : [expected]),
  notify: (nth) => (nth === 0 ? [1, 0] : [1]),
};

/**
 * Permits are words of their own, so that their functions make more loads; and how many there are
 * decides how long these run, but for the one that reads it.
 */
function outcomesOf(name, kind, word, nth, expected) {
  if (kind === 'load' && name.startsWith('permits') && name !== 'permitsCount') {
    if (word === constants.LW_PERMITS_COUNT) return [1, 0];
    if (word >= constants.LW_PERMITS_FIRST) return [0, SELF, OTHER];
    return FEWER_VALUES;
  }
  return OUTCOMES[kind](nth, expected);
}

/** Every way to choose one of several options several times. */
class Choices {
  #path = [];
  #at = 0;

  among(options) {
    this.#path[this.#at] ??= { chosen: 0, of: options.length };
    return options[this.#path[this.#at++].chosen];
  }

  reset() {
    this.#path = [];
    this.#at = 0;
  }

  /** Starts again and chooses otherwise; false if there is no other way. */
  next() {
    this.#at = 0;
    while (this.#path.length > 0) {
      const last = this.#path.at(-1);
      if (++last.chosen < last.of) return true;
      this.#path.pop();
    }
    return false;
  }
}

/** The C core as { name: function }, which plays its operations like played.js. */
async function loadC(player) {
  const words = tree(join(ROOT, 'verify/explorer'));
  const found = await printers();
  const objects = {};
  for (const { name, prototypes } of found) {
    // What the header inlines gets a function of its own.
    const source = [
      read(`src/core/${name}.c`),
      ...prototypes.filter(({ isInline }) => isInline).map(wrapper),
    ].join('\n');
    const args = ['-Iwords', ...CFLAGS, '-c', '-o', 'core.o', 'core.c'];
    const { files } = await clang(args, { ...headers(), words, 'core.c': source }, name);
    objects[`${name}.o`] = files['core.o'];
  }
  const declared = found.flatMap(({ prototypes }) => prototypes);
  const wasm = await link(objects, declared.map(symbolOf));
  const wordAt = (pointer) => (unsigned(pointer) - ADDRESS) / 4;
  const imports = {
    runs_load: (at) => player.play('load', wordAt(at)),
    runs_store: (at, value) => player.play('store', wordAt(at), unsigned(value)),
    runs_cas: (at, expected, desired) =>
      player.play('cas', wordAt(at), unsigned(expected), unsigned(desired)),
    runs_notify: (at, n) => player.play('notify', wordAt(at), unsigned(n)),
  };
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
  const { instance } = await WebAssembly.instantiate(wasm, { env: { memory, ...imports } });
  return declared.map((c) => ({ name: camelCase(c.name), c, run: instance.exports[symbolOf(c)] }));
}

const symbolOf = ({ name, isInline }) => (isInline ? `${name}_` : name);

function wrapper(c) {
  const parameters = c.parameters.map(({ name, type }) => `${type} ${name}`).join(', ');
  return `${c.returns} ${symbolOf(c)}(${parameters}) { return ${c.name}(${c.parameters.map(({ name }) => name).join(', ')}); }`;
}

async function link(objects, symbols) {
  const memory = [
    '--no-entry',
    '--import-memory',
    '--shared-memory',
    '--max-memory=65536',
    '-z',
    'stack-size=0',
  ];
  const exports = ['--allow-undefined', ...symbols.map((symbol) => `--export=${symbol}`)];
  const { files } = await llvm(
    ['wasm-ld', ...memory, ...exports, '-o', 'core.wasm', ...Object.keys(objects)],
    objects,
  );
  return files['core.wasm'];
}

const takesWords = ({ parameters }) => parameters[0].type.includes('*');

/** All lists of arguments. */
function lists([parameter, ...others]) {
  if (!parameter) return [[]];
  const rest = lists(others);
  return (ARGUMENTS[parameter.name] ?? ANY).flatMap((first) =>
    rest.map((list) => [first, ...list]),
  );
}

const isBool = (type) => /[bB]ool/.test(type);

/** What a C function returned, as JavaScript has it. */
function resultOf(c, returned) {
  if (c.returns !== 'lw_answer') return isBool(c.returns) ? returned !== 0 : returned;
  const low = Number(BigInt.asUintN(32, returned));
  return {
    what: low & 0xff,
    word: (low >>> 8) & 0xff,
    phase: low >>> 16,
    expected: Number(BigInt.asIntN(32, returned >> 32n)),
  };
}

function areSame(one, other) {
  if (typeof one !== 'object') return one === other;
  return (
    one.what === other.what &&
    one.word === other.word &&
    one.phase === other.phase &&
    one.expected === other.expected
  );
}

describe('js/src/core does what the C core does', function () {
  this.timeout(120_000);
  const player = {};
  const choices = new Choices();
  let functions;

  before(async () => (functions = await loadC(player)));

  const counts = { load: 0, store: 0, cas: 0, notify: 0 };
  /** Five entries for each: the kind, the word, two operands that may be undefined, the outcome. */
  const operations = [];
  let at;
  let name;
  player.play = (kind, word, one, other) => {
    const outcome = choices.among(outcomesOf(name, kind, word, counts[kind]++, one));
    operations.push(kind, word, one, other, outcome);
    return outcome;
  };
  function replay(kind, word, one, other) {
    const i = at;
    at += 5;
    if (
      operations[i] !== kind ||
      operations[i + 1] !== word ||
      operations[i + 2] !== one ||
      operations[i + 3] !== other
    )
      assert.deepEqual([kind, word, one, other], operations.slice(i, i + 4));
    return operations[i + 4];
  }

  /** Runs both, on every choice of outcomes, and compares. Returns how many calls that took. */
  function compare({ name: called, c, run }, args) {
    name = called;
    const hasWords = takesWords(c);
    const parameters = hasWords ? c.parameters.slice(1) : c.parameters;
    // As JavaScript has them: what came from words is signed.
    const signed = args.map((arg, i) => (isBool(parameters[i].type) ? arg !== 0 : arg | 0));
    let compared = 0;
    do {
      operations.length = at = counts.load = counts.store = counts.cas = counts.notify = 0;
      const wanted = resultOf(c, hasWords ? run(ADDRESS, ...args) : run(...args));
      const got = call(name, signed, replay, hasWords);
      if (at !== operations.length || !areSame(got, wanted)) {
        assert.deepEqual(
          { at, got },
          { at: operations.length, got: wanted },
          JSON.stringify({ name, args, operations }),
        );
      }
      compared++;
    } while (choices.next());
    return compared;
  }

  /** Compares functions on every choice of arguments, too. */
  function compareAll(some) {
    let compared = 0;
    for (const which of some) {
      const { parameters } = which.c;
      for (const args of lists(parameters.slice(takesWords(which.c) ? 1 : 0)))
        compared += compare(which, args);
    }
    return compared;
  }

  it('on every choice of arguments and outcomes', () => {
    const compared = compareAll(functions);
    assert.ok(compared > 10_000, `${compared} calls`);
  });

  it('and each reason why one need not convert is for a conversion that is there', () => {
    coercions();
    assert.deepEqual(unused(), []);
  });

  for (const [coercion, why] of coercions()) {
    const { file, line, text } = JSON.parse(coercion);
    if (why === FEW) continue; // each would take as long as all calls of permits.js
    it(`${why ? 'whether or not' : 'only since'} ${file}:${line} coerces: ${text}${why ? ` (${why})` : ''}`, () => {
      reload(coercion);
      const primitive = file.replace('.js', '');
      const compare = () => compareAll(functions.filter(({ name }) => name.startsWith(primitive)));
      try {
        if (why) compare();
        else assert.throws(compare, assert.AssertionError);
      } finally {
        choices.reset();
        reload();
      }
    });
  }

  it('in memory beyond 2 GiB', function () {
    const address = 2 ** 31 + 64;
    let buffer;
    try {
      buffer = new SharedArrayBuffer(address + 64);
    } catch {
      this.skip();
    }
    const heap = new Int32Array(buffer);
    const words = new Int32Array(buffer, address, 2);
    assert.equal(mutexTake(words, SELF), true);
    assert.equal(heap[address / 4], SELF);
    assert.equal(mutexUnlockStep(words, SELF), true);
    assert.equal(heap[address / 4], 0);
  });
});
