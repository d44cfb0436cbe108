/**
 * run.js: what `npm pack` makes of a fresh clone, as its users get it: which files, which size, and
 * programs in strict TypeScript, in CommonJS, in Jest, in C and in bundles that use it. Ends with
 * `N passed, N failed`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { buildSync } from 'esbuild';
import { build as vite } from 'vite';

import { llvm } from '../../tools/core/toolchain.js';
import { archive } from '../../tools/core/wasm.js';
import { linksOf, programsOf } from '../docs/pages.js';
import { install as installRuntimes, RUNTIMES, SOME_NODES } from '../js/runtimes.js';
import { checkHosts, missingForOthers, needsOf } from './prebuilt.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const HERE = fileURLToPath(new URL('./', import.meta.url));
const CLONE = join(ROOT, 'build/test-package-clone');
const WORK = join(ROOT, 'build/test-package');
const PACKAGE = join(WORK, 'node_modules/lockword');
const REGION = join(WORK, 'node_modules/lockword-region');
const REGION_USERS_NEED =
  /^(package\.json|README\.md|LICENSE|(index|lockfile)\.js|load\.cjs|install\.js|addon\.c|cjs\/((index|lockfile)\.js|package\.json|\w+\.d\.ts)|types\/\w+\.d\.ts|prebuilt\/linux-\w+\.node|c\/(include|src)\/.*\.(h|hpp|c))$/;
const PROGRAMS = ['consumer.ts', 'consumer.cts', 'platform.ts', 'copies.cjs', 'jest.test.cjs'];
const USERS_NEED = [
  /^(package\.json|README\.md|LICENSE|js\/src\/(core\/)?[\w-]+\.js|js\/types\/(core\/)?[\w-]+\.d\.ts)$/,
  /^js\/cjs\/([\w-]+\.js|(core\/)?[\w-]+\.d\.ts|package\.json)$/,
  /^(include\/lockword\/.*\.h(pp)?|src\/.*\.[ch]|wasm\/(liblockword\.a|library_lockword\.js|lockword\.(c|h|hpp)))$/,
  // What README.md links to.
  /^((CHANGELOG|CONTRIBUTING)\.md|docs\/[\w-]+\.md|docs\/img\/.*\.(png|svg)|examples\/.*|(bindings\/(node|python|rust)|verify)\/README\.md)$/,
];

/** What a user's bundle may grow by, minified and gzipped, in bytes. */
const LIMITS = [
  ['the mutex alone', "export { Mutex } from 'lockword';", 4215],
  ['the permits alone', "export { Permits } from 'lockword';", 4770],
  ['the whole package', "export * from 'lockword';", 12790],
  ['leases', "export { connect } from 'lockword/lease';", 5050],
  ['a region', "export { Region } from 'lockword/region';", 17110],
];

/**
 * All primitives for wasm, gzipped, in bytes; lockword/describe.h and lockword/emscripten.h have
 * members of their own.
 */
const MEMBER = 'lockword.o';
const MEMBER_LIMIT = 8700;

/**
 * The compilers, and whether each has been told to trust the types of libraries; the first way is
 * the stricter one.
 */
const COMPILERS = { 5.2: 'typescript-5.2', 5.9: 'typescript-5.9', 7: 'typescript' };
const RESOLUTIONS = {
  bundler: 'esnext',
  node16: 'node16',
  nodenext: 'nodenext',
  // What `module: commonjs` means before TypeScript 6: it knows no `exports`.
  node10: 'commonjs',
};
const MODULES_OF = { bundler: ['ts'], node10: ['cts'] };
/** The programs: lockword-region is for Linux. */
const USERS = process.platform === 'linux' ? ['consumer', 'region'] : ['consumer'];
// nodenext meant node16 until TypeScript 5.8.
const understands = (compiler, resolution) =>
  !(resolution === 'node10' && compiler > 6) && !(resolution === 'nodenext' && compiler < 5.8);

/** Whether the Closure Compiler that test/package/package.json names is for this platform. */
const HAS_CLOSURE = process.platform === 'linux' && process.arch === 'x64';

let passed = 0;
let failed = 0;

/** Whether so many bytes are few enough. */
function below(limit, { length }) {
  console.log(`    ${length} bytes`);
  return length < limit ? '' : `${length} bytes`;
}

async function check(what, test) {
  try {
    const wrong = await test();
    if (wrong) throw new Error(wrong);
    passed++;
    console.log(`ok: ${what}`);
  } catch (error) {
    failed++;
    console.log(`not ok: ${what}\n${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`);
  }
}

const run = (command, ...args) =>
  execFileSync(command, args, { cwd: WORK, encoding: 'utf8', stdio: 'pipe' });
