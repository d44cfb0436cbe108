/** results.js: what each runtime's last run in each mode counted, kept for matrix.js. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { PRIMITIVES } from './primitives.js';

const folder = fileURLToPath(new URL('../../build/matrix/', import.meta.url));

export const NAMES = PRIMITIVES.map(({ type }) => type);

/** Several of them at once, and all else. */
export const OTHERS = 'others';

/** The primitive with whose name a test's title begins. */
function subjectOf(title) {
  const [first] = title.split(/\W/);
  return NAMES.includes(first) ? first : OTHERS;
}

/** Keeps the sums of a runtime's run in one mode, by primitive. */
export function keep({ runtime, mode, engine, passed, failed }) {
  const counts = Object.fromEntries(
    [...NAMES, OTHERS].map((subject) => [subject, { passed: 0, failed: 0 }]),
  );
  for (const test of passed) counts[subjectOf(test.passed)].passed++;
  for (const test of failed) counts[subjectOf(test.failed)].failed++;
  const { name, title, version } = runtime;
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    `${folder}${name}-${mode}.json`,
    JSON.stringify({ title, version, engine, counts }),
  );
}

/**
 * What was kept of a runtime: how many tests passed as it is, and failed in any mode; undefined if
 * it was not run as it is.
 */
export function kept(name) {
  mkdirSync(folder, { recursive: true });
  const results = readdirSync(folder)
    .filter((file) => file.startsWith(`${name}-`))
    .map((file) => [file, JSON.parse(readFileSync(`${folder}${file}`, 'utf8'))]);
  const normal = Object.fromEntries(results)[`${name}-normal.json`];
  const countsOf = (subject) => ({
    passed: normal.counts[subject]?.passed ?? 0,
    failed: results.reduce((sum, [, { counts }]) => sum + (counts[subject]?.failed ?? 0), 0),
  });
  const counts = () =>
    Object.fromEntries([...NAMES, OTHERS].map((subject) => [subject, countsOf(subject)]));
  return normal && { ...normal, counts: counts() };
}
