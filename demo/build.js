/**
 * Builds what runs: the native program with CMake, the WebAssembly module with the development
 * tools of package.json.
 */

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { link } from '../tools/core/link.js';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs a command, and shows what it printed only if it failed. */
function run(command, ...args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
  });
  if (error)
    throw new Error(
      `${command} does not start (${error.code}): \`make demo\` installs what is missing, or says what to install`,
    );
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}\n${stdout}${stderr}`);
}

/**
 * @param {string} [built] a build that has demo/native among its parts; without it, the demo has
 *   one of its own
 * @returns {{ threads: string, processes: string }} the programs of native/main.c and process.c
 */
export function buildNative(built) {
  const folder = built ?? path.join(root, 'build', 'demo');
  if (!built)
    run(
      'cmake',
      '-S',
      root,
      '-B',
      folder,
      '-DCMAKE_BUILD_TYPE=Release',
      '-DLOCKWORD_PARTS=demo/native',
    );
  run('cmake', '--build', folder, '--target', 'wordcount', 'wordcount-process');
  const programs = path.join(folder, 'demo', 'native');
  return {
    threads: path.join(programs, 'wordcount'),
    processes: path.join(programs, 'wordcount-process'),
  };
}

/** @returns {Promise<WebAssembly.Module>} wordcount.c for workers, linked with lockword's WebAssembly archive */
export async function buildModule() {
  const source = fileURLToPath(new URL('wordcount.c', import.meta.url));
  return new WebAssembly.Module(
    await link([source], { exports: ['wc_size', 'wc_format', 'wc_take_file', 'wc_count'] }),
  );
}
