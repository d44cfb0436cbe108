/**
 * Everything that the explorer has seen a function of the C core do, js/src/core.js does, too: each operation with each operand, and each
 * result. The explorer (verify/) writes it down as it explores: a line a call, from its first operation to its return.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { primitives, ROOT } from '../../../tools/core/toolchain.js';
import { camelCase } from '../../../tools/core/translate.js';
import { ADDRESSES, call } from './played.js';

/** The explorer that was built last, by whatever preset. */
function explorerOf(primitive) {
  const build = join(ROOT, 'build');
  const presets = existsSync(build) ? readdirSync(build) : [];
  const built = presets.map((preset) => join(build, preset, 'verify', `explore-${primitive}`)).filter((path) => existsSync(path));
  if (built.length === 0) throw new Error(`no explore-${primitive} under build/*/verify: run make build first`);
  return built.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)[0];
}

/** The calls that the explorer has seen. */
function dump(primitive) {
  const folder = mkdtempSync(join(tmpdir(), 'lockword-'));
  try {
    const file = join(folder, 'calls');
    execFileSync(explorerOf(primitive), ['--dump', file], { stdio: ['ignore', 'ignore', 'inherit'] });
    return readFileSync(file, 'utf8').trimEnd().split('\n');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Calls it in JavaScript, and compares. */
function replay({ fn, args, ops, result: boolean, what, word, phase, expected }, address) {
  const left = ops[Symbol.iterator]();
  const answer = call(camelCase(fn), args, address, (...operation) => {
    const recorded = left.next().value ?? [];
    assert.deepEqual(operation, recorded.slice(0, -1));
    return recorded.at(-1);
  });
  assert.deepEqual(left.next(), { value: undefined, done: true });
  if (what === undefined) assert.equal(answer.result, boolean);
  else assert.deepEqual(answer, { result: what | (word << 8) | (phase << 16), expected: expected | 0 });
}

for (const primitive of primitives()) {
  describe(`core.js does what the explorer saw ${primitive}.c do`, function () {
    this.timeout(120_000);
    let calls;

    before(() => (calls = dump(primitive)));

    for (const address of ADDRESSES) {
      it(`at address 0x${address.toString(16)}`, () => {
        assert.ok(calls.length > 100, `only ${calls.length} calls`);
        for (const line of calls) {
          try {
            replay(JSON.parse(line), address);
          } catch (error) {
            error.message = `${line}\n${error.message}`;
            throw error;
          }
        }
      });
    }
  });
}
