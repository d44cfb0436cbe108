/**
 * mutants.js [--mortal] [--by-hand] [--prove] [--stale] [--only TEXT] [--every K] [--list]
 * [NAME...]: breaks the core in every way that the operators know (mutants/operators.js), and in
 * those of mutants/by-hand.txt, and shows that the explorer notices.
 *
 * NAME is a primitive, or `waiters`: its file in src/core, and what its headers inline. Without a
 * name, all of them are tested.
 *
 *   --mortal     leaves out the mutants that mutants/equivalent.txt argues about, for which every
 *                configuration has to be explored
 *   --by-hand    tests only the mutants of by-hand.txt
 *   --prove      asks the prover instead of the explorer, which has to kill what the prover leaves
 *   --stale      tests none: only looks whether each mutant that the two lists name exists
 *   --only TEXT  tests only the mutants whose names contain this
 *   --every K    tests every K-th of the operators' mutants
 *   --list       prints for each mutant what became of it, and by which configuration
 *
 * A mutant that does the same as the original in all calls that mutants/same.c draws is not
 * counted. Every other one must be killed, or be argued about. The program fails, too, if one that
 * is argued about dies or does not exist, or if the explorer finds a failure in the sources as they
 * are.
 */
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { Mutator } from './mutants/operators.js';

const run = promisify(execFile);

