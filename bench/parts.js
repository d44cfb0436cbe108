/**
 * The parts of docs/benchmarks.md, and of README.md, that a run's figures make: by the name that
 * their markers give.
 */

import { aims } from './aims.js';
import {
  busy,
  cellsOf,
  frontier,
  heldFor,
  HERO,
  isFloor,
  quiet,
  several,
  unique,
} from './cells.js';
import {
  busyColumns,
  cellColumns,
  familyColumns,
  handOffColumns,
  moduleColumns,
  nodeColumns,
  pairColumns,
  peerOf,
  programColumns,
  relockColumns,
} from './columns.js';
import { usOf } from './js/queue.js';
import { fixed } from './js/table.js';
import {
  bold,
  fold,
  list,
  nameOf,
  NOISE,
  short,
  table,
  tableOf,
  threadsOf,
  time,
} from './words.js';

/** A part of these figures, which a run may not have: `native.herd`, say. */
const measured = (path, part) => (run) => {
  const figures = path.split('.').reduce((at, name) => at?.[name], run);
  return figures && figures.length !== 0 ? part(figures) : 'Not measured in this run.';
};

function machine({ machine: about, native, js }) {
  const versions = Object.entries(about.peers).filter(([, version]) => version);
  const { rounds, seconds, pair_rounds: pairs } = native;
  const [least, most] = [Math.min, Math.max].map((pick) => pick(...native.round_trip_ns));
  return list([
    `${about.cpu}: ${about.cpus} CPUs${about.virtual ? ', in a virtual machine' : ''}; ${about.kernel}`,
    [about.compiler, `Node ${js.node.replace('v', '')}`].filter(Boolean).join('; '),
    versions.map(([name, version]) => `${name} ${version}`).join('; '),
    `${about.date}: ${rounds} rounds of ${seconds} s a contended cell and lock, ${pairs} rounds of uncontended pairs`,
    `${js.date ?? about.date}: in JavaScript ${js.rounds} and ${js.pairRounds} rounds`,
    `a word's round trip between two CPUs meanwhile: from ${fixed(least, 0)} to ${fixed(most, 0)} ns`,
  ]);
}

/**
 * One line for each lock of these cells: how often it is on the frontier, and the worst that its
 * users see.
 */
function summaryOf(cells) {
  const peers = unique(cells.flatMap((cell) => cell.rows.map((row) => row.peer)));
  const fronts = cells.map((cell) => frontier(cell.rows).map((row) => row.peer));
  const lines = peers.map((peer) => {
    const rows = cells.map((cell) => cell.rows.find((row) => row.peer === peer)).filter(Boolean);
    const mean = Math.exp(rows.reduce((sum, row) => sum + Math.log(row.ratio), 0) / rows.length);
    return {
      count: fronts.filter((front) => front.includes(peer)).length,
      line: [
        bold(peer, peer === HERO),
        fixed(mean, 2),
        short(Math.max(...rows.map((row) => row.share))),
        time(Math.max(...rows.map((row) => row.longest_ns))),
      ],
    };
  });
  return lines.sort((a, b) => b.count - a.count);
}

const WORST = ['turns, mean ratio to lockword', 'largest share', 'largest longest wait'];

function summaryOfRun({ machine: { cpu, date }, native }) {
  const cells = cellsOf(several(quiet(native.contended)));
  const lines = summaryOf(cells).map(({ count, line: [peer, ...worst] }) => [
    peer,
    `${count}`,
    ...worst,
  ]);
  const head = ['', `on the frontier, of ${cells.length} cells`, ...WORST];
  return `*${cpu}*, ${date}:\n\n${table([head, ...lines])}`;
}

const summary = ({ runs }) => runs.map(summaryOfRun).join('\n\n');

function cellTable(cell, gaps) {
  const front = frontier(cell.rows);
  const gap = gaps?.find(
    (row) =>
      row.threads === cell.threads && row.section_ns === cell.section_ns && row.busy === cell.busy,
  );
  const rows = [...cell.rows, ...(gap ? [{ peer: '*the machine*', ...gap }] : [])];
  return tableOf(rows, cellColumns(front));
}

/** All tables, folded by how long the lock is held. */
function cellTables(rows, gaps, unit) {
  const cells = cellsOf(rows);
  return unique(cells.map((cell) => cell.section_ns))
    .map((section) => {
      const tables = cells
        .filter((cell) => cell.section_ns === section)
        .map((cell) => `**${threadsOf(cell, unit)}**\n\n${cellTable(cell, gaps)}`);
      return fold(`held for ${heldFor(section)}`, tables.join('\n\n'));
    })
    .join('\n\n');
}

