/**
 * node bindings/node/build.js [--types] [--prebuild] [FOLDER]: makes the package lockword-region in
 * this folder, which is build/node_modules unless it is given, beside lockword itself, as an
 * installation has them. `--types` adds the types, which take longer; `--prebuild` the addon for
 * the other processor, which needs clang and Debian's packages binutils-TRIPLET and
 * libc6-dev-ARCHITECTURE-cross. A release has both.
 *
 * The package has the drivers and the steps of js/src, with another waiting domain and other ids:
 * src/wait.js and src/agent.js instead of those of js/src. The errors are lockword's own, so that
 * programs tell them by their classes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { build } from 'esbuild';

import { withExports } from '../../tools/types.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const HERE = join(ROOT, 'bindings/node');
const {
  values: { types: wantsTypes, prebuild: wantsAll },
  positionals: [MODULES = join(ROOT, 'build/node_modules')],
} = parseArgs({
  options: { types: { type: 'boolean' }, prebuild: { type: 'boolean' } },
  allowPositionals: true,
});
const PACKAGE = join(MODULES, 'lockword-region');

/**
 * What stands for modules of js/src, and what the bundle leaves where it is.
 *
 * @param {string} loader where load.cjs is, as seen from the bundle
 */
const substitutes = (loader) => ({
  name: 'substitutes',
  setup({ onResolve }) {
    const isShared = (importer) => importer.startsWith(join(ROOT, 'js/src'));
    onResolve({ filter: /\/(wait|agent)\.js$/ }, ({ path, importer }) =>
      isShared(importer) ? { path: join(HERE, 'src', basename(path)) } : undefined,
    );
    onResolve({ filter: /\/errors\.js$/ }, ({ path, importer }) =>
      path.includes('js/src') || isShared(importer)
        ? { path: 'lockword', external: true }
        : undefined,
    );
    onResolve({ filter: /\/load\.cjs$/ }, () => ({ path: loader, external: true }));
    // One copy of all this is enough.
    onResolve({ filter: /^\.\/(region|errors)\.js$/ }, ({ importer }) =>
      importer.endsWith('/lockfile.js') ? { path: './index.js', external: true } : undefined,
    );
  },
});

async function bundle(format, folder, loader) {
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['index', 'lockfile'].map((name) => `bindings/node/src/${name}.js`),
    outdir: join(PACKAGE, folder),
    bundle: true,
    platform: 'node',
    target: 'node18',
    format,
    plugins: [substitutes(loader)],
    logLevel: 'warning',
  });
}

/** The types of what programs see, for both kinds of modules. */
function writeTypes() {
  const out = join(PACKAGE, '.types');
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const options = '--noEmit false --declaration --emitDeclarationOnly --stripInternal --outDir';
  execFileSync(process.execPath, [tsc, '-p', HERE, ...options.split(' '), out], {
    stdio: 'inherit',
  });
  mkdirSync(join(PACKAGE, 'types'));
  for (const name of ['index', 'condition', 'errors', 'lockfile', 'mutex', 'region', 'rmutex'].map(
    (name) => `${name}.d.ts`,
  )) {
    const text = readFileSync(join(out, 'bindings/node/src', name), 'utf8');
    const types = withExports(text)
      .replaceAll(/'(\.\.\/){3}js\/src\/(permits|region-guard|rwtable)\.js'/g, "'lockword/region'")
      .replaceAll(/'(\.\.\/){3}js\/src\/\w+\.js'/g, "'lockword'");
    for (const folder of ['types', 'cjs']) writeFileSync(join(PACKAGE, folder, name), types);
  }
  rmSync(out, { recursive: true });
}

/** The processors that the package has an addon for, with the flags of each. */
const PROCESSORS = {
  x64: ['--target=x86_64-linux-gnu'],
  // libgcc's functions for atomics would need one of glibc's alone.
  arm64: ['--target=aarch64-linux-gnu', '-mno-outline-atomics'],
};

/** Builds an addon that runs with any C library: prebuilt.c. */
function prebuild(arch) {
  const isOwn = arch === process.arch;
  const [target, ...flags] = PROCESSORS[arch] ?? [];
  if (target)
    flags.push(
      ...['-nostdlib', '-fno-stack-protector', '-U_FORTIFY_SOURCE'],
      ...['-Dpthread_atfork=lw_atfork', join(HERE, 'prebuilt.c')],
    );
  if (!isOwn) flags.push(target);
  const file = `prebuilt/linux-${arch}.node`;
  const CC = isOwn ? process.env.CC : 'clang';
  keep(join(PACKAGE, file), CC, flags, () =>
    execFileSync(process.execPath, ['install.js', file, ...flags], {
      cwd: PACKAGE,
      stdio: 'inherit',
      env: { ...process.env, ...(!isOwn && { CC }) },
    }),
  );
}

/** Makes a file, or takes what was made of the same sources: an addon takes seven seconds. */
function keep(file, compiler, flags, build) {
  const [cc, ...first] = (compiler?.trim() || 'cc').split(/\s+/);
  const version = execFileSync(cc, [...first, '--version']);
  const hash = createHash('sha256').update(version).update(`${flags}`);
  const sources = readdirSync(PACKAGE, { recursive: true }).filter((name) => /\.[ch]$/.test(name));
  for (const path of [...sources.sort(), 'install.js', join(HERE, 'prebuilt.c')])
    hash.update(path).update(readFileSync(resolve(PACKAGE, path)));
  const kept = join(ROOT, 'build/addons', hash.digest('hex'));
  if (existsSync(kept)) {
    mkdirSync(dirname(file), { recursive: true });
    cpSync(kept, file);
    return;
  }
  build();
  // Two suites may do this at the same time.
  const unfinished = `${kept}.${process.pid}`;
  mkdirSync(dirname(kept), { recursive: true });
  cpSync(file, unfinished);
  renameSync(unfinished, kept);
}

for (const name of ['lockword', 'lockword-region', 'node-api-headers'])
  rmSync(join(MODULES, name), { recursive: true, force: true });
mkdirSync(PACKAGE, { recursive: true });
for (const name of ['package.json', 'load.cjs', 'install.js', 'addon.c', 'README.md']) {
  if (existsSync(join(HERE, name))) cpSync(join(HERE, name), join(PACKAGE, name));
}
cpSync(join(ROOT, 'LICENSE'), join(PACKAGE, 'LICENSE'));
for (const name of ['include', 'src'])
  cpSync(join(ROOT, name), join(PACKAGE, 'c', name), { recursive: true });
// Copies, since Deno does not follow links out of node_modules.
for (const name of ['package.json', 'js'])
  cpSync(join(ROOT, name), join(MODULES, 'lockword', name), { recursive: true });
cpSync(join(ROOT, 'node_modules/node-api-headers'), join(MODULES, 'node-api-headers'), {
  recursive: true,
});
await bundle('esm', '.', './load.cjs');
await bundle('cjs', 'cjs', '../load.cjs');
writeFileSync(join(PACKAGE, 'cjs/package.json'), '{ "type": "commonjs" }\n');
if (wantsTypes) writeTypes();
for (const arch of new Set([process.arch, ...(wantsAll ? Object.keys(PROCESSORS) : [])]))
  prebuild(arch);