const { values, positionals } = parseArgs({
  options: {
    mortal: { type: 'boolean', default: false },
    'by-hand': { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    prove: { type: 'boolean', default: false },
    stale: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    every: { type: 'string', default: '1' },
  },
  allowPositionals: true,
});

const HERE = import.meta.dirname;
const ROOT = join(HERE, '..');
const BUILD = join(ROOT, 'build/mutants');
const CC = process.env.CC ?? 'cc';
const INCLUDES = [`-I${HERE}/explorer`, `-I${HERE}/mutants`];
const FLAGS = [
  '-std=c11',
  '-O2',
  '-w',
  '-DMAX_FAILED_WAITS=1u',
  '-DMAX_RECHECKS=1u',
  '-DGENERATIONS=7u',
  '-DTICKETS=0x10000000u',
  '-DMOST_RENEWALS=0x0200u',
];
const EXPLORER = ['explorer', 'prover'].flatMap((folder) =>
  readdirSync(join(HERE, folder))
    .filter((file) => file.endsWith('.c'))
    .map((file) => `${folder}/${basename(file, '.c')}`),
);
/** Not to wait for ever. The verdict depends on states, not on time. */
const LIMIT_MS = 600_000;
const UNDECIDED = `is not explored after ${LIMIT_MS / 1000} s`;
/** Calls that are drawn to tell a mutant from the original. */
const TRIES = 400_000;

/**
 * A file, all of lockword's headers that it includes, and the files of the core that these belong
 * to.
 */
function needed(file, found = new Set()) {
  if (found.has(file) || !existsSync(join(ROOT, file))) return found;
  found.add(file);
  for (const [, header] of readFileSync(join(ROOT, file), 'utf8').matchAll(
    /^#include <lockword\/(.+)\.h>/gm,
  )) {
    needed(`include/lockword/${header}.h`, found);
    if (header.startsWith('core/')) needed(`src/${header}.c`, found);
  }
  return found;
}

/**
 * The primitives, found by the names of their explorers, and the files of the core that each is
 * made of.
 */
const PRIMITIVES = new Map(
  readdirSync(HERE)
    .filter((file) => file.endsWith('.c'))
    .map((file) => [
      basename(file, '.c'),
      [...needed(`verify/${file}`)].flatMap(
        (source) => /^src\/core\/(\w+)\.c$/.exec(source)?.[1] ?? [],
      ),
    ]),
);

const usesWaiters = (file) =>
  existsSync(join(ROOT, file)) &&
  /^#include <lockword\/core\/waiters\.h>/m.test(readFileSync(join(ROOT, file), 'utf8'));

/** What is mutated under a name: files, and the primitives that have them. */
function unitOf(name) {
  if (name === 'waiters')
    return {
      files: [
        'src/core/waiters.c',
        'include/lockword/core/waiters.h',
        'include/lockword/core/step.h',
      ],
      primitives: [...PRIMITIVES.keys()].filter((primitive) =>
        usesWaiters(`src/core/${primitive}.c`),
      ),
    };
  if (!PRIMITIVES.has(name)) throw new Error(`no such primitive: ${name}`);
  return {
    files: [`src/core/${name}.c`, `include/lockword/core/${name}.h`, `include/lockword/${name}.h`],
    primitives: [name],
  };
}

/**
 * Reads equivalent.txt: below a unit's name, its mutants, one a line, and below those an indented
 * argument.
 */
function readEquivalents() {
  const units = new Map();
  let unit;
  for (const block of readFileSync(join(HERE, 'mutants/equivalent.txt'), 'utf8').split(/\n\n+/)) {
    const lines = block.split('\n').filter((line) => line && !/^#( |$)/.test(line));
    if (lines[0]?.startsWith('## ')) units.set(lines.shift().slice(3), (unit = new Map()));
    const argument = lines.filter((line) => line.startsWith('    ')).map((line) => line.trim());
    for (const key of lines.filter((line) => !line.startsWith('    '))) {
      if (argument.length === 0) throw new Error(`equivalent.txt: no argument: ${key}`);
      unit.set(key, argument.join(' '));
    }
  }
  for (const name of units.keys()) unitOf(name);
  return units;
}

/** Reads by-hand.txt: `FILE, PRIMITIVE: NAME`, and the source before and after between fences. */
function readByHand() {
  const entry = /^(\S+), (\w+): (.+)\n<<<<\n((?:.*\n)*?)====\n((?:.*\n)*?)>>>>$/gm;
  const text = readFileSync(join(HERE, 'mutants/by-hand.txt'), 'utf8');
  const mutants = [...text.matchAll(entry)].map(([, file, primitive, key, from, to], number) => ({
    file,
    primitive,
    key,
    operator: 'by hand',
    from,
    to,
    number,
  }));
  if (mutants.length !== text.split('\n<<<<\n').length - 1)
    throw new Error('by-hand.txt: an entry cannot be read');
  return mutants;
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Runs a job for each item, as many at once as there are CPUs. */
async function inParallel(items, job) {
  const queue = items.entries();
  const lane = async () => {
    for (const [, item] of queue) await job(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
}

async function compile(source, object, flags) {
  mkdirSync(dirname(object), { recursive: true });
  // Another run may need the same file at the same time.
  const own = `${object}.${process.pid}`;
  await run(CC, [...FLAGS, ...flags, '-c', source, '-o', own]);
  renameSync(own, object);
  return object;
}

const compiled = new Map();
/** The explorer's object files. */
function explorer() {
  for (const name of EXPLORER.filter((part) => !compiled.has(part)))
    compiled.set(
      name,
      compile(join(HERE, `${name}.c`), join(BUILD, `${name}.o`), [
        ...INCLUDES,
        `-I${ROOT}/include`,
      ]),
    );
  return Promise.all(compiled.values());
}

/**
 * Builds a primitive's explorer from the files in `folder`, and where that has none, from the
 * repository.
 */
async function build(primitive, folder, program, extra = [], flags = []) {
  const at = (path) => (existsSync(join(folder, path)) ? join(folder, path) : join(ROOT, path));
  const sources = [
    `verify/${primitive}.c`,
    ...PRIMITIVES.get(primitive).map((name) => `src/core/${name}.c`),
    ...extra,
  ];
  const includes = [...INCLUDES, `-I${folder}/include`, `-I${ROOT}/include`, `-I${HERE}`];
  const objects = await Promise.all(
    sources.map((path) =>
      compile(at(path), join(folder, `${program}-${path.replace(/\W/g, '-')}.o`), [
        ...includes,
        ...flags,
      ]),
    ),
  );
  const model = existsSync(join(folder, 'verify/explorer'))
    ? [
        await compile(at('verify/explorer/successors.c'), join(folder, 'successors.o'), includes),
        ...(await explorer()).filter((object) => !object.endsWith('successors.o')),
      ]
    : await explorer();
  await run(CC, [...objects, ...model, '-Wl,-z,muldefs', '-o', join(folder, program)]);
  return { primitive, program: join(folder, program) };
}

/** What became of a mutant: null if it lived, or what the first explorer to notice said of it. */
async function explore(programs, number) {
  const steps = programs.length === 1 ? ['--kill'] : ['--few', '--kill'];
  for (const [how, { primitive, program }] of steps.flatMap((how) =>
    programs.map((one) => [how, one]),
  )) {
    try {
      await run(program, values.prove ? ['--prove', how] : [how], {
        timeout: LIMIT_MS,
        env: { LW_MUTANT: String(number) },
      });
    } catch (error) {
      if (error.killed) return { primitive, undecided: true };
      if (error.code !== 1)
        return { primitive, reason: `the explorer ended with ${error.code ?? error.signal}` };
      const [configuration, length, reason] = error.stdout.trim().split('\t');
      return { primitive, configuration, length, reason };
    }
  }
  return null;
}

/**
 * The numbers by what same.c says of them, by all primitives together; and the primitives in which
 * each differs.
 */
async function compare(name, primitives, folder, count) {
  const numbers = [...readConstants(folder)].join(',');
  const flags = [
    '-include',
    'mutant.h',
    `-DMUTANTS=${count}`,
    `-DTRIES=${TRIES}`,
    `-DPOOL=${numbers}`,
  ];
  const verdicts = new Map();
  const differing = new Map();
  await inParallel(primitives, async (primitive) => {
    const { program } = await build(
      primitive,
      folder,
      `same-${primitive}`,
      ['verify/mutants/same.c'],
      flags,
    );
    const { stdout } = await run(program, [], { maxBuffer: 1 << 24 });
    for (const line of stdout.trim().split('\n')) {
      const [number, verdict] = line.split(' ');
      if (verdict === 'differs')
        differing.set(+number, (differing.get(+number) ?? new Set()).add(primitive));
      const known = verdicts.get(+number);
      if (!known || verdict === 'differs' || (verdict === 'same' && known === 'missed'))
        verdicts.set(+number, verdict);
    }
  });
  return { verdicts, differing };
}

/** Values to draw from: those of the constants in the core's headers, and small numbers. */
function readConstants() {
  const constants = new Set(['0u', '1u', '2u', '3u', '0x10000001u', '0x3fffffffu', '0xffffffffu']);
  for (const name of [...PRIMITIVES.keys(), 'waiters'])
    for (const [, value] of readFileSync(
      join(ROOT, `include/lockword/core/${name}.h`),
      'utf8',
    ).matchAll(/^#define \w+ (0x[\da-f]+u)$/gm))
      constants.add(value);
  return constants;
}

const verdict = (end, primitives) =>
  end?.undecided
    ? UNDECIDED
    : end
      ? `${primitives.length > 1 ? `${end.primitive} ` : ''}#${end.configuration ?? '?'}, ${end.length ?? '?'}: ${end.reason}`
      : 'lives';

const total = { mutants: 0, killed: 0, equivalent: 0, left: 0, exist: 0, same: 0, failed: 0 };
const equivalents = readEquivalents();

function fail(mutant, what) {
  total.failed++;
  console.log(
    `error: ${mutant.file}:${mutant.line}: ${mutant.operator}: ${what}\n    ${mutant.key}`,
  );
}

/** Judges what became of a mutant. */
function judge(mutant, end, primitives) {
  const argument = mutant.unit?.get(mutant.key);
  // One that is equivalent may have more states than are explored.
  if (argument && end?.reason === 'too many states') end = undefined;
  if (values.list)
    console.log(`${mutant.file}:${mutant.line}: ${mutant.key}\n    ${verdict(end, primitives)}`);
  if (end?.undecided) fail(mutant, UNDECIDED);
  else if (end && argument)
    fail(mutant, `is said to be equivalent, but dies: ${verdict(end, primitives)}`);
  else if (end) total.killed++;
  else if (argument) total.equivalent++;
  else if (values.prove) total.left++;
  else fail(mutant, 'nothing kills it');
}

/** Reads a unit's files, and makes its mutants. */
function mutatorOf(files, primitives) {
  const mutator = new Mutator(
    ROOT,
    files.filter((file) => existsSync(join(ROOT, file))),
    ['-std=c11', ...INCLUDES, `-I${ROOT}/include`, `-I${HERE}`],
  );
  const inCore = (node) => node.loc.file?.startsWith(join(ROOT, 'src/core/'));
  if (existsSync(join(ROOT, files[0]))) mutator.read(files[0], inCore);
  for (const primitive of primitives.length === 1 ? primitives : [])
    mutator.read(`verify/${primitive}.c`, (node) =>
      (node.loc.expansionLoc ?? node.loc).file?.startsWith(join(HERE, primitive)),
    );
  return mutator;
}

/** Looks whether the mutants that equivalent.txt names exist. */
function checkList(name, mutants) {
  const keys = new Set(mutants.map(({ key }) => key));
  for (const key of equivalents.get(name)?.keys() ?? []) {
    if (keys.has(key)) total.exist++;
    else
      fail(
        { file: 'verify/mutants/equivalent.txt', line: 0, operator: name, key },
        'there is no such mutant',
      );
  }
}

async function testUnit(name) {
  const start = performance.now();
  const { files, primitives } = unitOf(name);
  const mutator = mutatorOf(files, primitives);
  const { mutants } = mutator;
  checkList(name, mutants);
  if (values.stale) return;
  const folder = join(BUILD, name);
  for (const { path, text } of mutator.schemata()) write(join(folder, path), text);
  const { verdicts, differing } = await compare(name, primitives, folder, mutants.length);
  const programs = await Promise.all(
    primitives.map((primitive) =>
      build(
        primitive,
        folder,
        `explore-${primitive}`,
        ['verify/mutants/mutant.c'],
        ['-include', 'mutant.h'],
      ),
    ),
  );
  const before = { ...total };
  const unit = equivalents.get(name) ?? new Map();
  const all = [];
  mutants.forEach((mutant, index) => {
    mutant.unit = unit;
    if ((values.mortal && unit.has(mutant.key)) || !mutant.key.includes(values.only)) return;
    if (verdicts.get(index + 1) !== 'same') all.push({ mutant, number: index + 1 });
    else {
      total.same++;
      if (values.list) console.log(`${mutant.file}:${mutant.line}: ${mutant.key}\n    same`);
    }
  });
  const chosen = all.filter((_, i) => i % Number(values.every) === 0);
  total.mutants += chosen.length;
  const original = { number: 0 };
  await inParallel([original, ...chosen], async ({ mutant, number }) => {
    // Those in which it differs come first: most mutants die there.
    const differs = ({ primitive }) => Number(differing.get(number)?.has(primitive) ?? false);
    const end = await explore(
      programs.toSorted((a, b) => differs(b) - differs(a)),
      number,
    );
    if (mutant) judge(mutant, end, primitives);
    else if (end) throw new Error(`${name}: without any mutant: ${verdict(end, primitives)}`);
  });
  const of = (what) => `${total[what] - before[what]} ${what}`;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(
    `${name.padEnd(10)} ${of('mutants')}: ${of('killed')}, ${of('equivalent')}, ${values.prove ? `${of('left')} to the explorer, ` : ''}${of('failed')}; ${of('same')}; ${seconds} s`,
  );
}

/** What a fragment of C looks like, whatever its comments and its line breaks. */
function patternOf(fragment) {
  const tokens = fragment.replace(/\/\*[^]*?\*\//g, '').match(/\w+|[^\w\s]/g);
  return new RegExp(
    tokens.map((token) => token.replace(/\W/, '\\$&')).join(String.raw`(?:\s|/\*[^]*?\*/)*`),
  );
}

/** Tests those made by hand, which are compiled one by one. */
async function testByHand(names) {
  const before = { ...total };
  const mutants = readByHand().filter(({ primitive }) => names.includes(primitive));
  await inParallel(mutants, async (mutant) => {
    const { file, primitive, from, to, number } = mutant;
    const [first, ...others] = readFileSync(join(ROOT, file), 'utf8').split(patternOf(from));
    mutant.line = first.split('\n').length;
    total.mutants++;
    if (others.length !== 1)
      return fail(mutant, `what it replaces stands ${others.length} times in the source`);
    total.exist++;
    if (values.stale) return;
    const folder = join(BUILD, `by-hand/${number}`);
    /* The number may have been another mutant's, of another file. */
    rmSync(folder, { recursive: true, force: true });
    write(join(folder, file), first + to + others[0]);
    judge(mutant, await explore([await build(primitive, folder, `explore-${primitive}`)], 0), [
      primitive,
    ]);
  });
  if (values.stale) return;
  console.log(
    `by hand    ${total.mutants - before.mutants} mutants: ${total.killed - before.killed} killed${values.prove ? `, ${total.left - before.left} left to the explorer` : ''}`,
  );
}

const names = positionals.length > 0 ? positionals : ['waiters', ...PRIMITIVES.keys()];
for (const name of values['by-hand'] ? [] : names) await testUnit(name);
await testByHand(names);
const passed = values.stale ? total.exist : total.killed + total.equivalent + total.left;
console.log(`\n${passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;
