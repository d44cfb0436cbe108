/**
 * matrix.js [--docs]: which tests of which primitive pass where, as the last run of run.js on each
 * runtime left it; --docs puts the table into docs/runtimes.md, too.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { BROWSERS, isInstalled } from '../browsers/index.js';
import { kept, NAMES, OTHERS } from './results.js';
import { RUNTIMES } from './runtimes.js';

const PAGE = new URL('../../docs/runtimes.md', import.meta.url);
const BETWEEN = /(?<=<!-- make test DOCS=1 -->\n\n).*?(?=\n\n<!-- end -->)/s;
const HEADS = ['', ...NAMES, OTHERS, 'waitAsync', 'Atomics.pause', 'using'];

const tell = ({ passed, failed }) => (failed > 0 ? `${passed}, ${failed} FAILED` : `${passed}`);

function usingOf({ using, dispose }) {
  if (using) return 'yes';
  return dispose ? 'Symbol.dispose' : 'no';
}

function rowOf(runtime) {
  const result = kept(runtime.name);
  const missing = !result || (runtime.files && !isInstalled(runtime));
  if (missing)
    return [
      `${runtime.name}: ${result ? 'not installed' : 'not run'}`,
      ...HEADS.slice(1).map(() => '-'),
    ];
  const { title, version, counts, engine } = result;
  return [
    `${title} ${version}`,
    ...[...NAMES, OTHERS].map((subject) => tell(counts[subject])),
    engine.waitAsync ? 'native' : 'polled',
    engine.pause ? 'yes' : 'no',
    usingOf(engine),
  ];
}

const rows = [...RUNTIMES, ...BROWSERS].map(rowOf);

/** As text: numbers to the right. */
function print() {
  const widths = HEADS.map((head, i) => Math.max(head.length, ...rows.map((row) => row[i].length)));
  for (const row of [HEADS, ...rows])
    console.log(
      `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ')}`,
    );
}

function writePage() {
  const page = readFileSync(PAGE, 'utf8');
  const rule = ['---', ...HEADS.slice(1).map(() => '--:')];
  const table = [HEADS, rule, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
  if (!BETWEEN.test(page)) throw new Error(`no place for the table in ${PAGE.pathname}`);
  writeFileSync(PAGE, page.replace(BETWEEN, table));
}

const { values } = parseArgs({ options: { docs: { type: 'boolean', default: false } } });
print();
if (values.docs) writePage();