const read = (...path) => readFileSync(join(...path), 'utf8');

/**
 * What users have besides: test/package/package.json pins it. Installed on first use, and whenever
 * the pins change.
 */
function installTools() {
  const installed = join(HERE, 'node_modules/.package-lock.json');
  const { devDependencies, optionalDependencies } = JSON.parse(read(HERE, 'package.json'));
  const pins = Object.entries({ ...devDependencies, ...(HAS_CLOSURE && optionalDependencies) });
  const versionOf = (name) => {
    const manifest = join(HERE, 'node_modules', name, 'package.json');
    return existsSync(manifest) && JSON.parse(read(manifest)).version;
  };
  if (
    existsSync(installed) &&
    pins.every(([name, pin]) => pin.split('@').at(-1) === versionOf(name))
  )
    return;
  console.log('Installing compilers and Jest from the npm registry …');
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', args, { cwd: HERE, stdio: ['ignore', 'ignore', 'inherit'] });
}

/** Packs a folder, and unpacks that into another one. */
function pack(from, to) {
  const { name, version } = JSON.parse(read(from, 'package.json'));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', WORK], {
    cwd: from,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const filename = `${name}-${version}.tgz`;
  console.log(`${filename}: ${statSync(join(WORK, filename)).size} bytes`);
  mkdirSync(to, { recursive: true });
  execFileSync('tar', ['-xzf', join(WORK, filename), '-C', to, '--strip-components=1']);
}

/**
 * Packs what is in the tree, in a folder where nothing has been built, and unpacks it, as npm
 * install would.
 */
function install() {
  for (const folder of [WORK, CLONE]) rmSync(folder, { recursive: true, force: true });
  mkdirSync(WORK, { recursive: true });
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const name of listed.split('\n').filter((name) => name && existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(CLONE, name)), { recursive: true });
    copyFileSync(join(ROOT, name), join(CLONE, name));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(CLONE, 'node_modules'));
  // What other suites have made of the same sources. Their names are hashes of all that went in.
  mkdirSync(join(CLONE, 'build'));
  for (const kept of ['core', 'addons']) {
    mkdirSync(join(ROOT, 'build', kept), { recursive: true });
    symlinkSync(join(ROOT, 'build', kept), join(CLONE, 'build', kept));
  }
  pack(CLONE, PACKAGE);
  const missing = missingForOthers();
  if (missing) console.log(`left out: the addon for other processors: there is no ${missing}`);
  const options = ['--types', ...(missing ? [] : ['--prebuild']), join(CLONE, 'build')];
  run(process.execPath, join(CLONE, 'bindings/node/build.js'), ...options);
  pack(join(CLONE, 'build/lockword-region'), REGION);
  symlinkSync(
    join(ROOT, 'node_modules/node-api-headers'),
    join(WORK, 'node_modules/node-api-headers'),
  );
  writeFileSync(join(WORK, 'package.json'), '{ "type": "module" }');
  for (const name of PROGRAMS) copyFileSync(join(HERE, name), join(WORK, name));
  // The same code under another version's name.
  const source = join(WORK, 'another-version/js/src');
  cpSync(join(PACKAGE, 'js/src'), source, { recursive: true });
  const agent = read(source, 'agent.js').replace('agent[`', 'agent[`another ');
  writeFileSync(join(source, 'agent.js'), agent);
  // The same version with other names of properties, as a tool may make it that shortens them.
  const mangleProps = /^(advance|callers|idle|left|phase|queued|wanted)$/;
  const renamed = bundle("export * from 'lockword';", { mangleProps });
  writeFileSync(join(WORK, 'renamed.mjs'), renamed);
  symlinkSync(join(HERE, 'node_modules/@types'), join(WORK, 'node_modules/@types'));
  symlinkSync(join(HERE, 'node_modules/undici-types'), join(WORK, 'node_modules/undici-types'));
}

const files = (folder = PACKAGE) => {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
};

const manifest = () => JSON.parse(read(PACKAGE, 'package.json'));

/** Every path that the exports map names. */
function exported() {
  const targets = (value) =>
    typeof value === 'string' ? [value] : Object.values(value).flatMap(targets);
  return targets(manifest().exports);
}

