/**
 * prebuilt.js: what the addons that lockword-region contains need of the machine, and how they run
 * with other C libraries and processors than this one's Node: host.c.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const HEADERS = join(ROOT, 'node_modules/node-api-headers/include');
const HOST = fileURLToPath(new URL('./host.c', import.meta.url));

/** What the tools call the processors of Node. */
const MACHINES = { x64: 'x86_64', arm64: 'aarch64' };
const tripletOf = (arch) => `${MACHINES[arch]}-linux-gnu`;
const have = (tool) => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;

/** The glibc of the oldest machines that Node 18 runs on: its second number. */
const OLDEST_GLIBC = 28;

const OTHERS = Object.keys(MACHINES).filter((arch) => arch !== process.arch);

/** Whether the addons for other processors can be built here; what is missing. */
export const missingForOthers = () =>
  OTHERS.flatMap((arch) => [
    ...['clang', `${tripletOf(arch)}-ld`].filter((tool) => !have(tool)),
    ...[`/usr/${tripletOf(arch)}/include/stdio.h`].filter((file) => !existsSync(file)),
  ]).join(', ');

const readelf = (...args) => execFileSync('readelf', ['-W', ...args], { encoding: 'utf8' });

/** The dynamic symbols of these files: names with versions, and whether they are defined there. */
const symbolsOf = (...files) =>
  [
    ...readelf('--dyn-syms', ...files).matchAll(/(\w+) (\w+)(?:@+(\w+\.[\d.]+))?(?: \(\d+\))?$/gm),
  ].map(([, section, name, version]) => ({ name, version, isDefined: section !== 'UND' }));

/** The C library for a processor, with its loader; undefined: it is not installed. */
function glibc(arch) {
  const folders = [`/usr/${tripletOf(arch)}/lib`];
  if (arch === process.arch) folders.push(`/lib/${tripletOf(arch)}`, '/lib64', '/lib');
  const folder = folders.find((name) => existsSync(join(name, 'libc.so.6')));
  if (!folder) return undefined;
  const loader = readdirSync(folder).filter((name) => /^ld-linux.*\.so\.\d$/.test(name));
  return symbolsOf(join(folder, 'libc.so.6'), ...loader.map((name) => join(folder, name)));
}

/** musl's symbols are the same on all processors, as far as the addon is concerned. */
function musl() {
  const file = Object.values(MACHINES)
    .map((machine) => `/lib/ld-musl-${machine}.so.1`)
    .find(existsSync);
  return file && symbolsOf(file);
}

/** What is wrong with what an addon needs. */
export function needsOf(file, arch) {
  if (!MACHINES[arch]) return ''; // built as any other program, for this machine
  const wrong = [];
  const machine = /Machine:.*/.exec(readelf('-h', file))[0];
  if (!machine.replace('-', '_').toLowerCase().includes(MACHINES[arch])) wrong.push(machine);
  wrong.push(...(readelf('-d', file).match(/.*NEEDED.*/g) ?? []));
  const needed = symbolsOf(file)
    .filter(({ name, isDefined }) => !isDefined && !name.startsWith('napi_'))
    .map(({ name }) => name);
  if (needed.length < 20) wrong.push(`only ${needed.length} symbols found`);
  const lacking = (what, symbols, other, isOld) => {
    if (!symbols) {
      console.log(`    left out: ${what} is not installed`);
      return;
    }
    const names = new Set(
      symbols.filter((symbol) => symbol.isDefined && isOld(symbol)).map(({ name }) => name),
    );
    for (const name of needed)
      if (name !== other && !names.has(name)) wrong.push(`${what} has no ${name}`);
  };
  // prebuilt.c calls one or the other.
  lacking(
    `glibc 2.${OLDEST_GLIBC} for ${arch}`,
    glibc(arch),
    'pthread_atfork',
    ({ version }) => Number(/^GLIBC_2\.(\d+)/.exec(version)?.[1]) <= OLDEST_GLIBC,
  );
  lacking('musl', musl(), '__register_atfork', () => true);
  return wrong.join('\n');
}

/**
 * Programs that load an addon as Node does. qemu-user has no robust futexes, without which no
 * region can be opened: there the addon is loaded, and called once.
 */
const HOSTS = [
  { what: 'with glibc', arch: process.arch, compiler: ['cc'], canOpen: true },
  { what: 'with musl', arch: process.arch, compiler: ['musl-gcc'], canOpen: true },
  ...OTHERS.map((arch) => ({
    what: `on ${arch}, under qemu-user`,
    arch,
    compiler: ['clang', `--target=${tripletOf(arch)}`],
    emulator: [`qemu-${MACHINES[arch]}`, '-L', `/usr/${tripletOf(arch)}`],
  })),
];

/** Checks that each of the addons runs wherever that can be tried: `check` is run.js's. */
export async function checkHosts(check, folder, work) {
  for (const { what, arch, compiler, emulator = [], canOpen } of HOSTS) {
    const addon = join(folder, `linux-${arch}.node`);
    const lacks = [compiler[0], ...emulator.slice(0, 1)].filter((tool) => !have(tool));
    if (!existsSync(addon)) lacks.push(`the addon for ${arch}`);
    if (lacks.length) {
      console.log(`left out: its addon ${what}: there is no ${lacks.join(', ')}`);
      continue;
    }
    await check(`its addon runs ${what}`, () => {
      const host = join(work, 'host');
      const flags = ['-std=gnu11', '-O1', '-rdynamic', `-I${HEADERS}`, HOST, '-o', host, '-ldl'];
      execFileSync(compiler[0], [...compiler.slice(1), ...flags], { stdio: 'pipe' });
      const region = join('/dev/shm', `lockword-host-${process.pid}`);
      const [program, ...args] = [...emulator, host, addon, ...(canOpen ? [region] : [])];
      const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 10_000 });
      rmSync(region, { force: true });
      return stdout === 'ok\n' ? '' : `${stdout}${stderr}`;
    });
  }
}