const uncontended = ({ native }) =>
  tableOf(native.uncontended, [
    ['', (row) => (isFloor(row) ? `*${row.peer}*` : bold(row.peer, row.peer === HERO))],
    ['ns', (row) => fixed(row.ns, 2)],
    ['× cas+exchange', (row) => fixed(row.ratio, 3)],
    ['× cas+cas', (row) => fixed(row.owned_ratio, 3)],
    ['with an increment: ns', (row) => fixed(row.increment_ns, 2)],
    ['× cas+exchange', (row) => fixed(row.increment_ratio, 3)],
    ['× cas+cas', (row) => fixed(row.increment_owned_ratio, 3)],
  ]);

const operationsOf = (rows) =>
  unique(rows.map((row) => row.operation)).map((name) => ({
    name,
    rows: rows.filter((row) => row.operation === name),
  }));
const nsOf = (ns) => (ns < 100 ? fixed(ns, 2) : fixed(ns, 0));

function family({ native }) {
  const rows = operationsOf(native.family).map(({ name, rows: all }) => {
    const floor = all.find(isFloor);
    const hero = all.find((row) => row.peer === HERO);
    const peers = all
      .filter((row) => !isFloor(row) && row.peer !== HERO)
      .sort((a, b) => a.ns - b.ns);
    const others = peers.map((row) => `${row.peer} ${nsOf(row.ns)}`).join('; ');
    return [name, hero ? nsOf(hero.ns) : '', floor ? nsOf(floor.ns) : '', others];
  });
  return table([['', 'lockword, ns', 'raw atomics', 'peers'], ...rows], true);
}

/** What blocked threads cost. */
function asleep(all) {
  const crowds = unique(all.map((row) => row.waiters));
  const rows = operationsOf(all).flatMap(({ name, rows }) =>
    unique(rows.map((row) => row.peer)).map((peer, k) => [
      k === 0 ? name : '',
      bold(peer, peer === HERO),
      ...crowds.flatMap((waiters) => {
        const { wakings, cpu } = rows.find((row) => row.peer === peer && row.waiters === waiters);
        return [short(wakings), `${fixed(cpu * 100, 2)} %`];
      }),
      ...['late_p50_ns', 'late_p90_ns', 'late_mean_ns'].map((late) => {
        const ns = rows.find((row) => row.peer === peer)[late];
        return ns === undefined ? '' : time(ns);
      }),
    ]),
  );
  const heads = crowds.flatMap((n) => [`${n} waiting: switches/s`, 'CPU']);
  return table([['', '', ...heads, 'CPUs busy: late, median', '90 %', 'mean'], ...rows]);
}

/** What it costs to wake one of many: a table for each kind. Few peers let all have a turn. */
const herds = (unit) => (rows) => {
  const crowds = unique(rows.map((row) => row.waiters));
  const lines = (kind) =>
    operationsOf(rows.filter((row) => row.kind === kind)).flatMap(({ name, rows: all }) =>
      unique(all.map((row) => row.peer)).map((peer, k) => [
        k === 0 ? name : '',
        bold(peer, peer.startsWith(HERO)),
        ...crowds.map((waiters) => {
          const row = all.find((each) => each.peer === peer && each.waiters === waiters);
          const served = row.served < 0.995 ? [`${fixed(row.served * 100, 0)} % served`] : [];
          return [time(row.ns), time(row.cpu_ns), short(row.switches), ...served].join('; ');
        }),
      ]),
    );
  return unique(rows.map((row) => row.kind))
    .map((kind) => {
      const heads = crowds.map((n) => `${n} ${unit}s: time; CPU; switches`);
      const title = `*${kind[0].toUpperCase()}${kind.slice(1)}:*`;
      return `${title}\n\n${table([['', '', ...heads], ...lines(kind)])}`;
    })
    .join('\n\n');
};

/** The semaphore's and the read-write lock's cells: the worst of them, and all. */
function fair(all) {
  const contests = operationsOf(all);
  const worst = contests.flatMap(({ name, rows }) =>
    summaryOf(cellsOf(rows)).map(({ line }, k) => [k === 0 ? name : '', ...line]),
  );
  const cells = ({ name, rows }) =>
    fold(
      name,
      cellsOf(rows)
        .map((cell) => `**${nameOf(cell)}**\n\n${cellTable(cell)}`)
        .join('\n\n'),
    );
  return [table([['', '', ...WORST], ...worst]), ...contests.map(cells)].join('\n\n');
}

const jsFamily = ({ js }) => fold('The rest of the family', tableOf(js.family, familyColumns));

