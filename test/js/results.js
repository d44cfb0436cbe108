/** results.js: what each runtime's runs counted, kept for matrix.js. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../build/matrix/', import.meta.url));
const fileOf = (name) => `${folder}${name}.json`;

export const PRIMITIVES = [
  'Mutex',
  'RecursiveMutex',
  'Condition',
  'Semaphore',
  'RWLock',
  'Barrier',
  'WaitGroup',
  'Event',
  'Once',
  'Counter',
];

/** Several of them at once, and all else. */
export const OTHERS = 'others';

/** The primitive with whose name a test's title begins. */
function subjectOf(title) {
  const [first] = title.split(/\W/);
  return PRIMITIVES.includes(first) ? first : OTHERS;
}

/**
 * Keeps the sums of a runtime's runs, in all modes, by primitive.
 *
 * @param {string} name
 * @param {any[]} outcomes of run.js
 */
export function keep(name, outcomes) {
  const counts = Object.fromEntries([...PRIMITIVES, OTHERS].map((subject) => [subject, { passed: 0, failed: 0 }]));
  for (const outcome of outcomes) {
    for (const { passed } of outcome.passed) counts[subjectOf(passed)].passed++;
    for (const { failed } of outcome.failed) counts[subjectOf(failed)].failed++;
  }
  const { runtime, engine } = outcomes[0];
  const modes = outcomes.map(({ mode }) => mode);
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileOf(name), JSON.stringify({ title: runtime.title, version: runtime.version, modes, engine, counts }));
}

/** What was kept, or undefined. */
export const kept = (name) => (existsSync(fileOf(name)) ? JSON.parse(readFileSync(fileOf(name), 'utf8')) : undefined);
