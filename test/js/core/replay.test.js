/**
 * Everything that the explorer has seen a function of the C core do, js/src/core does, too: each
 * operation with each operand, and each result. The explorer (verify/) writes it down as it
 * explores: a line a call, from its first operation to its return.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { camelCase, primitives, ROOT } from '../../../tools/core/toolchain.js';
import { explorerOf } from './explorer.js';
import { call } from './played.js';

/**
 * How long the explorer may take. Its smallest configurations come first, and see most of what
 * there is.
 */
const BUDGET_MS = 2_500;

/**
 * The calls that the explorer has seen in as many configurations as it can explore meanwhile.
 * Whether these hold is `make verify`'s to say.
 */
function dump(primitive) {
  const explorer = explorerOf(primitive);
  const folder = mkdtempSync(join(tmpdir(), 'lockword-'));
  const end = performance.now() + BUDGET_MS;
  const calls = new Set();
  try {
    for (let configuration = 1; performance.now() < end; configuration++) {
      const file = join(folder, String(configuration));
      const timeout = Math.ceil(end - performance.now());
      const { status, stdout } = spawnSync(
        explorer,
        ['--only', String(configuration), '--dump', file],
        {
          timeout,
          encoding: 'utf8',
        },
      );
      const isThere = stdout.split('\n').length > 2; /* than the table's head */
      if (status === null || !isThere) break;
      for (const call of readFileSync(file, 'utf8').split('\n')) if (call) calls.add(call);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return calls;
}

/** Calls it in JavaScript, and compares. */
function replay({ fn, args, ops, result, what, word, phase, expected }) {
  const left = ops[Symbol.iterator]();
  // Words are signed there, as Atomics.load has them.
  const signed = args.map((arg) => arg | 0);
  const answer = call(camelCase(fn), signed, (...operation) => {
    const recorded = left.next().value ?? [];
    // A store has no result.
    assert.deepEqual(operation, recorded[0] === 'store' ? recorded : recorded.slice(0, -1));
    return recorded.at(-1);
  });
  assert.deepEqual(left.next(), { value: undefined, done: true });
  if (what === undefined) assert.equal(Number(answer ?? 0) | 0, Number(result) | 0);
  else assert.deepEqual(answer, { what, word, phase, expected: expected | 0 });
}

/**
 * These are explored with smaller constants than they have: translation.test.js is what
 * compares it.
 */
const explored = primitives().filter(
  (name) =>
    !['permits', 'robust', 'rwlock', 'sem'].includes(name) &&
    existsSync(join(ROOT, 'verify', `${name}.c`)),
);

for (const primitive of explored) {
  describe(`js/src/core does what the explorer saw ${primitive}.c do`, function () {
    this.timeout(120_000);
    let calls;

    before(() => (calls = dump(primitive)));

    it('call by call', () => {
      assert.ok(calls.size > 30, `only ${calls.size} calls`);
      for (const line of calls) {
        try {
          replay(JSON.parse(line));
        } catch (error) {
          error.message = `${line}\n${error.message}`;
          throw error;
        }
      }
    });
  });
}