const jsBusy = (all) =>
  unique(all.map((row) => row.crowd))
    .map((crowd) => {
      const rows = tableOf(
        all.filter((row) => row.crowd === crowd),
        busyColumns,
      );
      return `*${crowd[0].toUpperCase()}${crowd.slice(1)}:*\n\n${rows}`;
    })
    .join('\n\n');

function jsQueued(all) {
  const lengths = unique(all.map((row) => row.length));
  const cell = (row) => {
    if (!row) return '';
    const ratio = row.ratio === null ? '' : ` (× ${fixed(row.ratio, 2)})`;
    const bytes = row.bytes === null ? '' : `; ${short(row.bytes)} B`;
    return `${usOf(row.us, row)}${ratio}; ${usOf(row.turned_us, row)}${bytes}`;
  };
  return table([
    ['', ...lengths.map((length) => `${length.toLocaleString('en')} calls`)],
    ...unique(all.map((row) => row.peer)).map((peer) => [
      peer,
      ...lengths.map((length) =>
        cell(all.find((row) => row.peer === peer && row.length === length)),
      ),
    ]),
  ]);
}

/** Event loops in C: how soon one hears of an unlock, and what is in a list. */
function loops(all) {
  const [cpus, ways] = ['cpu', 'way'].map((field) => unique(all.wake.map((row) => row[field])));
  const wake = ways.map((way) => [
    bold(way, way === HERO),
    ...cpus.flatMap((cpu) => {
      const row = all.wake.find((each) => each.way === way && each.cpu === cpu);
      return [time(row.ns), time(row.p99_ns), fixed(row.ratio, 2)];
    }),
  ]);
  const peers = Object.entries(all.run.peers).filter(([, version]) => version);
  return [
    table([['', ...cpus.flatMap((cpu) => [`${cpu} CPU: median`, 'p99', 'ratio'])], ...wake]),
    list([
      `a request that queues and is cancelled: ${time(all.cancel_ns)}; of memory it takes ${all.request_bytes} bytes, the caller's, and a loop ${all.loop_bytes}; nothing is allocated`,
      `beside a thread that relocks without a gap: ${time(all.beside.ns)} in the median, p99 ${time(all.beside.p99_ns)}`,
      `a second of waiting: ${time(all.idle.cpu_ns)} of CPU time, ${all.idle.events} events`,
      [
        all.run.date + (all.run.realtime ? ', at a real-time priority' : ''),
        ...peers.map(([name, version]) => `${name} ${version}`),
      ].join('; '),
    ]),
  ].join('\n\n');
}

/** The columns of the time from a death to the next holder. */
const deathOf = (what) => [
  [
    `${what}: median`,
    (row) => (row.death_us ? time(row.death_us * 1e3) : row.shares ? 'never' : ''),
  ],
  ['p99', (row) => (row.death_us ? time(row.death_p99_us * 1e3) : row.shares ? 'never' : '')],
];

/** Read-write locks between processes. */
const regionReaders = (rows) =>
  tableOf(rows, [
    ['', peerOf],
    ['read, unlock', (row) => time(row.read_ns)],
    ['write, unlock', (row) => time(row.write_ns)],
    ...deathOf("a writer's SIGKILL to the next"),
  ]);

/** Locks among processes: alone, after a death, contended. */
function regions(all) {
  const raw = all.peers.find((row) => row.peer === HERO).ns;
  const sizes = unique(all.contended.map((row) => row.processes));
  const heroes = all.contended.filter((row) => row.peer === HERO);
  const cell = (peer, processes) => {
    const row = all.contended.find((each) => each.peer === peer && each.processes === processes);
    const hero = heroes.find((each) => each.processes === processes);
    return [fixed(row.turns / hero.turns, 2), short(row.share), time(row.longest_ms * 1e6)];
  };
  return [
    tableOf(all.peers, [
      ['', (row) => bold(row.peer, row.peer === HERO)],
      ['lock, increment, unlock', (row) => time(row.ns)],
      ['× lockword', (row) => fixed(row.ns / raw, 2)],
      ...deathOf('SIGKILL to the next'),
    ]),
    table([
      ['', ...sizes.flatMap((n) => [`${n} processes: turns, × lockword`, 'share', 'longest wait'])],
      ...all.peers
        .filter((row) => row.shares)
        .map(({ peer }) => [bold(peer, peer === HERO), ...sizes.flatMap((n) => cell(peer, n))]),
    ]),
    list([
      `a region with ${all.names.names.toLocaleString('en')} names: ${time(all.names.open_us * 1e3)} to open it, ${time(all.names.find_ns)} to find a name`,
      all.date,
    ]),
  ].join('\n\n');
}

