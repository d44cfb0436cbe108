/** Figures in words, and tables in Markdown. */

import { heldFor } from './cells.js';
import { fixed, time as timed } from './js/table.js';

/** Ratios that differ by less are called equal. */
export const NOISE = 0.01;

export const time = (ns) => timed(ns).replace('us', 'µs');
export const short = (n) =>
  n === 0
    ? '0'
    : n < 1
      ? n.toPrecision(3)
      : n < 100
        ? fixed(n, 1)
        : Math.round(n).toLocaleString('en');
export const bold = (text, isBold) => (isBold ? `**${text}**` : text);
export const list = (items) => items.map((item) => `- ${item}`).join('\n');
export const fold = (summary, text) =>
  `<details>\n<summary>${summary}</summary>\n\n${text}\n\n</details>`;

/** Rows of text as a table: the first row its head; numbers to the right. */
export function table([head, ...rows], areWords = false) {
  const rule = head.map((_, k) => (k && !areWords ? '--:' : '---'));
  return [head, rule, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** A table with a row for each of these: for each column its head, and the row's cell. */
export const tableOf = (rows, columns, areWords) =>
  table(
    [columns.map(([head]) => head), ...rows.map((row) => columns.map(([, cell]) => cell(row)))],
    areWords,
  );

export const threadsOf = (cell, unit = 'thread') =>
  `${cell.threads} ${unit}${cell.threads > 1 ? 's' : ''}`;
export const nameOf = (cell, unit) =>
  `${threadsOf(cell, unit)}, ${heldFor(cell.section_ns)}${cell.busy ? ', CPUs busy' : ''}`;
