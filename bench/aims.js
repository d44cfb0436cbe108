/** What lockword aims at, and whether a run shows it. */

import { busy, cellsOf, heldFor, HERO, isFloor, quiet, unique } from './cells.js';
import { NO_LOCK } from './js/protocol.js';
import { fixed } from './js/table.js';
import { nameOf, NOISE, short, table, time } from './words.js';

/**
 * A lock is called fair here if its luckiest thread gets at most so many turns for each of the
 * unluckiest's.
 */
const FAIR = 3;

const heroOf = (rows) => rows.find((row) => row.peer === HERO);
const most = (rows, field) => Math.max(...rows.map((row) => row[field]));
const claim = (what, aim, measured, isMet) => [what, aim, measured, isMet ? 'yes' : '**no**'];
const atMost = (what, limit, value, tell) =>
  claim(what, `≤ ${tell(limit)}`, tell(value), value <= limit);
const ratio = (n) => fixed(n, 2);

function uncontended(rows) {
  const hero = heroOf(rows);
  const rivals = rows.filter((row) => !isFloor(row) && row.ratio < hero.ratio - NOISE);
  return [
    atMost('uncontended, to the raw cas+exchange', 1.02, hero.ratio, ratio),
    atMost('… to the raw cas+cas', 1.02, hero.owned_ratio, ratio),
    claim(
      '… peers that are faster',
      'none',
      rivals.map((row) => `${row.peer} ${ratio(row.ratio)}`).join(', ') || 'none',
      !rivals.length,
    ),
  ];
}

/** Of some cells, the row that has the most turns to lockword's, in words. */
function furthest(cells, isAsked) {
  const found = cells.flatMap((cell) =>
    cell.rows.filter((row) => row.peer !== HERO && isAsked(row)).map((row) => ({ ...row, cell })),
  );
  const [first] = found.sort((a, b) => b.ratio - a.ratio);
  return (
    first && {
      ratio: first.ratio,
      said: `${ratio(first.ratio)}: ${first.peer}, ${nameOf(first.cell)}`,
    }
  );
}

function turns(cells) {
  const limit = 1.02;
  const isFairAndAhead = (row) => row.peer !== HERO && row.share <= FAIR && row.ratio > limit;
  const ahead = cells.filter((cell) => cell.rows.some(isFairAndAhead));
  const first = furthest(cells, isFairAndAhead);
  const two = furthest(
    cells.filter((cell) => cell.threads === 2),
    () => true,
  );
  return [
    claim(
      `cells in which a fair peer has more than ${limit} × the turns`,
      'none',
      first ? `${ahead.length} of ${cells.length}; at most ${first.said}` : 'none',
      !first,
    ),
    ...(two
      ? [claim('2 threads: most turns of any peer', '≤ 1.05', two.said, two.ratio <= 1.05)]
      : []),
  ];
}

/**
 * The longest of some waits; and, if that is too long, how long the machine stopped threads
 * meanwhile that took no lock.
 */
function wait(what, limit, rows, gaps, field) {
  const [row] = [...rows].sort((a, b) => b[field] - a[field]);
  const gap = gaps.find(
    ({ threads, section_ns, busy }) =>
      threads === row.threads && section_ns === row.section_ns && !busy,
  );
  const [name, aim, measured, verdict] = atMost(what, limit, row[field], time);
  const blame = row[field] > limit && gap ? `; the machine alone ${time(gap[field])}` : '';
  return [name, aim, measured + blame, verdict];
}

function waits(cells, gaps) {
  const sections = [0, 180];
  const brief = (threads) =>
    cells
      .filter((cell) => cell.threads === threads && sections.includes(cell.section_ns))
      .map((cell) => heroOf(cell.rows));
  const many = brief(16);
  const few = brief(4);
  const held = sections.map(heldFor).join(' and ');
  return [
    ...(many.length
      ? [
          atMost(`16 threads, ${held}: share`, 2.5, most(many, 'share'), short),
          wait('… longest wait, median round', 0.5e6, many, gaps, 'longest_ns'),
          wait('… longest wait, worst round', 2e6, many, gaps, 'worst_ns'),
        ]
      : []),
    ...(few.length
      ? [wait(`4 threads, ${held}: longest wait, median round`, 0.1e6, few, gaps, 'longest_ns')]
      : []),
  ];
}