/** What a grant costs, however many wait. */
function loopGrants(all) {
  const lengths = unique(all.grants.map((row) => row.waiting));
  return table([
    ['', ...lengths.map((length) => `${length.toLocaleString('en')} waiting`)],
    ...unique(all.grants.map((row) => row.locks)).map((locks) => [
      locks === 1 ? 'for one mutex' : `for up to ${locks.toLocaleString('en')} mutexes`,
      ...all.grants
        .filter((row) => row.locks === locks)
        .map((row) => `${time(row.ns)} (${fixed(row.ratio, 2)})`),
    ]),
  ]);
}

/** All measurements in which another library did better, however little. */
function better({ native, js }) {
  const contended = (rows, unit) =>
    cellsOf(rows).flatMap((cell) => {
      const hero = cell.rows.find((row) => row.peer === HERO);
      const others = cell.rows.filter((row) => row !== hero);
      const turns = others
        .filter((row) => row.ratio > 1 + NOISE)
        .sort((a, b) => b.ratio - a.ratio)
        .map((row) => `${row.peer} ${fixed(row.ratio, 2)} × (share ${short(row.share)})`);
      // A lone thread does not wait for others: its longest wait is the machine's.
      const waits = others
        .filter((row) => cell.threads > 1 && row.longest_ns < hero.longest_ns)
        .sort((a, b) => a.longest_ns - b.longest_ns)
        .map((row) => `${row.peer} ${time(row.longest_ns)}`);
      if (waits.length) waits.push(`lockword ${time(hero.longest_ns)}`);
      return turns.length || waits.length
        ? [[nameOf(cell, unit), turns.join('<br>'), waits.join('<br>')]]
        : [];
    });
  const heads = ['', 'more turns', 'a shorter longest wait'];
  const cells = (rows, unit, none) => {
    const found = contended(rows, unit);
    return found.length ? table([heads, ...found], true) : none;
  };
  /** Peers that take less time than lockword for the same, and what part of it. */
  const faster = (what, rows, field = 'ratio') => {
    const hero = rows.find((row) => row.peer === HERO);
    const peers = rows
      .filter((row) => hero && !isFloor(row) && row[field] / hero[field] < 1 - NOISE)
      .sort((a, b) => a[field] - b[field]);
    return peers.length
      ? [[what, peers.map((row) => `${row.peer} ${fixed(row[field] / hero[field], 2)}`).join(', ')]]
      : [];
  };
  const alone = [
    ...faster('mutex', native.uncontended),
    ...faster('mutex, an increment between', native.uncontended, 'increment_ratio'),
    ...operationsOf(native.family).flatMap(({ name, rows }) => faster(name, rows)),
    ...faster('JavaScript: mutex', js.uncontended),
  ];
  return [
    '**Uncontended**',
    alone.length ? table([['', "its time, lockword's being 1"], ...alone], true) : 'Nobody.',
    '**Contended, native**',
    cells(quiet(native.contended), 'thread', 'Nobody.'),
    '**With a busy thread on each CPU**',
    cells(busy(native.contended), 'thread', 'Nobody.'),
    '**Contended, JavaScript**',
    cells(js.contended, 'worker', 'Nobody.'),
  ].join('\n\n');
}

/** README.md's: 16 threads, an increment and 180 ns. */
function alternatives({ native }) {
  const at = (peer, section) =>
    quiet(native.contended).find(
      (row) => row.peer === peer && row.threads === 16 && row.section_ns === section,
    );
  const locks = native.uncontended.filter(
    (row) => !isFloor(row) && row.peer !== 'C11 mtx' && at(row.peer, 0) && at(row.peer, 180),
  );
  locks.sort(
    (a, b) =>
      (b.peer === HERO) - (a.peer === HERO) || at(a.peer, 0).longest_ns - at(b.peer, 0).longest_ns,
  );
  const columns = (section, what) => [
    [`${what}: turns, × lockword`, (row) => fixed(at(row.peer, section).ratio, 2)],
    ['share', (row) => short(at(row.peer, section).share)],
    ['longest wait', (row) => time(at(row.peer, section).longest_ns)],
  ];
  return tableOf(locks, [
    ['', (row) => bold(row.peer, row.peer === HERO)],
    ['uncontended, × raw cas+exchange', (row) => fixed(row.ratio, 2)],
    ...columns(0, '16 threads, an increment'),
    ...columns(180, '180 ns in and out'),
  ]);
}

