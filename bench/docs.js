/**
 * node bench/docs.js [--check]: writes what docs/benchmarks.json, the figures of the last run on
 * each kind of CPU, and docs/simulation.json, those of the simulated machines, make: the plots, and
 * the parts of PAGES between markers. --check writes nothing, and fails where they are not what the
 * figures make.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parts } from './parts.js';
import { draw } from './plot.js';

const root = resolve(import.meta.dirname, '..');
const FIGURES = 'docs/benchmarks.json';
const SIMULATED = 'docs/simulation.json';
const PAGES = ['docs/benchmarks.md', 'docs/simulation.md', 'README.md'];
const BETWEEN = /(<!-- make (?:bench|simulate) DOCS=1: ([\w-]+) -->\n\n).*?(\n\n<!-- end -->)/gs;

const read = (file) => readFileSync(resolve(root, file), 'utf8');

const filled = (page, figures) =>
  page.replace(BETWEEN, (_, start, name, end) => {
    if (!parts[name]) throw new Error(`bench/parts.js makes no '${name}'`);
    return `${start}${parts[name](figures)}${end}`;
  });

/** The figures that the pages show: a run for each kind of CPU, the newest first. */
export const published = () => JSON.parse(read(FIGURES));

/** The newest run's figures, which most tables show, and those of all runs, the newest first. */
function figuresOfAll() {
  const runs = published();
  return { ...runs[0], runs, simulated: JSON.parse(read(SIMULATED)) };
}

/** What every file shall hold, by its name. */
async function make() {
  const figures = figuresOfAll();
  const files = new Map(PAGES.map((page) => [page, filled(read(page), figures)]));
  for (const [name, drawn] of await draw(figures))
    for (const [theme, svg] of Object.entries(drawn))
      files.set(`docs/img/bench-${name}-${theme}.svg`, svg);
  return files;
}

/** Figures as JSON, an object without others in it on one line. */
const compact = (figures) =>
  JSON.stringify(figures, null, 2).replace(/[{[]\n[^{}[\]]*[}\]]/g, (leaf) =>
    leaf.replace(/\n\s+/g, ' ').replace(/\n/g, ''),
  );

/**
 * Keeps a run's figures in place of an older run's on the same kind of CPU, and writes all that the
 * figures make.
 */
export async function publish(figures) {
  mkdirSync(resolve(root, 'docs/img'), { recursive: true });
  if (figures) {
    const others = published().filter((run) => run.machine.cpu !== figures.machine.cpu);
    writeFileSync(resolve(root, FIGURES), `${compact([figures, ...others])}\n`);
  }
  const files = await make();
  for (const [file, text] of files) writeFileSync(resolve(root, file), text);
  return [...files.keys()];
}

async function check() {
  const stale = [...(await make())]
    .filter(([file, text]) => read(file) !== text)
    .map(([file]) => file);
  if (stale.length === 0) return;
  console.error(
    `not what ${FIGURES} and ${SIMULATED} make: ${stale.join(', ')}\nnode bench/docs.js writes them`,
  );
  process.exit(1);
}

if (process.argv[1] === import.meta.filename) {
  const { values: options } = parseArgs({ options: { check: { type: 'boolean' } } });
  await (options.check ? check() : publish());
}
