/** Tables on a terminal. */

export const fixed = (n, digits) => n.toFixed(digits);

/** A time given in ns, with its unit. */
export function time(ns) {
  const [unit, size] =
    ns < 1e3 ? ['ns', 1] : ns < 1e6 ? ['us', 1e3] : ns < 1e9 ? ['ms', 1e6] : ['s', 1e9];
  return `${unit === 'ns' ? Math.round(ns) : (ns / size).toPrecision(3)} ${unit}`;
}

/** Rows in these columns (../columns.js), but for those in which none has anything. */
export function sayColumns(rows, columns) {
  const used = columns.filter(([, cell]) => rows.some((row) => cell(row)));
  sayTable([
    used.map(([head]) => head),
    ...rows.map((row) => used.map(([, cell]) => cell(row).replaceAll('**', ''))),
  ]);
}

/** Rows of text in columns: the first flush left, the others right. */
export function sayTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(9, ...rows.map((row) => row[column].length)));
  widths[0] = Math.max(24, widths[0]);
  for (const row of rows)
    console.log(
      `  ${row.map((cell, k) => (k ? cell.padStart(widths[k]) : cell.padEnd(widths[0]))).join('  ')}`,
    );
}
