/**
 * What a run's contended figures have in common: a cell is so many threads, a section so long, CPUs
 * busy or not, and has a row a lock.
 */

export const HERO = 'lockword';

/** Whether a row is of raw atomic operations, and not of a lock. */
export const isFloor = (row) => row.floor ?? row.peer.startsWith('raw');

export const unique = (values) => [...new Set(values)];

export const quiet = (rows) => rows.filter((row) => !row.busy);
export const busy = (rows) => rows.filter((row) => row.busy);
export const several = (rows) => rows.filter((row) => row.threads > 1);

/** The rows of each cell together, the quiet cells first. */
export function cellsOf(rows) {
  const cells = new Map();
  for (const row of [...quiet(rows), ...busy(rows)]) {
    const { threads, section_ns, busy = false } = row;
    const key = JSON.stringify([threads, section_ns, busy]);
    if (!cells.has(key)) cells.set(key, { threads, section_ns, busy, rows: [] });
    cells.get(key).rows.push(row);
  }
  return [...cells.values()];
}

/**
 * Of the rows of a cell, those that no other beats in both, from the shortest wait to the most
 * turns.
 */
export function frontier(rows) {
  const sorted = [...rows].sort((a, b) => a.longest_ns - b.longest_ns || b.ratio - a.ratio);
  let most = -Infinity;
  return sorted.filter((row) => {
    const better = row.ratio > most;
    if (better) most = row.ratio;
    return better;
  });
}

/** How long a lock is held, in words. Between two turns it is not held for as long. */
export function heldFor(ns) {
  if (ns === 0) return 'an increment';
  return ns < 1000 ? `${ns} ns` : `${ns / 1000} µs`;
}