/** Which simulated machine, in words. */
const machineOf = ({ cpus, sockets, threads }) =>
  `${cpus} CPUs${sockets > 1 ? ` on ${sockets} sockets` : ''}, ${threads} threads`;

function simulatedCosts({ simulated: { ms, seed, costs } }) {
  const ns = Object.entries(costs).map(([name, cost]) => `\`${name}\` ${cost}`);
  return `Each cell is ${ms} ms of virtual time, from seed ${seed}. The costs, in ns: ${ns.join(', ')}.`;
}

/** Turns, share, longest wait and transfers, folded by how long the lock is held. */
function simulated({ simulated: { cells } }) {
  const peers = unique(cells.map((cell) => cell.peer));
  const figures = ({ mops, share, longest_ns: longest, transfers }) =>
    [mops.toPrecision(2), short(share), time(longest), fixed(transfers, 1)].join('; ');
  return unique(cells.map((cell) => cell.section_ns))
    .map((section) => {
      const rows = cells.filter((cell) => cell.section_ns === section);
      const lines = unique(rows.map(machineOf)).map((machine) => [
        machine,
        ...peers.map((peer) => {
          const cell = rows.find((row) => row.peer === peer && machineOf(row) === machine);
          return cell ? figures(cell) : '';
        }),
      ]);
      const head = ['', ...peers.map((peer) => bold(peer, peer === HERO))];
      return fold(`held for ${heldFor(section)}`, table([head, ...lines]));
    })
    .join('\n\n');
}

/** What a process and a page pay before anybody waits. */
const startup = (all) =>
  [
    tableOf(all.programs, programColumns(all.programs[0])),
    tableOf(all.modules, moduleColumns(all.modules[0])),
    list([`Node ${all.node.slice(1)}`, all.date]),
  ].join('\n\n');

/** Locks among Node processes beside a bare mutex of workers. */
const node = (all) =>
  [
    tableOf(all.peers, nodeColumns(all.crowd)),
    list([
      `Node ${all.node.slice(1)}; a time-to-live of ${all.ttl} s where a lock expires`,
      Object.entries(all.versions)
        .map(([name, version]) => `${name} ${version}`)
        .join('; '),
      ...Object.entries(all.missing).map(([peer, why]) => `without ${peer}: ${why}`),
      all.date,
    ]),
  ].join('\n\n');

/** Locks on etcd beside a region: a turn, a hand-off and a death. */
function leases(all) {
  const [region] = all.peers;
  const columns = (field, what, most) => [
    [`${what}: median`, (row) => time(row[`${field}_ns`])],
    [most, (row) => time(row[`${field}_${most}_ns`])],
    ['× region', (row) => short(row[`${field}_ns`] / region[`${field}_ns`])],
  ];
  return [
    tableOf(all.peers, [
      ['', (row) => bold(row.peer, row === region)],
      ...columns('turn', 'a turn alone', 'p99'),
      ...columns('handoff', 'unlock to the next', 'p99'),
      ...columns('death', 'SIGKILL to the next', 'longest'),
    ]),
    list([`a time-to-live of ${all.ttl} s; etcd ${all.etcd}`, all.date]),
  ].join('\n\n');
}

export const parts = {
  machine,
  aims,
  summary,
  contended: ({ native }) => cellTables(quiet(native.contended), native.gaps, 'thread'),
  busy: ({ native }) => cellTables(busy(native.contended), native.gaps, 'thread'),
  uncontended,
  family,
  asleep: measured('native.asleep', asleep),
  herd: measured('native.herd', herds('thread')),
  fair: measured('native.fair', fair),
  loops: measured('loops', loops),
  'loop-grants': measured('loops', loopGrants),
  regions: measured('regions', regions),
  'region-readers': measured('regions.rwlocks', regionReaders),
  node: measured('node', node),
  leases: measured('leases', leases),
  startup: measured('startup', startup),
  'js-uncontended': ({ js }) => tableOf(js.uncontended, pairColumns),
  'js-family': jsFamily,
  'js-contended': ({ js }) => cellTables(js.contended, undefined, 'worker'),
  'js-handoff': ({ js }) => tableOf(js.handoff, handOffColumns),
  'js-relocking': ({ js }) => tableOf(js.relocking, relockColumns),
  'js-beside': measured('js.beside', (rows) => tableOf(rows, relockColumns)),
  'js-busy': measured('js.busy', jsBusy),
  'js-herd': measured('js.herd', herds('worker')),
  'js-queued': measured('js.queued', jsQueued),
  better,
  alternatives,
  simulated,
  'simulated-costs': simulatedCosts,
};
