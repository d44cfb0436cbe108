/**
 * The columns of tables that a terminal and docs/benchmarks.md show: for each its head, and the
 * cell of a row.
 */

import { HERO } from './cells.js';
import { fixed } from './js/table.js';
import { bold, short, time } from './words.js';

export const peerOf = (row) => bold(row.peer, row.peer.startsWith(HERO));

/** The cell, or nothing where a row does not have the field. */
const ifThere = (field, cell) => (row) => (row[field] === undefined ? '' : cell(row));
const timeOf = (field, ns = 1) => ifThere(field, (row) => time(row[field] * ns));
const fixedOf = (field, digits) => ifThere(field, (row) => fixed(row[field], digits));

export const pairColumns = [
  ['', (row) => bold(row.peer, row.peer === HERO)],
  ['ns', fixedOf('ns', 2)],
  ['× cas+exchange', fixedOf('ratio', 3)],
];

export const familyColumns = [['', (row) => row.operation], ...pairColumns.slice(1)];

/** Of a contended cell. What the machine alone did is a row, too, without a lock's figures. */
export const cellColumns = (front) => [
  ['', (row) => bold(row.peer, front.includes(row))],
  ['million turns/s', ifThere('mops', (row) => fixed(row.mops, row.mops < 1 ? 4 : 2))],
  ['× lockword', fixedOf('ratio', 2)],
  ['share', ifThere('share', (row) => short(row.share))],
  ['p50', timeOf('p50_ns')],
  ['p99', timeOf('p99_ns')],
  ['longest', timeOf('longest_ns')],
  ['worst', timeOf('worst_ns')],
  ['CPUs', fixedOf('cpus_used', 2)],
  ['CPU per turn', ifThere('cpus_used', (row) => time((row.cpus_used / row.mops) * 1e3))],
];

export const handOffColumns = [
  ['', (row) => row.way],
  ['median', timeOf('median_us', 1e3)],
  ['p99', timeOf('p99_us', 1e3)],
];

/** A main thread beside workers that relock. */
export const relockColumns = [
  ['', peerOf],
  ['workers that relock', (row) => `${row.workers}`],
  ['turns of the main thread/s', fixedOf('turns_per_s', 0)],
  ['median wait', timeOf('median_us', 1e3)],
  ['p99', timeOf('p99_us', 1e3)],
  ['worst', timeOf('worst_us', 1e3)],
  [
    'million turns/s of the workers',
    (row) => fixed(row.worker_mops, row.worker_mops < 0.05 ? 4 : 2),
  ],
];

/** Beside event loops that never turn. */
export const busyColumns = [
  ['', peerOf],
  ['longest wait', timeOf('longest_ns')],
  ['worst', timeOf('worst_ns')],
  ['turns/s of all', (row) => short(row.turns_per_s)],
];

/** Locks among Node processes, and so many of them at once. */
export const nodeColumns = (crowd) => [
  ['', peerOf],
  ['a turn alone', timeOf('ns')],
  ['unlock to the next: median', timeOf('handoff_ns')],
  ['p99', timeOf('handoff_p99_ns')],
  ['× in a process', fixedOf('handoff_ratio', 2)],
  ['SIGKILL to the next: median', timeOf('death_ns')],
  ['longest', timeOf('death_longest_ns')],
  ['CPU of a waiter', (row) => `${fixed(row.cpu * 100, 2)} %`],
  [`${crowd} processes: turns/s`, (row) => short(row.turns_per_s)],
  ['share', (row) => short(row.share)],
  ['longest wait', timeOf('longest_ns')],
];

const nameOf = (row) => bold(row.name, row.name.startsWith(HERO));
const numberOf = (field) => (row) => row[field].toLocaleString('en');

/** What linking a lock costs a program, beside an empty one. */
export const programColumns = (empty) => {
  const more = (field) => (row) => (row[field] - empty[field]).toLocaleString('en');
  return [
    ['', nameOf],
    ['start to end', timeOf('ns')],
    ['first lock, unlock', (row) => (row === empty ? '' : time(row.first_ns))],
    ['code', more('text')],
    ...['data', 'relocations', 'constructors'].map((field) => [field, more(field)]),
  ];
};

/** What importing a lock costs a page, beside an empty module. */
export const moduleColumns = (empty) => [
  ['', nameOf],
  ['import', timeOf('import_ns')],
  ['first lock, unlock', (row) => (row === empty ? '' : time(row.first_ns))],
  ['minified', numberOf('bytes')],
  ['gzipped', numberOf('gzipped')],
];
