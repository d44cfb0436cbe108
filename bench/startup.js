/**
 * node bench/startup.js [--quick] [--json FILE] [--build FOLDER]: what linking a lock costs a
 * process, and what importing one costs a page, before anybody waits: small programs in C and C++
 * (native/startup.c runs them), and bundles that a fresh Node imports.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { median } from './js/statistics.js';
import { moduleColumns, programColumns } from './columns.js';
import { sayColumns } from './js/table.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    json: { type: 'string' },
    build: { type: 'string', default: 'build/release' },
  },
});

const root = resolve(import.meta.dirname, '..');
const build = resolve(root, options.build);
const folder = resolve(root, 'build/bench/startup');
const [ROUNDS, FIRSTS, IMPORTS] = options.quick ? [20, 3, 3] : [1000, 51, 51];

const C = ['cc', '.c', '-std=gnu11'];
const CXX = ['c++', '.cc', '-std=gnu++17'];

/** Each has a lock, and takes it and frees it. What is not installed is left out. */
const PROGRAMS = {
  'an empty program': [C, '', '', ''],
  pthread_mutex: [
    C,
    '#include <pthread.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;',
    'pthread_mutex_lock(&m); pthread_mutex_unlock(&m);',
    '',
  ],
  'lockword, static': [
    C,
    '#include <lockword/mutex.h>\nstatic lw_mutex m;',
    'lw_mutex_lock(&m); lw_mutex_unlock(&m);',
    `${build}/liblockword.a -pthread`,
  ],
  'lockword, shared': [
    C,
    '#include <lockword/mutex.h>\nstatic lw_mutex m;',
    'lw_mutex_lock(&m); lw_mutex_unlock(&m);',
    `-L${build} -Wl,-rpath,${build} -llockword`,
  ],
  nsync: [
    C,
    '#include <nsync.h>\nstatic nsync_mu m = NSYNC_MU_INIT;',
    'nsync_mu_lock(&m); nsync_mu_unlock(&m);',
    '-lnsync -pthread',
  ],
  'absl::Mutex': [
    CXX,
    '#include <absl/synchronization/mutex.h>\nABSL_CONST_INIT static absl::Mutex m(absl::kConstInit);',
    'm.Lock(); m.Unlock();',
    '$(pkg-config --static --libs absl_synchronization)',
  ],
};

/** With an argument it says how long the first lock and unlock take, ns. */
const source = (head, turn) => `${head}
#include <stdio.h>
#include <time.h>
int main(int count, char **words)
{
    (void)words;
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    clock_gettime(CLOCK_MONOTONIC, &a);
    ${turn}
    clock_gettime(CLOCK_MONOTONIC, &b);
    if (count > 1)
        printf("%ld\\n", (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec);
    return 0;
}
`;

const output = (command, ...args) => execFileSync(command, args, { encoding: 'utf8' });

/** What the linker made. */
function footprint(file) {
  const [text, data, bss] = output('size', file).split('\n')[1].trim().split(/\s+/).map(Number);
  const sections = output('readelf', '-SW', file);
  const [, size = '0'] = /\.init_array\s+\S+\s+\S+\s+\S+\s+(\S+)/.exec(sections) ?? [];
  const [, tls = '0'] = /^\s+TLS\s+(?:\S+\s+){4}(\S+)/m.exec(output('readelf', '-lW', file)) ?? [];
  return {
    text,
    data: data + bss,
    relocations: (output('readelf', '-rW', file).match(/ R_\w+/g) ?? []).length,
    constructors: parseInt(size, 16) / 8,
    tls: parseInt(tls),
  };
}

function measurePrograms() {
  const programs = [];
  for (const [name, [[compiler, extension, standard], head, turn, libraries]] of Object.entries(
    PROGRAMS,
  )) {
    const file = join(folder, name.replaceAll(/\W+/g, '-'));
    writeFileSync(file + extension, source(head, turn));
    const command = `${compiler} ${standard} -O2 -I${root}/include ${file}${extension} -o ${file} ${libraries}`;
    const { status, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
    if (status !== 0 && name.startsWith('lockword')) throw new Error(stderr);
    if (status === 0) programs.push({ name, file });
    else console.log(`without ${name}: it is not installed`);
  }
  const runner = join(build, 'bench/native/lockword-bench-startup');
  const times = output(runner, `${ROUNDS}`, ...programs.map(({ file }) => file)).split('\n');
  return programs.map(({ name, file }, i) => ({
    name,
    ns: Number(times[i]),
    first_ns: median(Array.from({ length: FIRSTS }, () => Number(output(file, 'first')))),
    ...footprint(file),
  }));
}

const locks = (from) =>
  `import { Mutex } from '${from}'; export const first = async () => { const m = new Mutex(); await m.lockAsync(); m.unlock(); };`;

const MODULES = {
  'an empty module': 'export const first = () => {};',
  'lockword, the mutex': locks('lockword'),
  'lockword, all of it': `export * from 'lockword'; ${locks('lockword')}`,
  'async-mutex': `import { Mutex } from 'async-mutex';
    export const first = () => new Mutex().acquire().then((release) => release());`,
};

function measureModules() {
  const modules = Object.entries(MODULES).map(([name, contents]) => {
    const outfile = join(folder, `${name.replaceAll(/\W+/g, '-')}.mjs`);
    buildSync({
      stdin: { contents, resolveDir: root },
      outfile,
      bundle: true,
      minify: true,
      format: 'esm',
    });
    const text = readFileSync(outfile);
    return { name, outfile, bytes: text.length, gzipped: gzipSync(text).length };
  });
  const samples = modules.map(() => []);
  const script = `const a = performance.now(); const { first } = await import(process.argv[1]);
    const b = performance.now(); await first(); const c = performance.now();
    console.log(JSON.stringify([b - a, c - b]));`;
  for (let round = 0; round < IMPORTS; round++)
    modules.forEach(({ outfile }, i) =>
      samples[i].push(
        JSON.parse(output(process.execPath, '--input-type=module', '-e', script, outfile)),
      ),
    );
  return modules.map(({ name, bytes, gzipped }, i) => ({
    name,
    bytes,
    gzipped,
    import_ns: median(samples[i].map(([ms]) => ms * 1e6)),
    first_ns: median(samples[i].map(([, ms]) => ms * 1e6)),
  }));
}

mkdirSync(folder, { recursive: true });
const figures = { programs: measurePrograms(), modules: measureModules(), node: process.version };
sayColumns(figures.programs, programColumns(figures.programs[0]));
console.log();
sayColumns(figures.modules, moduleColumns(figures.modules[0]));
if (options.json) writeFileSync(options.json, JSON.stringify(figures));
