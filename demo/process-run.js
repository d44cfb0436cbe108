/** Counts with processes that are killed again and again: runs native/process.c. */

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { readTable } from './native-run.js';
import { bytesOf } from './tree.js';

/** How many processes are killed. In a small tree, one for each file at most. */
const KILLS = 100;
/** How often to look for one that holds the mutex. */
const LOOKS = 1000;

/** The id of the process that holds the mutex, or has just held it: where process.c writes it. */
function holder(memory) {
  const bytes = Buffer.alloc(4);
  for (let i = 0; i < LOOKS; i++) {
    fs.readSync(memory, bytes, 0, bytes.length, 0);
    const pid = bytes.readUInt32LE();
    if (pid !== 0) return pid;
  }
}

/**
 * @param {string} program
 * @param {string} scratch an existing directory
 * @param {{ tree: object, buckets: number, heapBytes: number }} options
 * @param {number} processes
 * @param {(filesDone: number) => void} onProgress
 */
export async function countInProcesses(
  program,
  scratch,
  { tree, buckets, heapBytes },
  processes,
  onProgress,
) {
  const [region, memory, list, file] = ['region', 'memory', 'files', 'table'].map((name) =>
    path.join(scratch, name),
  );
  fs.writeFileSync(list, bytesOf(tree.files.map(({ path }) => `${path}\0`).join('')));

  const alive = new Array(processes);
  const start = performance.now();
  let done = 0;
  let kills = 0;
  let deaths;

  const opened = fs.openSync(memory, 'a+');
  /** Aims at a process that holds the mutex. Many have let go of it when the signal comes. */
  const killOneNowAndThen = () => {
    if (done * KILLS < (kills + 1) * tree.files.length) return;
    kills++;
    const pid = holder(opened);
    const any = alive[kills % processes];
    (alive.find((process) => process.pid === pid) ?? any).kill('SIGKILL');
  };

  /** Resolves when the process, or the last one in its place, has nothing left to count. */
  const count = (place, ...table) =>
    new Promise((resolve, reject) => {
      const args = [region, memory, place, heapBytes, buckets, list, ...table].map(String);
      const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      alive[place] = child;
      createInterface({ input: child.stdout }).on('line', (line) => {
        // The last line of one that is killed may be incomplete.
        if (table.length > 0 && line.startsWith('{')) deaths = JSON.parse(line);
        else if (done < tree.files.length) onProgress(++done);
        if (table.length === 0) killOneNowAndThen();
      });
      child.on('error', reject);
      child.on('close', (status, signal) => {
        if (status === 0) resolve();
        else if (signal === 'SIGKILL') count(place).then(resolve, reject);
        else reject(new Error(`${program} ended with ${signal ?? status}`));
      });
    });

  await Promise.all(Array.from(alive, (_, place) => count(place)));
  const seconds = (performance.now() - start) / 1000;
  await count(0, file);
  fs.closeSync(opened);
  const table = readTable(file);
  return { seconds, kills, ...deaths, words: table.toMap(), locksAreZero: table.locksAreZero };
}