function load(cells) {
  const heroes = cells.map((cell) => heroOf(cell.rows));
  return heroes.length
    ? [atMost('a busy thread on each CPU: share', 10, most(heroes, 'share'), short)]
    : [];
}

/** What blocked threads cost; nothing of a run before this was measured. */
function asleep(rows = []) {
  const heroes = rows.filter((row) => row.peer === HERO);
  const crowd = heroes.filter((row) => row.waiters === 64);
  if (!crowd.length) return [];
  const switches = Math.max(...heroes.map((row) => row.wakings / row.waiters));
  const late = worst(
    heroes.filter((row) => row.waiters === 1),
    (row) => {
      const peers = rows.filter((each) => each.peer !== HERO && each.operation === row.operation);
      return row.late_p90_ns / Math.min(...peers.map((peer) => peer.late_p90_ns));
    },
    (row) => row.operation,
  );
  return [
    ...claimWorst('CPUs busy: how late one waiter runs, 90 %, × the best peer’s', 1.5, late),
    atMost(
      'blocked behind an idle holder: context switches a second and waiter',
      2,
      switches,
      ratio,
    ),
    atMost('… CPU time of 64', 0.001, most(crowd, 'cpu'), (share) => `${fixed(share * 100, 2)} %`),
  ];
}

/** The row of the largest value, and that value in words. */
function worst(rows, valueOf, nameOf) {
  const found = rows.map((row) => ({ value: valueOf(row), name: nameOf(row) }));
  return found.filter(({ value }) => value > 0).sort((a, b) => b.value - a.value)[0];
}

const claimWorst = (what, limit, found) =>
  found
    ? [
        claim(
          what,
          `≤ ${ratio(limit)}`,
          `${ratio(found.value)}: ${found.name}`,
          found.value <= limit,
        ),
      ]
    : [];

const COSTS = { ns: 'time', cpu_ns: 'CPU time', switches: 'context switches' };

/**
 * Waking one of many: what it costs beside few waiters, and beside the best peer that lets nearly
 * all of them have a turn. A run before this was measured does not say which do.
 */
function herd(rows = [], unit) {
  const [few, many] = [Math.min, Math.max].map((pick) => pick(...rows.map((row) => row.waiters)));
  const costs = Object.keys(COSTS).flatMap((cost) =>
    rows
      .filter((row) => row.peer.startsWith(HERO) && row.waiters === many)
      .map((row) => ({ ...row, cost })),
  );
  const of = (row) =>
    rows.filter((other) => other.kind === row.kind && other.operation === row.operation);
  const name = (row) => `${COSTS[row.cost]}, ${row.operation}, ${row.kind}`;
  const toFew = (row) =>
    row[row.cost] /
    of(row).find((other) => other.peer === row.peer && other.waiters === few)[row.cost];
  const toBest = (row) =>
    row[row.cost] /
    Math.min(
      ...of(row)
        .filter(({ peer, waiters }) => !peer.startsWith(HERO) && waiters === many)
        .filter(({ served = 1 }) => served >= 0.9)
        .map((other) => other[row.cost]),
    );
  return [
    ...claimWorst(
      `waking one of ${many} blocked ${unit}s, to one of ${few}`,
      1.3,
      worst(costs, toFew, name),
    ),
    ...claimWorst('… to the best peer that serves all', 1.2, worst(costs, toBest, name)),
  ];
}

/** The semaphore and the read-write lock, beside the mutex of the same run. */
function fair(rows = []) {
  const heroes = rows.filter((row) => row.peer === HERO);
  const mutex = heroes.filter((row) => row.operation === 'mutex');
  const others = heroes.filter((row) => row.operation !== 'mutex');
  const name = (row) => `${row.operation}, ${nameOf(row)}`;
  const toMutex = (row) =>
    row.longest_ns /
    mutex.find(
      ({ threads, section_ns, busy }) =>
        threads === row.threads && section_ns === row.section_ns && busy === row.busy,
    ).longest_ns;
  return [
    ...claimWorst(
      'semaphore and read-write lock: share',
      2.5,
      worst(others, (row) => row.share, name),
    ),
    ...claimWorst("… longest wait, to the mutex's", 1, worst(others, toMutex, name)),
  ];
}