/** Every file that the package's README shows or links to. */
function linked() {
  const targets = linksOf('README.md').filter((target) => !/^(https?:|#)/.test(target));
  return targets.map((target) => target.replace(/#.*/, ''));
}

/** A user's bundle of this module. */
function bundle(contents, options) {
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: WORK },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'error',
    external: ['node:os'],
    ...options,
  });
  return outputFiles?.[0].contents;
}

/**
 * A user's program in strict TypeScript, compiled with what the platform is known to have. Returns
 * what the compiler says.
 */
function typescript(compiler, resolution, libs, programs, ...more) {
  // Without --typeRoots, TypeScript takes all of node_modules/@types, and so the types of Node.
  const types = more.includes('--types') ? [] : ['--typeRoots', 'none'];
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--target', 'es2022'];
  // Not emitted, but made: what a library exports is written down, whether or not its author did.
  strict.push('--declaration');
  const modules = ['--module', RESOLUTIONS[resolution], '--moduleResolution', resolution];
  const args = [...strict, ...modules, '--lib', libs.join(), ...types, ...more];
  args.push(...programs.map((name) => join(WORK, name)));
  const package_ = COMPILERS[compiler];
  if (package_ !== 'typescript') return inThisProcess(package_, args);
  run(process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), ...args);
  return '';
}

/** What tsc does, by its functions: to load them takes longer than to compile a program. */
function inThisProcess(compiler, args) {
  const ts = createRequire(join(HERE, 'run.js'))(compiler);
  const { options, fileNames, errors } = ts.parseCommandLine(args);
  const host = ts.createCompilerHost(options);
  host.getCurrentDirectory = () => WORK;
  // The compiler's own libraries are the same for all programs of one target.
  const { getSourceFile } = host;
  const libraries = (librariesOf[compiler] ??= new Map());
  host.getSourceFile = (name, ...how) => {
    if (dirname(name) !== host.getDefaultLibLocation()) return getSourceFile(name, ...how);
    if (!libraries.has(name)) libraries.set(name, getSourceFile(name, ...how));
    return libraries.get(name);
  };
  const program = ts.createProgram(fileNames, options, host);
  return ts.formatDiagnostics([...errors, ...ts.getPreEmitDiagnostics(program)], host);
}
const librariesOf = {};

/** A user's program, in both kinds of modules, and what it prints. */
const ESM = "import { Mutex, self } from 'lockword'; import * as wasm from 'lockword/wasm';";
const CJS = "const { Mutex, self } = require('lockword'); const wasm = require('lockword/wasm');";
const USES =
  'new Mutex().runExclusive(() => console.log(wasm.imports().lockword.self() === self));';
const BOTH = `import { self as id } from 'lockword'; ${CJS} if (id === self) { ${USES} }`;

const BUNDLERS = {
  esbuild: (entry, outfile) =>
    bundle('', { stdin: undefined, entryPoints: [entry], outfile, write: true, format: 'cjs' }),
  vite: (entry, outfile) =>
    vite({
      root: WORK,
      configFile: false,
      logLevel: 'error',
      build: {
        outDir: dirname(outfile),
        emptyOutDir: false,
        lib: { entry, formats: ['cjs'], fileName: () => 'vite.cjs' },
        commonjsOptions: { transformMixedEsModules: true },
      },
    }),
  webpack: (entry, outfile) => {
    const webpack = createRequire(join(HERE, 'run.js'))('webpack');
    const output = { path: dirname(outfile), filename: 'webpack.cjs' };
    return new Promise((resolve, reject) => {
      webpack(
        { mode: 'production', target: 'web', context: WORK, entry, output },
        (error, stats) => {
          if (error || stats.hasErrors()) reject(error ?? new Error(stats.toString('errors-only')));
          else resolve();
        },
      );
    });
  },
};

/**
 * A program that emcc builds with the package's library, without the rest of what emcc adds. It
 * uses the library as C does, by its functions, and as other scripts do, by Module.lockword; then
 * it exits while a call is pending.
 */
function emscriptenProgram() {
  const lines = read(PACKAGE, 'wasm/library_lockword.js').split('\n');
  const library = {};
  const merge = new Function(
    'LibraryManager',
    'mergeInto',
    lines.filter((line) => !line.startsWith('#')).join('\n'),
  );
  merge({ library }, Object.assign);
  const symbols = Object.entries(library).filter(([name]) => !/__(deps|postset)$/.test(name));
  const nameOf = (name) => (name.startsWith('$') ? name.slice(1) : `_${name}`);
  return `
    var Module = {}, ABORT = false, wasmMemory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
    var wasmTable = { get: (f) => (address, value, result) => console.log(f, address, value, result) };
    var quit_ = (status, error) => { process['exitCode'] = status; throw error; };
    function callUserCallback(f) { if (!ABORT) f(); }
    ${symbols.map(([name, value]) => `var ${nameOf(name)} = ${value};`).join('\n')}
    ${library.$lockword__postset}
    const acquire = _lw_emscripten_lock_async_acquire;
    acquire(8, 1, 0, 100);
    acquire(8, 2, 0, 100);
    _lw_emscripten_semaphore_async_acquire(16, 1, 3, 0, Infinity);
    setTimeout(() => {
      const mutex = Module['lockword']['Mutex']['from']({ 'type': 'Mutex', 'buffer': wasmMemory.buffer, 'byteOffset': 8 });
      console.log(mutex['isMine'], _lw_import_self() === Module['lockword']['self']);
      _lw_emscripten_condvar_wait_async(24, 8, 4, 0, Infinity);
      new Module['lockword']['Mutex'](wasmMemory, 8)['tryLock']();
      acquire(8, 5, 0, Infinity);
      setTimeout(() => {
        ABORT = true;
        try {
          quit_(7, 'exit');
        } catch {
          acquire(8, 6, 0, Infinity);
        }
      }, 50);
    }, 300);`;
}
const EMSCRIPTEN_SAYS = '1 8 0 0\n2 8 -1 2\ntrue true\n';

