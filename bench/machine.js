/** The machine and the software of a run, for a reader whose own figures differ. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, type } from 'node:os';
import { resolve } from 'node:path';

/** The first line that a command prints; nothing if there is no such command, or it fails. */
function say(command, ...args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? stdout.split('\n')[0].trim() : undefined;
}

const read = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

const debian = (name) => say('dpkg-query', '-W', '-f', '${Version}', name);

/** The CPU's name. Virtual machines hide which CPU it is behind a short one, but not its family. */
function cpuOf() {
  const [family, model] = ['cpu family', 'model'].map(
    (field) => read('/proc/cpuinfo').match(new RegExp(`^${field}\\s*: (\\d+)$`, 'm'))?.[1],
  );
  const name = cpus()[0]?.model;
  return family ? `${name}, family ${family}, model ${model}` : name;
}

/** Only what can be found out: the rest is left out. */
export function describeMachine(root) {
  const compiler =
    read(resolve(root, 'build/release/CMakeCache.txt')).match(
      /^CMAKE_C_COMPILER:.*?=(.+)$/m,
    )?.[1] ?? 'cc';
  const locked = JSON.parse(read(resolve(root, 'package-lock.json'))).packages;
  return {
    date: today(),
    cpu: cpuOf(),
    cpus: availableParallelism(),
    virtual: /^flags.*\bhypervisor\b/m.test(read('/proc/cpuinfo')),
    kernel: `${type()} ${release()}`,
    compiler: say(compiler, '--version'),
    peers: {
      'glibc (pthread, C11)': debian('libc6'),
      nsync: debian('libnsync-dev'),
      absl: debian('libabsl-dev'),
      Rust: say('rustc', '--version')?.split(' ')[1],
      parking_lot: debian('librust-parking-lot-dev'),
      multithreading: locked['node_modules/multithreading']?.version,
    },
  };
}

/** When a run was made. */
export const today = () => new Date().toISOString().slice(0, 10);

/** The same of a run of the event loops in C, which may have been made alone. */
export const describeLoops = () => ({
  date: today(),
  // The 41st field of stat is the scheduling policy, 0 that of other processes.
  realtime: !['0', undefined].includes(read('/proc/self/stat').split(') ')[1]?.split(' ')[38]),
  peers: { libuv: debian('libuv1-dev'), tokio: debian('librust-tokio-dev') },
});