/** What a main thread can wait for, beside workers that relock. */
function beside(rows = []) {
  const heroes = rows.filter((row) => row.peer.startsWith(HERO));
  if (!heroes.length) return [];
  const least = Math.min(...heroes.map((row) => row.p99_us));
  const longest = worst(
    heroes,
    (row) => row.p99_us,
    (row) => row.peer,
  );
  return [
    claim(
      'main thread beside relocking workers: p99',
      `≤ ${time(12e6)}`,
      `${time(longest.value * 1e3)}: ${longest.name}`,
      longest.value <= 12e3,
    ),
    ...claimWorst('… the longest to the shortest', 2, {
      value: longest.value / least,
      name: longest.name,
    }),
  ];
}

/** Many calls in one event loop. A cell that was ended counts with the time at which it was. */
function queued(rows = []) {
  const heroes = rows.filter(
    (row) => 'limit_us' in row && !/^(async-mutex|promise)/.test(row.peer),
  );
  const us = (row) => row.us ?? row.limit_us;
  const flat = unique(heroes.map((row) => row.peer)).map((peer) => {
    const [fewest, ...more] = heroes.filter((row) => row.peer === peer);
    return { peer, value: Math.max(0, ...more.map(us)) / us(fewest) };
  });
  const name = (row) => `${row.peer}, ${row.length.toLocaleString('en')}`;
  return [
    ...claimWorst(
      'calls in one event loop: time of each if many wait, to ten',
      2,
      worst(
        flat,
        (row) => row.value,
        (row) => row.peer,
      ),
    ),
    ...claimWorst(
      '… to async-mutex',
      2,
      worst(heroes, (row) => row.ratio, name),
    ),
    ...claimWorst(
      '… kB of memory',
      1,
      worst(heroes, (row) => row.bytes / 1e3, name),
    ),
  ];
}

/**
 * Beside event loops that never turn: the waits of the others; of the machine's, those of a thread
 * that takes no lock.
 */
function besideBusy(rows = []) {
  const longest = (peer) =>
    Math.max(...rows.filter((row) => row.peer === peer).map((row) => row.longest_ns));
  const hero = longest(HERO);
  if (!(hero >= 0)) return [];
  const limit = 20e6;
  const [what, aim, measured, verdict] = atMost(
    'mutex, beside busy event loops: longest wait',
    limit,
    hero,
    time,
  );
  return [
    [
      what,
      aim,
      measured + (hero > limit ? `; the machine alone ${time(longest(NO_LOCK))}` : ''),
      verdict,
    ],
  ];
}

function async({ handoff, relocking }) {
  const bare = handoff.find((row) => row.way.includes('waitAsync'));
  const hero = handoff.find((row) => row.way.startsWith(HERO));
  const relocked = relocking.filter((row) => row.peer === HERO);
  return [
    ...(bare && hero
      ? [
          atMost(
            'hand-off to `lockAsync`, to a bare `waitAsync`',
            1.2,
            hero.median_us / bare.median_us,
            ratio,
          ),
        ]
      : []),
    atMost(
      '`lockAsync` beside workers that relock at once: p99',
      5e6,
      most(relocked, 'p99_us') * 1e3,
      time,
    ),
  ];
}

/** Event loops in C; nothing of a run before these were measured. */
function loops(all) {
  if (!all) return [];
  const wakes = all.wake.filter((row) => row.way === HERO);
  return [
    ...claimWorst(
      'event loop in C: unlock to callback, to an eventfd alone',
      1.15,
      worst(
        wakes,
        (row) => row.ratio,
        (row) => `${row.cpu} CPU`,
      ),
    ),
    atMost('… a request that queues and is cancelled', 60, all.cancel_ns, time),
    ...claimWorst(
      '… a grant, to one of ten that wait',
      1.3,
      worst(
        all.grants,
        (row) => row.ratio,
        (row) => `${row.waiting.toLocaleString('en')} waiting`,
      ),
    ),
    atMost('… beside a thread that relocks: p99', 2e6, all.beside.p99_ns, time),
    atMost('… CPU time of a second of waiting', 1e6, all.idle.cpu_ns, time),
  ];
}