/** How that program, from this file, runs and ends. */
function emscriptenRun(file) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: WORK,
    encoding: 'utf8',
    timeout: 10_000,
  });
  return status === 7 && stdout === EMSCRIPTEN_SAYS ? '' : `${status}: ${stdout}${stderr}`;
}

const ENTRIES = ['index', 'emscripten', 'inspect', 'lease', 'region', 'wasm', 'worker-mutex'];
const typesOf = (entry) => join(PACKAGE, 'js/types', `${entry}.d.ts`);

/**
 * Whether all public names of this entry's types have a text that editors show; those that have
 * none. One program has all entries.
 */
function undocumented(ts, program, entry) {
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(typesOf(entry)));
  const missing = [];
  const look = (symbol, name, depth) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const text = ts.displayPartsToString(target.getDocumentationComment(checker));
    const tags = ts.displayPartsToString(
      target.getJsDocTags(checker).flatMap(({ text = [] }) => [...text, { text: '\n' }]),
    );
    const isType = target.flags & ts.SymbolFlags.TypeAlias;
    if (!text && !tags && !isType) missing.push(name);
    for (const declaration of target.declarations ?? []) {
      for (const parameter of declaration.parameters ?? []) {
        if (parameter.name.getText() !== 'options') continue;
        if (!/\bms\b|autoReset/.test(tags)) missing.push(`${name}: options in which unit?`);
        if (!/abort|looked at once|what `\w+` throws|autoReset/.test(tags))
          missing.push(`${name}: what of a signal?`);
      }
    }
    if (depth === 0) return;
    const members = [...(target.members?.values() ?? []), ...(target.exports?.values() ?? [])];
    for (const member of members) {
      const own = member.name;
      if (
        /^(__constructor|prototype|#private|__#|name|code)/.test(own) ||
        member.flags & ts.SymbolFlags.TypeParameter
      )
        continue;
      look(member, `${name}.${own}`, depth - 1);
    }
  };
  for (const symbol of checker.getExportsOfModule(module)) look(symbol, symbol.name, 1);
  return missing.join('\n');
}

/** A program of strict TypeScript that uses a region. */
const REGION_TYPES = `import { open, AbandonedError, type RegionGuard, type RegionMutex, type RWTable } from 'lockword-region';
  import { LockError, type Semaphore } from 'lockword';
  import { lock } from 'lockword-region/lockfile';
  const jobs: RegionMutex = open('/dev/shm/none', { create: false }).mutex('jobs');
  export async function use(): Promise<1 | 2> {
    const guard = await jobs.acquireAsync({ timeout: 5 });
    const died: boolean = guard.ownerDied;
    guard.unlock();
    const error: LockError = new AbandonedError(String(died));
    return jobs.runExclusive(({ ownerDied }) => (ownerDied || error.code ? 1 : 2), 50);
  }
  const nested = open('/dev/shm/none').recursiveMutex('nested');
  export const depth: Promise<number> = nested.runExclusive((guard) => (guard.lock(), guard.depth));
  export const again: Promise<boolean> = nested.runExclusive((guard) => guard.lockAsync(50));
  export const lost: Promise<void> = nested.runExclusive((guard) => guard.abandon());
  export const anew: Promise<number | undefined> = nested.resetAsync(50).then((guard) => guard?.depth);
  const condition = open('/dev/shm/none').condition('condition');
  export const waited: boolean = condition.wait(jobs) && condition.wait(nested, 5);
  export const waits: Promise<boolean> = condition.waitForAsync(jobs, () => true, { timeout: 5 });
  const table: RWTable = open('/dev/shm/none').rwtable('table');
  export const reads: Promise<boolean> = table.runShared(({ ownerDied }) => ownerDied, 50);
  export const writes: RegionGuard = table.acquireWrite({ timeout: 5 });
  export const slots: Semaphore = open('/dev/shm/none').semaphore('slots', 3);
  export const release: Promise<() => Promise<void>> = lock('a', { retries: { forever: true } });
  export const state: 'sound' | 'owner died' | 'abandoned' | undefined = jobs.describe()?.state;
  export const inferred = [jobs, jobs.acquireAsync(), nested.lockAsync(), condition, table, condition.waitAsync];`;

