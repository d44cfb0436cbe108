/** How the demo looks: a little colour and a progress bar on a terminal, plain text elsewhere. */

import { styleText } from 'node:util';
import progress from 'cli-progress';

/** hasColors heeds NO_COLOR; a pipe has no such function. */
const colours = process.stdout.hasColors?.() ?? false;
const paint = (style) => (text) => (colours ? styleText(style, String(text)) : String(text));
export const bold = paint('bold');
export const dim = paint('dim');
export const good = paint('green');
export const bad = paint('red');

export const say = (...lines) => lines.forEach((line) => console.log(line));

export const count = (n) => n.toLocaleString('en');
export const fixed = (n, digits = 1) =>
  n.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
export const megabytes = (bytes) => fixed(bytes / 1e6);
export const milliseconds = (us) => `${fixed(us / 1000)} ms`;
export const plural = (n, thing, things = `${thing}s`) => `${count(n)} ${n === 1 ? thing : things}`;

/** Above this a per cent needs no more digits. */
const COARSE = 0.1;
export function perCent(part, whole) {
  const share = (100 * part) / whole;
  return `${fixed(share, share < COARSE ? 4 : share < 10 ? 2 : 1)} %`;
}

/**
 * Prints rows of text in columns, the first flush left and the others right. The first row names
 * the columns.
 */
export function sayTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const pad = (cell, column) =>
    column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]);
  rows.forEach((row, i) => {
    const line = `    ${row.map(pad).join('   ')}`;
    say(i === 0 ? dim(line) : line);
  });
}

/**
 * Shows a bar while `work` runs, on a terminal only, and returns what `work` returns.
 *
 * @template T
 * @param {string} label
 * @param {{ size: number }[]} files what is worked on; `work` calls back with how many of them are
 *   begun
 * @param {(onProgress: (files: number) => void) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withBar(label, files, work) {
  const bytesBefore = [0];
  for (const { size } of files) bytesBefore.push(bytesBefore.at(-1) + size);
  const bar = new progress.SingleBar({
    format: `  {bar} {value} of {total} MB   ${label}`,
    barCompleteChar: '━',
    barIncompleteChar: '─',
    barsize: 32,
    hideCursor: true,
    clearOnComplete: true,
    stream: process.stdout,
    emptyOnZero: true,
  });
  const inMegabytes = (bytes) => Math.round(bytes / 1e6);
  bar.start(inMegabytes(bytesBefore.at(-1)), 0);
  try {
    return await work((begun) => bar.update(inMegabytes(bytesBefore[begun])));
  } finally {
    bar.stop();
  }
}