/** Locks among processes. */
function regions(all) {
  if (!all) return [];
  const of = (peer) => all.peers.find((row) => row.peer === peer);
  const hero = of(HERO);
  return [
    atMost('a lock of a region, to one of the process', 1.1, hero.ns / all.peers[0].ns, ratio),
    atMost('… from SIGKILL of the holder to the next: median', 100e3, hero.death_us * 1e3, time),
    atMost('… p99', 5e6, hero.death_p99_us * 1e3, time),
    atMost('… finding a name among 1,000', 1000, all.names.find_ns, time),
  ];
}

/** What the family's operations in JavaScript may cost, to others of the same table. */
const FAMILY = [
  ['Mutex lock, unlock', 1.08],
  ['RecursiveMutex twice', 2.5],
  ['Semaphore acquire, release', 1.4],
  ['RWLock read, unlock', 1.4],
  ['RWLock write, unlock', 1.4],
  ['Event set, reset', 1.4],
  ['WaitGroup add, done', 1.4],
  ['Counter up, down', 1.4],
  ['Mutex lockAsync, unlock', 0.5, 'async-mutex acquire, release'],
  ['Mutex runExclusive', 0.5, 'async-mutex runExclusive'],
];

/** From one process of Node to the next, beside two workers of one. */
function processes(all) {
  const rows = all?.peers.filter(({ peer }) => peer.startsWith('lockword-region: ')) ?? [];
  return rows.map((row) =>
    atMost(
      `from a Node process to the next, to workers of one: ${row.peer.split(' ').at(-1)}`,
      2,
      row.handoff_ratio,
      ratio,
    ),
  );
}

function family(rows) {
  const costs = Object.fromEntries(rows.map((row) => [row.operation, row.ratio]));
  return FAMILY.map(([operation, limit, to = 'raw cas, exchange']) =>
    atMost(
      `JavaScript, uncontended: ${operation}, to ${to}`,
      limit,
      costs[operation] / costs[to],
      ratio,
    ),
  );
}

/** What is claimed, what it is to reach, what a run measured, and whether that is reached. */
function claimsOf({ native, loops: inLoops, regions: inRegions, node: inNode, js }) {
  const cells = cellsOf(quiet(native.contended));
  return [
    ...uncontended(native.uncontended),
    ...turns(cells),
    ...waits(cells, native.gaps ?? []),
    ...load(cellsOf(busy(native.contended))),
    ...asleep(native.asleep),
    ...herd(native.herd, 'thread'),
    ...fair(native.fair),
    ...loops(inLoops),
    ...regions(inRegions),
    ...processes(inNode),
    ...family(js.family),
    ...async(js),
    ...beside(js.beside),
    ...besideBusy(js.busy),
    ...herd(js.herd, 'worker'),
    ...queued(js.queued),
  ];
}

/** The claims by their names. A name that begins with … goes on from one that does not. */
function byName(claims) {
  let begun;
  return new Map(
    claims.map((row) => {
      if (!row[0].startsWith('…')) begun = row[0];
      return [`${begun} ${row[0]}`, row];
    }),
  );
}

/** A row for each aim, and in it two cells for each run. */
export function aims({ runs }) {
  const claims = runs.map((run) => byName(claimsOf(run)));
  const all = new Map(claims.flatMap((of) => [...of]));
  const rows = [...all].map(([name, [what, aim]]) => [
    what,
    aim,
    ...claims.flatMap((of) => of.get(name)?.slice(2) ?? ['not measured', '']),
  ]);
  const heads = runs.flatMap(({ machine }) => [`measured: ${machine.cpu}`, '']);
  return table([['', 'to reach', ...heads], ...rows], true);
}