/** One that imports nothing but a region, and exports what it has. */
const REGION_ALONE = `import { Region } from 'lockword/region';
  const region = Region.create();
  const mutex = region.mutex('mutex');
  const table = region.rwtable('table');
  export const locks = [mutex, mutex.acquireAsync(), table, table.acquireReadAsync(), region.rwlock('lock')];
  export const counts = [region.semaphore('slots'), region.permits('gpus', 2), region.counter('counter')];
  export const ends = [region.event('event'), region.once('once'), region.latch('latch', 2)];
  export const more = [region.barrier('all', 2), region.waitGroup('group'), region.condition('changed')];
  export const known = [region, region.handle, region.describe('mutex'), mutex.lock, Region.create];`;

installTools();
install();
await check('it contains what users need, and nothing else', () =>
  files()
    .filter((name) => !USERS_NEED.some((pattern) => pattern.test(name)))
    .join('\n'),
);
await check('it contains what it exports, the C headers, the wasm library and a licence', () =>
  [
    ...exported(),
    'LICENSE',
    'README.md',
    'include/lockword/lockword.h',
    'wasm/liblockword.a',
    'wasm/library_lockword.js',
    'wasm/lockword.c',
    'wasm/lockword.h',
  ]
    .filter((name) => !existsSync(join(PACKAGE, name)))
    .join('\n'),
);
await check('it contains what its README shows and links to', () => {
  const targets = linked();
  if (targets.length < 10) return `only ${targets.length} links found`;
  return targets.filter((target) => !existsSync(join(PACKAGE, target))).join('\n');
});
await check('it depends on nothing', () => {
  const { dependencies = {}, peerDependencies = {} } = manifest();
  return Object.keys({ ...dependencies, ...peerDependencies }).join('\n');
});
await check('its copies know their version', () => {
  const [, version] = /agent\[`(\S+) /.exec(read(PACKAGE, 'js/src/agent.js'));
  return version === manifest().version ? '' : `js/src/agent.js says ${version}`;
});
const ts = createRequire(join(HERE, 'run.js'))('typescript-5.9');
const strict = { strict: true, target: ts.ScriptTarget.ES2022 };
const program = ts.createProgram(ENTRIES.map(typesOf), strict);
for (const entry of ENTRIES) {
  await check(`editors show a text, with units, for all that ${entry}.d.ts declares`, () =>
    undocumented(ts, program, entry),
  );
}
for (const name of ['region.ts', 'region.cts']) writeFileSync(join(WORK, name), REGION_TYPES);
writeFileSync(join(WORK, 'alone.ts'), REGION_ALONE);
for (const compiler of Object.keys(COMPILERS)) {
  for (const resolution of Object.keys(RESOLUTIONS)) {
    if (!understands(compiler, resolution)) continue;
    const programs = (MODULES_OF[resolution] ?? ['ts', 'cts']).flatMap((kind) =>
      USERS.map((name) => `${name}.${kind}`),
    );
    await check(
      `TypeScript ${compiler}, strict, resolved as by ${resolution}, without the DOM`,
      () => typescript(compiler, resolution, ['es2022'], programs),
    );
  }
  const programs = ['consumer.ts', 'platform.ts'];
  const libs = ['es2022', 'esnext.disposable'];
  await check(`TypeScript ${compiler} with the DOM, trusting libraries' types`, () =>
    typescript(compiler, 'bundler', [...libs, 'dom'], programs, '--skipLibCheck'),
  );
  await check(
    `TypeScript ${compiler} names what a region has, of nothing but lockword/region`,
    () => typescript(compiler, 'bundler', ['es2022'], ['alone.ts']),
  );
  await check(`TypeScript ${compiler} with Node's types`, () =>
    typescript(compiler, 'nodenext', libs, ['consumer.ts'], '--types', 'node', '--skipLibCheck'),
  );
}
await check('it runs', () => void run(process.execPath, '--no-warnings', 'consumer.ts'));
await check('Node 18 runs what makes it, but for the compiler, which takes long', () => {
  const [{ path }] = installRuntimes(RUNTIMES.filter(({ name }) => name === 'node18'));
  const folder = join(WORK, 'by-node18');
  for (const script of ['cjs.js', 'core/emscripten.js', 'amalgamation.js'])
    run(path, join(CLONE, 'tools', script), folder);
  return existsSync(join(folder, 'lockword.c')) ? '' : 'it made nothing';
});
for (const { name, path, options } of installRuntimes(RUNTIMES)) {
  await check(`${name} requires it, and its copies in one thread are one agent`, () => {
    const output = run(path, ...options, 'copies.cjs');
    return output === 'ok\n' ? '' : output;
  });
  await check(`${name} requires every entry`, () => {
    const entries = Object.keys(manifest().exports).filter((entry) => !entry.endsWith('.json'));
    const script = `for (const entry of ${JSON.stringify(entries)}) require('lockword' + entry.slice(1));
      const { WorkerMutex } = require('lockword/worker-mutex');
      const { Mutex } = require('lockword');
      if (String(new Mutex()) !== 'Mutex { free }') throw new Error(String(new Mutex()));
      new WorkerMutex(WorkerMutex.createSharedBuffer()).lockAsync().then(() => console.log('ok'));`;
    writeFileSync(join(WORK, 'entries.cjs'), script);
    const output = run(path, ...options, 'entries.cjs');
    return output === 'ok\n' ? '' : output;
  });
}
await check('Jest requires it, without a flag', () => {
  const folder = join(WORK, 'jest');
  cpSync(join(WORK, 'jest.test.cjs'), join(folder, 'mutex.test.js'));
  writeFileSync(join(folder, 'package.json'), '{}');
  run(process.execPath, join(HERE, 'node_modules/jest/bin/jest.js'), '--rootDir', folder, '--ci');
});
for (const [name, build] of Object.entries(BUNDLERS)) {
  for (const [kind, source] of Object.entries({
    esm: `${ESM} ${USES}`,
    cjs: `${CJS} ${USES}`,
    mixed: BOTH,
  })) {
    await check(`${name} bundles it: ${kind}`, async () => {
      const entry = join(WORK, `${kind}.${kind === 'cjs' ? 'cjs' : 'js'}`);
      writeFileSync(entry, source);
      const outfile = join(WORK, 'out', kind, `${name}.cjs`);
      await build(entry, outfile);
      const output = run(process.execPath, outfile);
      return output === 'true\n' ? '' : output;
    });
  }
}
await check(
  'C in WebAssembly is built from the package as README.md says, and shares its lock',
  () => {
    const { files } = programsOf('README.md').find(({ files }) =>
      files.some(({ name }) => name === 'build.sh'),
    );
    for (const { name, text } of files) writeFileSync(join(WORK, name), text);
    run('sh', '-e', 'build.sh');
    const output = run(process.execPath, 'main.mjs');
    return output === '201000 of 201000\n' ? '' : output;
  },
);
await check('a program by emcc takes its library, and ends when it exits', () => {
  writeFileSync(join(WORK, 'emscripten.cjs'), emscriptenProgram());
  return emscriptenRun('emscripten.cjs');
});
if (HAS_CLOSURE) {
  await check('so does one by emcc --closure=1', () => {
    writeFileSync(join(WORK, 'externs.js'), '/** @externs */ var process;');
    const settings = [
      '--language_in=UNSTABLE',
      '--language_out=NO_TRANSPILE',
      '--emit_use_strict=false',
    ];
    const files = ['--externs=externs.js', '--js=emscripten.cjs', '--js_output_file=closure.cjs'];
    const closure = join(HERE, 'node_modules/google-closure-compiler-linux/compiler');
    run(closure, '--compilation_level=ADVANCED', '--warning_level=QUIET', ...settings, ...files);
    return emscriptenRun('closure.cjs');
  });
} else console.log('left out: emcc --closure=1: there is no Closure Compiler for this platform');
await check(
  'a bundle has what it imports for its effect, and nothing that it does not import',
  () => {
    const size = (contents) => bundle(contents).length;
    if (size("import 'lockword';") > 0) return 'the package itself has effects';
    if (size("import 'lockword/inspect';") < 1000) return 'lockword/inspect was dropped';
    return '';
  },
);
const sizes = [];
for (const [what, contents, limit] of LIMITS) {
  await check(`${what}, minified and gzipped, is below ${limit} bytes`, () => {
    const zipped = gzipSync(bundle(contents), { level: 9 });
    sizes.push(`${(zipped.length / 1000).toFixed(1)} kB`);
    return below(limit, zipped);
  });
}
await check("README's sizes are those of the mutex and of the whole package", () => {
  const said = read(ROOT, 'README.md').match(/`Mutex` is (\S+ kB), everything (\S+ kB)/s);
  return `${said?.slice(1)}` === `${[sizes[0], sizes[2]]}` ? '' : `${said} is not ${sizes}`;
});

/** A program that opens a region with both kinds of modules, and is told of a death. */
const REGION_USE = `import { fork } from 'node:child_process';
  import { createRequire } from 'node:module';
  import { DeadlockError } from 'lockword';
  import * as esm from 'lockword-region';
  import { lockName } from 'lockword-region/lockfile';
  const require = createRequire(import.meta.url);
  const cjs = require('lockword-region');
  if (require('lockword-region/lockfile').lockName('/a') !== lockName('/a')) throw new Error();
  const [, script, path, isChild] = process.argv;
  const [one, other] = [esm, cjs].map(({ open }) => open(path).mutex('jobs'));
  other.tryLock();
  if (isChild) process.kill(process.pid, 'SIGKILL');
  try {
    one.lock();
  } catch (error) {
    if (!(error instanceof DeadlockError)) throw error;
  }
  one.unlock();
  fork(script, [path, 'child']).on('exit', () =>
    one.runExclusive(({ ownerDied }) => console.log(ownerDied, other.isMine)),
  );`;
/** A program that imports and requires all that the packages export, and compares the names. */
const ALL_ENTRIES = `import { createRequire } from 'node:module';
  const require = createRequire(import.meta.url);
  for (const name of ['lockword', 'lockword-region'])
    for (const entry of Object.keys(require(name + '/package.json').exports)) {
      if (entry.endsWith('.json')) continue;
      const path = name + entry.slice(1);
      const [own, other] = [await import(path), require(path)].map((module) =>
        Object.keys(module).filter((key) => !/^(default|__esModule|module\\.exports)$/.test(key)),
      );
      if (String(own.sort()) !== String(other.sort())) console.log(path, own, other);
    }`;
/** The files of a user who begins in an empty folder. */
const EMPTY = {
  'region.mjs': REGION_USE,
  'entries.mjs': ALL_ENTRIES,
};
/** The packages, as npm installs them from files. */
function tarballs() {
  const headers = join(ROOT, 'node_modules/node-api-headers');
  execFileSync('npm', ['pack', '--silent', '--pack-destination', WORK], {
    cwd: headers,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return [CLONE, join(CLONE, 'build/lockword-region'), headers].map((from) => {
    const { name, version } = JSON.parse(read(from, 'package.json'));
    return join(WORK, `${name}-${version}.tgz`);
  });
}
/**
 * What npm and the addon's installation run with: nothing on PATH but a shell and this Node. npm
 * itself runs on the Node of this test: what it needs is its own affair.
 */
function withoutCompiler({ name, path }) {
  const bin = join(WORK, `bin-${name}`);
  if (!existsSync(bin)) {
    mkdirSync(bin);
    symlinkSync(path, join(bin, 'node'));
    symlinkSync(which('sh'), join(bin, 'sh'));
  }
  const env = { ...process.env, PATH: bin };
  for (const compiler of ['cc', 'gcc', 'clang'])
    if (spawnSync('sh', ['-c', `command -v ${compiler}`], { env }).status === 0)
      throw new Error(`there is ${compiler}`);
  return { cwd: join(WORK, 'empty'), encoding: 'utf8', stdio: 'pipe', env };
}
const which = (program) => run('sh', '-c', `realpath "$(command -v ${program})"`).trim();

/** Installs the packages in an empty folder. */
function installByNpm(node, packages) {
  const settings = withoutCompiler(node);
  mkdirSync(settings.cwd);
  writeFileSync(join(settings.cwd, 'package.json'), '{ "type": "module" }');
  for (const [file, text] of Object.entries(EMPTY)) writeFileSync(join(settings.cwd, file), text);
  const install = ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync(process.execPath, [which('npm'), ...install, ...packages], settings);
}

/** Runs the addon's installation there, which finds that nothing is to be built, and programs. */
function useInstalled(node) {
  const { path, options } = node;
  const settings = withoutCompiler(node);
  const region = join(settings.cwd, 'node_modules/lockword-region');
  execFileSync(path, ['install.js'], { ...settings, cwd: region });
  if (existsSync(join(region, 'built'))) return 'it built an addon';
  const output = execFileSync(path, [...options, 'region.mjs', regionAt], settings);
  rmSync(regionAt);
  if (output !== 'true true\n') return output;
  return execFileSync(path, [...options, 'entries.mjs'], settings);
}
const regionAt = join('/dev/shm', `lockword-package-${process.pid}`);

function useRegion({ path, options }) {
  const output = run(path, ...options, 'region.mjs', regionAt);
  rmSync(regionAt);
  return output === 'true true\n' ? '' : output;
}

if (process.platform === 'linux') {
  writeFileSync(join(WORK, 'region.mjs'), REGION_USE);
  await check('lockword-region contains what users need, and nothing else', () =>
    files(REGION)
      .filter((name) => !REGION_USERS_NEED.test(name))
      .join('\n'),
  );
  await check('its version and its dependency are those of lockword', () => {
    const { version, dependencies } = JSON.parse(read(REGION, 'package.json'));
    const expected = manifest().version;
    return version === expected && dependencies.lockword === expected ? '' : version;
  });
  const runtimes = installRuntimes(RUNTIMES);
  const nodes = runtimes.filter(({ name }) => name !== 'bun');
  await check('Bun says that it cannot open a region', () => {
    const { path, options } = runtimes.find(({ name }) => name === 'bun');
    const { stderr } = spawnSync(path, [...options, 'region.mjs', regionAt], {
      cwd: WORK,
      encoding: 'utf8',
    });
    return stderr.includes('does not run on Bun') ? '' : stderr;
  });
  for (const node of nodes)
    await check(`${node.name} opens a region, as its addon came`, () => useRegion(node));
  const prebuilt = readdirSync(join(REGION, 'prebuilt'));
  for (const file of prebuilt)
    await check(`${file} needs nothing that glibc 2.28 or musl lacks`, () =>
      needsOf(join(REGION, 'prebuilt', file), /-(\w+)\./.exec(file)[1]),
    );
  await check('the addons are as large as their page says', () => {
    const said = read(ROOT, 'bindings/node/README.md').match(/some (\d+) kB each/)?.[1];
    const sizes = prebuilt.map((file) => gzipSync(readFileSync(join(REGION, 'prebuilt', file))));
    const differs = sizes.some(({ length }) => !(Math.abs(length / 1000 - Number(said)) < 2));
    return differs ? `${said} kB are not ${sizes.map(({ length }) => length)} bytes` : '';
  });
  await checkHosts(check, join(REGION, 'prebuilt'), WORK);
  const packages = tarballs();
  const some = nodes.filter(({ name }) => SOME_NODES.includes(name));
  await check('npm installs all packages in an empty folder, without a compiler', () =>
    installByNpm(some[0], packages),
  );
  for (const node of some)
    await check(`${node.name} uses what npm installed`, () => useInstalled(node));
  const installs = (environment) =>
    spawnSync(process.execPath, ['install.js'], {
      cwd: REGION,
      encoding: 'utf8',
      env: { ...process.env, ...environment },
    });
  await check('its installation builds nothing where the addon runs that came with it', () =>
    installs({ CC: 'no-such-compiler' }).status === 0 && !existsSync(join(REGION, 'built'))
      ? ''
      : 'it built one',
  );
  rmSync(join(REGION, 'prebuilt'), { recursive: true });
  await check('where none runs, and there is no compiler, it says what to do', () => {
    const { status, stderr } = installs({ CC: 'no-such-compiler' });
    return status === 1 && /needs a C compiler.*\n.*npm rebuild lockword-region/.test(stderr)
      ? ''
      : stderr;
  });
  await check('so does the program', () => {
    const { stderr } = spawnSync(process.execPath, ['region.mjs', regionAt], {
      cwd: WORK,
      encoding: 'utf8',
    });
    return stderr.includes("'npm rebuild lockword-region' builds it") ? '' : stderr;
  });
  await check('with a compiler it builds one', () => installs().stderr);
  rmSync(join(REGION, 'built'), { recursive: true });
  await check('CC may be empty, or have arguments', () => {
    const { stderr } = installs({ CC: '' });
    rmSync(join(REGION, 'built'), { recursive: true, force: true });
    return stderr || installs({ CC: ' env cc  -DX=1' }).stderr;
  });
  for (const node of nodes)
    await check(`${node.name} opens a region, by the addon that was built`, () => useRegion(node));
} else console.log('left out: lockword-region, which is for Linux');

const library = readFileSync(join(PACKAGE, 'wasm/liblockword.a'));
await check('the library for wasm is the same wherever it is built', async () =>
  library.equals(await archive()) ? '' : 'it differs from that of build/wasm',
);
const { files: members } = await llvm(['ar', 'x', 'liblockword.a', MEMBER], {
  'liblockword.a': library,
});
await check(`the primitives for wasm, gzipped, are below ${MEMBER_LIMIT} bytes`, () =>
  below(MEMBER_LIMIT, gzipSync(members[MEMBER], { level: 9 })),
);

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
