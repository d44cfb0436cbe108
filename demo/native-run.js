/** Counts with native threads: runs native/main.c and reads the table that it leaves. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { bytesOf } from './tree.js';
import { Table } from './wordcount.js';

/** The fields of struct wc_tally have C's names in the program's JSON. */
const inJavaScript = ({ waited_us: waitedUs, longest_us: longestUs, ...agent }) => ({
  ...agent,
  waitedUs,
  longestUs,
});

/** The table that a native program has left. */
export function readTable(file) {
  const bytes = fs.readFileSync(file);
  return new Table(bytes.buffer, bytes.byteOffset);
}

/**
 * @param {string} program
 * @param {string} scratch an existing directory
 * @param {{ tree: object, buckets: number, heapBytes: number, locking: number }} options
 * @param {number} threads
 * @param {(filesTaken: number) => void} onProgress
 */
export async function countNatively(
  program,
  scratch,
  { tree, buckets, heapBytes, locking },
  threads,
  onProgress,
) {
  const list = path.join(scratch, 'files');
  const file = path.join(scratch, 'table');
  fs.writeFileSync(list, bytesOf(tree.files.map(({ path }) => `${path}\0`).join('')));

  const child = spawn(program, [threads, locking, heapBytes, buckets, list, file].map(String), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'close');
  const agents = [];
  let seconds, lateness;
  for await (const line of createInterface({ input: child.stdout })) {
    const value = JSON.parse(line);
    if (typeof value === 'number') onProgress(value);
    else if ('seconds' in value) ({ seconds, lateness } = value);
    else agents.push(inJavaScript(value));
  }
  const [status, signal] = await exit;
  if (status !== 0) throw new Error(`${program} ended with ${signal ?? status}`);
  const table = readTable(file);
  return {
    seconds,
    lateness,
    agents,
    mutexes: table.stripes,
    words: table.toMap(),
    locksAreZero: table.locksAreZero,
  };
}
