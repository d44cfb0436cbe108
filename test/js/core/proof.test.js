/**
 * The certificate of the mutex's proof (docs/proof.md): verify/prover/check.js accepts it, and
 * refuses it when anything is changed.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { check } from '../../../verify/prover/check.js';
import { explorerOf } from './explorer.js';

/** How many pairs are removed, one at a time. */
const REMOVALS = 12;

function certify() {
  const folder = mkdtempSync(join(tmpdir(), 'lockword-'));
  const file = join(folder, 'certificate.json');
  try {
    execFileSync(explorerOf('mutex'), ['--certificate', file]);
    return JSON.parse(readFileSync(file, 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What the checker tells apart of a pair: all but its marks. */
const keyOf = (pair) => pair.slice(0, -1).join();

describe("the certificate of the mutex's proof", function () {
  this.timeout(120_000);
  let certificate;
  before(() => {
    certificate = certify();
  });
  const withPairs = (pairs) => ({ ...certificate, pairs });
  const withMarks = (change) =>
    withPairs(certificate.pairs.map((pair) => [...pair.slice(0, -1), change(pair.at(-1), pair)]));

  it('is accepted', () => {
    assert.ok(check(certificate) > 1000);
  });

  it('is refused without any one of its pairs', () => {
    const keys = [...new Set(certificate.pairs.map(keyOf))];
    const removed = Array.from({ length: REMOVALS }, (_, i) =>
      Math.floor((i * (keys.length - 1)) / (REMOVALS - 1)),
    );
    for (const key of removed.map((number) => keys[number])) {
      const rest = certificate.pairs.filter((pair) => keyOf(pair) !== key);
      assert.throws(() => check(withPairs(rest)), /a pair is missing/, key);
    }
  });

  for (const [mark, bit] of Object.entries({ covered: 1, obliged: 2, keeper: 4 })) {
    it(`is refused if no pair is marked as ${mark}`, () => {
      assert.throws(() => check(withMarks((marks) => marks & ~bit)), { name: 'Refused' });
    });
    it(`is refused if all pairs are marked as ${mark}`, () => {
      assert.throws(() => check(withMarks((marks) => marks | bit)), { name: 'Refused' });
    });
  }

  it('is refused if an unlock notifies nobody', () => {
    const runs = certificate.runs.map((run) =>
      run.does[0] === 'notify' ? { ...run, does: ['notify', 1, 1, 0] } : run,
    );
    assert.throws(() => check({ ...certificate, runs }), { name: 'Refused' });
  });

  it('is refused if a thread takes a mutex that another one holds', () => {
    const runs = certificate.runs.map((run) =>
      run.does[0] === 'cas' && run.does[2] === 0 ? { ...run, does: ['cas', 0, 3, 2] } : run,
    );
    assert.throws(() => check({ ...certificate, runs }), { name: 'Refused' });
  });
});
