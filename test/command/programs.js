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
