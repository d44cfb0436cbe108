/** For the tests of the command: programs that they start, as built by the gcc preset. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

export const build = resolve(import.meta.dirname, '../../build/gcc');
export const program = resolve(build, 'command/lockword');

/** What a test started and did not wait for. */
export const running = new Set();

/** Starts a program; `ended` resolves to how it ended, and what it wrote. */
export function startIn(variables, command, ...args) {
  const child = spawn(command, args, { env: { ...process.env, ...variables } });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  running.add(child);
  child.ended = once(child, 'close').then(([status, signal]) => {
    running.delete(child);
    return { status, signal, stdout, stderr };
  });
  return child;
}

/** Where a region's first slot begins. */
const slots = 331776;

/** A region whose only mutex, lock-0, has been abandoned. */
export function abandonedRegion() {
  const region = regionOf(1);
  region.writeUInt32LE(0xb2c8fff7, slots + 4); // FNV-1a of the name
  region.writeUInt32LE((1 << 2) | 2, slots + 72);
  return region;
}

/** A region that has this many mutexes, and room for names, as docs/layout.md has its bytes. */
export function regionOf(mutexes, names = mutexes) {
  const region = Buffer.alloc(slots + 256 * names);
  region.write('lockword');
  region.writeUInt32LE(4, 8);
  region.writeUInt32LE(region.length, 12);
  region.fill(0xff, 256, 512);
  for (let i = 0; i < mutexes; i++) {
    region.writeUInt32LE(0x101, slots + 128 * i);
    region.write(`lock-${i}`, slots + 128 * i + 8);
  }
  return region;
}
