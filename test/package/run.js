/**
 * run.js: what `npm pack` makes, as its users get it: which files, which size, and a strict TypeScript program that uses it. Ends
 * with
 * `N passed, N failed`.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { buildSync } from 'esbuild';

import { llvm } from '../../tools/core/toolchain.js';
import { install as installRuntimes, RUNTIMES } from '../js/runtimes.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const WORK = join(ROOT, 'build/test-package');
const PACKAGE = join(WORK, 'node_modules/lockword');
const CONSUMERS = ['consumer.ts', 'consumer.cts'];
const USERS_NEED =
  /^(package\.json|README\.md|LICENSE|js\/src\/[\w-]+\.js|js\/cjs\/worker-mutex\.(cjs|d\.cts)|js\/types\/[\w-]+\.d\.ts|include\/lockword\/.*\.h|src\/.*\.[ch]|wasm\/(liblockword\.a|library_lockword\.js))$/;

/** What a user's bundle may grow by, minified and gzipped, in bytes. */
const LIMITS = [
  ['the mutex alone', "export { Mutex } from 'lockword';", 3150],
  ['the whole package', "export * from 'lockword';", 8600],
];

/** All primitives for wasm, gzipped, in bytes; lockword/describe.h and lockword/emscripten.h have members of their own. */
const MEMBER = 'lockword.o';
const MEMBER_LIMIT = 8000;

let passed = 0;
let failed = 0;

/** Whether so many bytes are few enough. */
function below(limit, { length }) {
  console.log(`    ${length} bytes`);
  return length < limit ? '' : `${length} bytes`;
}

function check(what, test) {
  try {
    const wrong = test();
    if (wrong) throw new Error(wrong);
    passed++;
    console.log(`ok: ${what}`);
  } catch (error) {
    failed++;
    console.log(`not ok: ${what}\n${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`);
  }
}

/** Packs and unpacks, as npm install would. */
function install() {
  rmSync(WORK, { recursive: true, force: true });
  mkdirSync(PACKAGE, { recursive: true });
  execFileSync('npm', ['pack', '--silent', '--pack-destination', WORK], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  const tarball = readdirSync(WORK).find((name) => name.endsWith('.tgz'));
  execFileSync('tar', ['-xzf', join(WORK, tarball), '-C', PACKAGE, '--strip-components=1']);
  writeFileSync(join(WORK, 'package.json'), '{ "type": "module" }');
  for (const name of CONSUMERS) copyFileSync(new URL(name, import.meta.url), join(WORK, name));
}

const files = () => {
  const entries = readdirSync(PACKAGE, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(PACKAGE.length + 1));
};

/** Every path that the exports map names. */
function exported() {
  const targets = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(targets));
  return targets(JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')).exports);
}

/** A user's bundle of this module. */
function bundle(contents) {
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: WORK },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'error',
  });
  return outputFiles[0].contents;
}

const typescript = (resolution, consumers) => () => {
  const module = resolution === 'bundler' ? 'esnext' : 'nodenext';
  const options = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2024,esnext.disposable,dom', '--types', ''];
  execFileSync('tsc', [...options, '--module', module, '--moduleResolution', resolution, ...consumers], { cwd: WORK });
};

install();
check('it contains what users need, and nothing else', () =>
  files()
    .filter((name) => !USERS_NEED.test(name))
    .join('\n'),
);
check('it contains what it exports, the C headers, the wasm library and a licence', () =>
  [...exported(), 'LICENSE', 'README.md', 'include/lockword/lockword.h', 'wasm/liblockword.a', 'wasm/library_lockword.js']
    .filter((name) => !existsSync(join(PACKAGE, name)))
    .join('\n'),
);
check('it depends on nothing', () => {
  const { dependencies = {}, peerDependencies = {} } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  return Object.keys({ ...dependencies, ...peerDependencies }).join('\n');
});
check('strict TypeScript, resolved as Node does', typescript('nodenext', CONSUMERS));
check('strict TypeScript, resolved as bundlers do', typescript('bundler', ['consumer.ts']));
check('it runs', () => void execFileSync(process.execPath, ['--no-warnings', 'consumer.ts'], { cwd: WORK }));
check('Node 18 requires lockword/worker-mutex', () => {
  const script = "const m = require('lockword/worker-mutex'); new m.WorkerMutex(m.WorkerMutex.createSharedBuffer()).unlock()";
  const [{ path }] = installRuntimes(RUNTIMES.filter(({ name }) => name === 'node18'));
  const { stderr } = spawnSync(path, ['-e', script], { cwd: WORK, encoding: 'utf8' });
  return /MUTEX_IS_NOT_OWNED_BY_CURRENT_THREAD/.test(stderr) ? '' : stderr;
});
check('a bundle has what it imports for its effect, and nothing that it does not import', () => {
  const size = (contents) => bundle(contents).length;
  if (size("import 'lockword';") > 0) return 'the package itself has effects';
  if (size("import 'lockword/inspect';") < 1000) return 'lockword/inspect was dropped';
  return '';
});
for (const [what, contents, limit] of LIMITS) {
  check(`${what}, minified and gzipped, is below ${limit} bytes`, () => below(limit, gzipSync(bundle(contents), { level: 9 })));
}
const archive = { 'liblockword.a': readFileSync(join(PACKAGE, 'wasm/liblockword.a')) };
const { files: members } = await llvm(['ar', 'x', ...Object.keys(archive), MEMBER], archive);
check(`the primitives for wasm, gzipped, are below ${MEMBER_LIMIT} bytes`, () =>
  below(MEMBER_LIMIT, gzipSync(members[MEMBER], { level: 9 })),
);

console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
