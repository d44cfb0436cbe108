/**
 * mutants.js [--mortal] [NAME...]: breaks src/core/NAME.c, or the model of the drivers, explorer/NAME.c, in each of the ways that
 * NAME.mutants lists, and shows that the explorer notices. What is part of several primitives is explored in one after the other.
 * Prints a line for each mutant: which configuration killed it, after how many, and by a trace of what length.
 *
 * NAME.h is include/lockword/NAME.h, and what its functions inline; core-NAME.h is include/lockword/core/NAME.h.
 *
 * --mortal leaves out those that are said to be equivalent, for which every configuration has to be explored.
 *
 * It fails, too, if a mutant that is said to be equivalent dies, if what a mutant replaces does not stand exactly once in the source, and if
 * a line of the core that has an atomic operation, a notify or a flag in it is touched by no mutant.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { parseArgs, promisify } from 'node:util';

const run = promisify(execFile);

const { values, positionals } = parseArgs({ options: { mortal: { type: 'boolean', default: false } }, allowPositionals: true });

const HERE = import.meta.dirname;
const ROOT = join(HERE, '..');
const CC = process.env.CC ?? 'cc';
const FLAGS = [
  '-std=c11',
  '-O2',
  '-w',
  `-I${HERE}/explorer`,
  `-I${ROOT}/include`,
  '-DMAX_FAILED_WAITS=1u',
  '-DMAX_RECHECKS=1u',
  '-DMAX_WAKES=1u',
];
const EXPLORER = ['chances', 'links', 'main', 'memory', 'model', 'places', 'runs', 'search', 'store', 'successors', 'trace'];
const LIMIT_MS = 120_000;

/** What must be touched: anything that decides about, or acts on, what agents share. */
const MATTERS =
  /\blw_(load|store|cas|notify|waiters_\w+)\(|\bnotify_waiters\(|\bLW_[A-Z]+_[A-Z]+\b|\b(OWES|ENTITLED|STARVES|RESTS|ONE_FAILED_WAIT)\b|\breturn lw_answer_of/;

/**
 * @typedef {object} Mutant
 * @property {string} name
 * @property {string} why it must die, or is equivalent
 * @property {boolean} equivalent
 * @property {string} from
 * @property {string} to
 */

/**
 * Reads a table: entries of `mutant: NAME` or `equivalent: NAME`, prose, and the source before and after between fences.
 *
 * @param {string} text
 * @returns {Mutant[]}
 */
function parse(text) {
  const entry = /^(mutant|equivalent): (.+)\n((?:.*\n)*?)<<<<\n((?:.*\n)*?)====\n((?:.*\n)*?)>>>>$/gm;
  const mutants = [...text.matchAll(entry)].map(([, fate, name, why, from, to]) => ({
    name,
    why: why.trim(),
    equivalent: fate === 'equivalent',
    from: from.slice(0, -1),
    to: to.slice(0, -1),
  }));
  const announced = text.match(/^(mutant|equivalent): /gm)?.length ?? 0;
  if (announced !== mutants.length) throw new Error(`${announced} entries begin, ${mutants.length} can be read`);
  return mutants;
}

/** The same in a header: what it inlines and the explorer runs, by rule all that touches a word. */
const MATTERS_IN_A_HEADER = /\blw_(load|store|cas)\(/;

const isHeader = (name) => name.endsWith('.h');

/** Of the explorer's model, any lines may be mutated. */
const NOTHING = /$^/;

const mattersIn = (name) => (isHeader(name) ? MATTERS_IN_A_HEADER : EXPLORER.includes(name) ? NOTHING : MATTERS);

/** Where the source is, from the repository's root. */
function pathOf(name) {
  if (isHeader(name)) return join('include/lockword', name.replace(/^core-/, 'core/'));
  return join(EXPLORER.includes(name) ? 'verify/explorer' : 'src/core', `${name}.c`);
}

/** Source lines, with comments blanked out. */
function codeLines(source) {
  return source.replace(/\/\*[^]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' ')).split('\n');
}

/** What is wrong with the table itself. */
function faults(source, mutants, matters) {
  const found = [];
  const touched = new Set();
  for (const { name, why, from, to } of mutants) {
    const times = source.split(from).length - 1;
    if (times !== 1) found.push(`${name}: what it replaces stands ${times} times in the source`);
    if (from === to) found.push(`${name}: changes nothing`);
    if (why === '') found.push(`${name}: does not say why`);
    const first = source.slice(0, source.indexOf(from)).split('\n').length;
    for (let line = first; line < first + from.split('\n').length; line++) touched.add(line);
  }
  codeLines(source).forEach((line, index) => {
    if (/^ +(?! |case )/.test(line) && matters.test(line) && !touched.has(index + 1))
      found.push(`line ${index + 1} is in no mutant: ${line.trim()}`);
  });
  return found;
}

/** A file, all of lockword's headers that it includes, and the files of the core that these belong to. */
function needed(file, found = new Set()) {
  if (found.has(file) || !existsSync(join(ROOT, file))) return found;
  found.add(file);
  for (const [, header] of readFileSync(join(ROOT, file), 'utf8').matchAll(/^#include <lockword\/(.+)\.h>/gm)) {
    needed(`include/lockword/${header}.h`, found);
    if (header.startsWith('core/')) needed(`src/${header}.c`, found);
  }
  return found;
}

/** The files of the core that a primitive's explorer needs. */
function sourcesOf(primitive) {
  return [...needed(`verify/${primitive}.c`)].flatMap((file) => /^src\/core\/(\w+)\.c$/.exec(file)?.[1] ?? []);
}

/**
 * The primitives that have a file of the core in them; the one of its name alone, if there is one.
 *
 * @returns {{primitive: string, sources: string[]}[]}
 */
function primitivesWith(name) {
  const having = readdirSync(HERE)
    .flatMap((file) => (file.endsWith('.c') ? [basename(file, '.c')] : []))
    .map((primitive) => ({ primitive, sources: sourcesOf(primitive) }))
    .filter(({ sources }) => sources.includes(name) || EXPLORER.includes(name));
  const own = having.filter(({ primitive }) => primitive === name);
  return own.length > 0 ? own : having;
}

async function compile(sources, folder) {
  return Promise.all(
    sources.map(async (source) => {
      const object = join(folder, `${relative(ROOT, source).replace(/\W/g, '-')}.o`);
      await run(CC, [...FLAGS, '-c', source, '-o', object]);
      return object;
    }),
  );
}

/** Compiles what all mutants of a file share. Answers the object files, for each primitive that has it in it. */
async function compileExplorers(name, folder) {
  const explorer = await compile(
    EXPLORER.filter((part) => part !== name).map((part) => join(HERE, 'explorer', `${part}.c`)),
    folder,
  );
  return Promise.all(
    primitivesWith(name.replace(/^core-|\.h$/g, '')).map(async ({ primitive, sources }) => {
      const all = [join(HERE, `${primitive}.c`), ...sources.map((source) => join(ROOT, pathOf(source)))];
      // A header may be in any of them.
      if (isHeader(name)) return { primitive, sources: all, objects: explorer };
      const others = all.filter((source) => source !== join(ROOT, pathOf(name)));
      return { primitive, sources: [], objects: [...explorer, ...(await compile(others, folder))] };
    }),
  );
}

/** What became of a mutant: `null` if it lived, or what the first explorer to notice said of it. */
async function explore(name, source, mutant, number, explorers, folder) {
  const first = join(folder, `mutant-${number}`);
  const file = isHeader(name) ? join(first, relative('include', pathOf(name))) : `${first}.c`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    source.replace(mutant.from, () => mutant.to),
  );
  for (const { primitive, sources, objects } of explorers) {
    const program = join(folder, `mutant-${number}-${primitive}`);
    const files = isHeader(name) ? sources : [file];
    await run(CC, [`-I${first}`, ...FLAGS, ...files, ...objects, '-o', program]);
    try {
      await run(program, ['--kill'], { timeout: LIMIT_MS });
    } catch (error) {
      if (error.code !== 1) throw new Error(`${mutant.name}: the explorer ended with ${error.code ?? error.signal}`);
      const [configuration, length, reason] = error.stdout.trim().split('\t');
      return { primitive, configuration, length: +length, reason };
    }
  }
  return null;
}

/** Runs a job for each item, as many at once as there are CPUs; the results come in order. */
async function* inParallel(items, job) {
  const running = [];
  let next = 0;
  const start = () => {
    if (next < items.length) {
      const index = next++;
      running[index] = job(items[index], index).then(
        (value) => (start(), { value }),
        (error) => (start(), { error }),
      );
    }
  };
  for (let i = 0; i < availableParallelism(); i++) start();
  for (let index = 0; index < items.length; index++) {
    const { value, error } = await running[index];
    if (error) throw error;
    yield { item: items[index], value };
  }
}

const chosen = (mutants) => (values.mortal ? mutants.filter(({ equivalent }) => !equivalent) : mutants);

/** Tells of each mutant of a file of the core. Answers how many tests passed and failed. */
async function test(name) {
  const folder = join(ROOT, 'build/mutants', name);
  mkdirSync(folder, { recursive: true });
  const source = readFileSync(join(ROOT, pathOf(name)), 'utf8');
  const mutants = parse(readFileSync(join(HERE, `${name}.mutants`), 'utf8'));
  const wrong = faults(source, mutants, mattersIn(name));
  let passed = 0;
  let failed = wrong.length;
  for (const fault of wrong) console.log(`error: ${fault}`);

  console.log(`\n${`mutant of ${pathOf(name)}`.padEnd(50)}  configuration, trace, failure`);
  const explorers = await compileExplorers(name, folder);
  for await (const { item, value } of inParallel(chosen(mutants), (m, i) => explore(name, source, m, i, explorers, folder))) {
    const good = item.equivalent === (value === null);
    const end = value
      ? `${explorers.length > 1 ? value.primitive : ''}#${value.configuration}, ${String(value.length).padStart(2)}: ${value.reason}`
      : 'lives';
    const verdict = good
      ? item.equivalent
        ? '(equivalent)'
        : ''
      : item.equivalent
        ? 'BUT IS SAID TO BE EQUIVALENT'
        : 'BUT MUST DIE';
    console.log(`${item.name.padEnd(50)}  ${end} ${verdict}`.trimEnd());
    if (good) passed++;
    else failed++;
  }
  return { passed, failed };
}

const all = readdirSync(HERE).flatMap((file) => (file.endsWith('.mutants') ? [basename(file, '.mutants')] : []));
const names = positionals.length > 0 ? positionals : all;
let passed = 0;
let failed = 0;
for (const name of names) {
  const count = await test(name);
  passed += count.passed;
  failed += count.failed;
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
