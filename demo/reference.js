/**
 * What the others must find: the same count, written independently of wordcount.c and wordcount.js,
 * by one thread.
 */

import fs from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { bytesOf } from './tree.js';

const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/g;

/**
 * @param {{ path: string }[]} files
 * @param {(done: number) => void} onProgress called with the number of files done, where the event
 *   loop gets to run
 */
export async function countPlainly(files, onProgress) {
  const start = performance.now();
  const words = new Map();
  let occurrences = 0;
  for (const [i, { path }] of files.entries()) {
    const text = fs.readFileSync(bytesOf(path), 'latin1');
    for (const [word] of text.matchAll(IDENTIFIER)) {
      words.set(word, (words.get(word) ?? 0) + 1);
      occurrences++;
    }
    if (i % 64 === 0) {
      onProgress(i);
      await nextTurn();
    }
  }
  return { words, occurrences, seconds: (performance.now() - start) / 1000 };
}

/**
 * How a count differs from the reference.
 *
 * @param {Map<string, number>} reference
 * @param {Map<string, number>} counted
 */
export function compare(reference, counted) {
  const difference = { missing: 0, wrong: 0, invented: 0, lost: 0, surplus: 0, examples: [] };
  const note = (kind, word, expected, found) => {
    difference[kind]++;
    difference.lost += Math.max(0, expected - found);
    difference.surplus += Math.max(0, found - expected);
    if (difference.examples.length < 5) difference.examples.push({ word, expected, found });
  };
  for (const [word, expected] of reference) {
    const found = counted.get(word);
    if (found === undefined) note('missing', word, expected, 0);
    else if (found !== expected) note('wrong', word, expected, found);
  }
  for (const [word, found] of counted) {
    if (!reference.has(word)) note('invented', word, 0, found);
  }
  return { ...difference, equal: difference.examples.length === 0 };
}
