/**
 * node bench/js/main.js [--quick | --smoke] [--json FILE] [--only PART,...]: lockword's Mutex
 * beside the other locks of JavaScript, in workers of one process, and what the rest of the family
 * costs. Ratios are taken within a round, where the peers ran side by side, and only then the
 * median of the rounds. PART is a field of the JSON, such as herd.
 */

import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { frontier } from '../cells.js';
import {
  busyColumns,
  cellColumns,
  familyColumns,
  handOffColumns,
  pairColumns,
  relockColumns,
} from '../columns.js';
import { measureBusy, SOME_CROWDS } from './busy.js';
import { Crew, pin } from './crew.js';
import { operations } from './family.js';
import { measureHerd } from './herd.js';
import { contend, handOff, handOffs, operate, pairs, relock, rotated } from './measure.js';
import { peers } from './peers.js';
import { primitives } from './primitives.js';
import { measureQueues, usOf } from './queue.js';
import { median, percentile } from './statistics.js';
import { fixed, sayColumns, sayTable, time } from './table.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    smoke: { type: 'boolean' },
    json: { type: 'string' },
    only: { type: 'string' },
  },
});
const WHOLE = {
  pairRounds: 301,
  familyRounds: 101,
  rounds: 11,
  seconds: 0.2,
  wakes: 40,
  relockSeconds: 1,
  besideRounds: 4,
  busySeconds: 0.5,
  herdRounds: 3,
  herdSeconds: 0.2,
};
const QUICK = {
  pairRounds: 61,
  familyRounds: 31,
  rounds: 3,
  seconds: 0.1,
  wakes: 40,
  relockSeconds: 0.5,
  besideRounds: 1,
  busySeconds: 0.3,
  herdRounds: 1,
  herdSeconds: 0.1,
};
/** Shows only that everything runs: its figures mean nothing. */
const SMOKE = {
  pairRounds: 1,
  familyRounds: 1,
  rounds: 1,
  seconds: 0.01,
  wakes: 1,
  relockSeconds: 0.02,
  besideRounds: 1,
  busySeconds: 0.05,
  herdRounds: 1,
  herdSeconds: 0.01,
};
const settings = (options.smoke && SMOKE) || (options.quick && QUICK) || WHOLE;
const PAIRS = 50_000;
const WARM_UP_ROUNDS = options.smoke ? 0 : 10;
const WORKERS = options.smoke ? [2] : [2, 4, 8];
/** How many workers are blocked on one lock. */
const HERDS = options.smoke ? [2] : [2, 4, 16];
/** ns of work inside the lock, and as much outside. */
const SECTIONS = [0, 180, 15_000];
const RELOCKERS = [1, 2];
/**
 * Workers beside a main thread that waits for more than a mutex; ns that they hold it, and ms until
 * the main thread asks again, so that one of them holds it then.
 */
const BESIDE = 2;
const BESIDE_HOW = { section: 50_000, pause: 1 };
const BESIDE_PEERS = [
  'lockword Semaphore',
  'lockword Semaphore, 3 of 3 permits',
  'lockword RWLock, writing',
  'lockword RWLock, reading beside writers',
];
/** How many calls of one event loop wait at once. */
const QUEUE_LENGTHS = (options.smoke && [10]) ||
  (options.quick && [10, 10_000]) || [10, 10_000, 100_000];

async function startCrews() {
  const crews = [];
  for (const peer of peers) {
    const crew = new Crew(peer);
    try {
      await crew.start(peer.floor ? 1 : Math.max(...WORKERS));
      crews.push(crew);
    } catch (error) {
      console.log(`skipped: ${peer.name} does not run here (${error.message})`);
    }
  }
  return crews;
}

async function measurePairs(crews) {
  const rounds = [];
  for (let round = 0; round < WARM_UP_ROUNDS + settings.pairRounds; round++) {
    const ns = await pairs(crews, round, PAIRS);
    if (round >= WARM_UP_ROUNDS) rounds.push(ns);
  }
  const floor = crews.find((crew) => crew.peer.floor);
  return crews.map((crew) => ({
    peer: crew.peer.name,
    ns: median(rounds.map((ns) => ns.get(crew))),
    ratio: median(rounds.map((ns) => ns.get(crew) / ns.get(floor))),
  }));
}

async function measureFamily() {
  const workers = operations.map(
    ({ name }) =>
      new Worker(new URL('./family-agent.js', import.meta.url), { workerData: { name } }),
  );
  const rounds = [];
  for (let round = 0; round < WARM_UP_ROUNDS + settings.familyRounds; round++) {
    const ns = await operate(workers, round, PAIRS);
    if (round >= WARM_UP_ROUNDS) rounds.push(ns);
  }
  await Promise.all(workers.map((worker) => worker.terminate()));
  const floor = workers[operations.findIndex((operation) => operation.floor)];
  return operations.map(({ name }, k) => ({
    operation: name,
    ns: median(rounds.map((ns) => ns.get(workers[k]))),
    ratio: median(rounds.map((ns) => ns.get(workers[k]) / ns.get(floor))),
  }));
}

async function measureContention(crews, workers, section) {
  const rounds = [];
  for (let round = -1; round < settings.rounds; round++) {
    const rows = await contend(crews, round + crews.length, workers, settings.seconds, section);
    // The first compiles.
    if (round >= 0) rounds.push(rows);
  }
  const reference = crews.find((crew) => crew.peer.name === 'lockword');
  return crews.map((crew) => {
    const column = (name) => rounds.map((rows) => rows.get(crew)[name]);
    return {
      peer: crew.peer.name,
      threads: workers,
      section_ns: section,
      mops: median(column('mops')),
      ratio: median(rounds.map((rows) => rows.get(crew).mops / rows.get(reference).mops)),
      share: median(column('share')),
      p99_ns: median(column('p99')),
      longest_ns: median(column('longest')),
      worst_ns: Math.max(...column('longest')),
    };
  });
}

/** The locks as this thread has them. */
async function attach(crews) {
  // The first worker is pinned to the first CPU. A main thread has its process's id.
  pin(process.pid, 1);
  return new Map(
    await Promise.all(crews.map(async (crew) => [crew, await crew.peer.attach(crew.buffers.lock)])),
  );
}

async function measureRelocking(crews, locks, workers, most = settings.rounds, how) {
  const rounds = [];
  for (let round = 0; round < most; round++) {
    const rows = new Map();
    for (const crew of rotated(crews, round))
      rows.set(
        crew,
        await relock({ crew, lock: locks.get(crew) }, workers, settings.relockSeconds, how),
      );
    rounds.push(rows);
  }
  return crews.map((crew) => {
    const waits = rounds.flatMap((rows) => rows.get(crew).waits);
    return {
      peer: crew.peer.name,
      workers,
      turns_per_s: median(
        rounds.map((rows) => rows.get(crew).waits.length / settings.relockSeconds),
      ),
      median_us: median(waits) * 1e3,
      p99_us: percentile(waits, 0.99) * 1e3,
      worst_us: percentile(waits, 1) * 1e3,
      worker_mops: median(rounds.map((rows) => rows.get(crew).mops)),
    };
  });
}

/** The main thread beside workers that relock, at whatever it can wait for. */
async function measureBeside(crews, locks) {
  const more = [];
  for (const name of BESIDE_PEERS) {
    const peer = primitives.find((primitive) => primitive.name === name);
    const crew = new Crew(peer);
    peer.prepare?.(crew.buffers.lock);
    await crew.start(BESIDE);
    more.push(crew);
  }
  const all = new Map([...locks, ...(await attach(more))]);
  const rows = await measureRelocking(
    [...crews, ...more],
    all,
    BESIDE,
    settings.besideRounds,
    BESIDE_HOW,
  );
  await Promise.all(more.map((crew) => crew.stop()));
  return rows;
}

async function measureHandOffs(crews, locks) {
  const ways = handOffs(crews, locks);
  const latencies = new Map(ways.map((way) => [way, []]));
  for (let round = -WARM_UP_ROUNDS; round < settings.rounds; round++) {
    for (const way of rotated(ways, round + WARM_UP_ROUNDS)) {
      const measured = await handOff(way, settings.wakes);
      if (round >= 0) latencies.get(way).push(...measured);
    }
  }
  return ways.map((way) => ({
    way: way.name,
    median_us: median(latencies.get(way)),
    p99_us: percentile(latencies.get(way), 0.99),
  }));
}

function sayPairs(rows) {
  console.log(
    `\nUncontended: one worker locks and unlocks; medians of ${settings.pairRounds} rounds; less is better\n`,
  );
  sayColumns(rows, pairColumns);
}

function sayFamily(rows) {
  console.log(
    `\nThe family, uncontended: one worker, nobody waits; medians of ${settings.familyRounds} rounds; less is better\n`,
  );
  sayColumns(rows, familyColumns);
}

function sayContention(cells) {
  const { rounds, seconds } = settings;
  console.log(
    `\nContended: ${WORKERS.join(', ')} workers, an increment inside, and so much work inside and as much outside; medians of ${rounds} rounds of ${seconds} s`,
  );
  console.log(
    '  turns and × lockword: more is better; share: turns of the luckiest worker for each of the unluckiest, 1 is fair;',
  );
  console.log(
    '  p99 (of the unluckiest worker), longest: waits; worst: the longest of all rounds; less is better',
  );
  for (const rows of cells) {
    console.log(`\n  ${rows[0].threads} workers, ${time(rows[0].section_ns)}`);
    sayColumns(rows, cellColumns(frontier(rows)));
  }
}

function sayRelocking(cells) {
  console.log(
    '\nlockAsync on the main thread, which gives the lock back and asks again a turn of its event loop later, beside workers that relock without a gap;',
  );
  console.log(
    '  its acquisitions, and its waits: less is better; the turns of the workers meanwhile',
  );
  for (const rows of cells) {
    console.log(`\n  ${rows[0].workers} worker${rows[0].workers > 1 ? 's' : ''}`);
    sayWaits(rows);
  }
}

function sayBeside(rows) {
  console.log(
    `\nThe same beside ${BESIDE} workers that hold it for ${time(BESIDE_HOW.section)}, ` +
      `for all that the main thread can wait for, ${BESIDE_HOW.pause} ms after it gave it back\n`,
  );
  sayWaits(rows);
}

function sayWaits(rows) {
  sayColumns(rows, relockColumns);
}

function sayHandOffs(rows) {
  console.log(
    "\nHand-off: from a worker's release to the continuation on the main thread, its event loop idle; less is better\n",
  );
  sayColumns(rows, handOffColumns);
}

function sayBusy(rows) {
  console.log(
    '\nBusy event loops, which take the lock again and again and never turn: how long others wait for it; less is better',
  );
  for (const crowd of new Set(rows.map((row) => row.crowd))) {
    console.log(`\n  ${crowd}`);
    const of = rows.filter((row) => row.crowd === crowd);
    sayColumns(of, busyColumns);
  }
}

function sayHerd(rows) {
  console.log(
    '\nHerd: time, CPU time and context switches per turn, of the whole process; ' +
      `medians of ${settings.herdRounds} rounds; less is better`,
  );
  console.log(
    '  release: so many workers are blocked; one permit or notify at a time, ' +
      'for a worker that comes back; or one unlock, and each passes the lock on',
  );
  console.log(
    '  sleeping sections: each of so many workers takes turn after turn, ' +
      'and sleeps for 100 us in each\n',
  );
  sayTable([
    ['', 'kind', 'workers', 'time', 'CPU', 'switches'],
    ...rows.map((row) => [
      row.peer,
      row.kind,
      `${row.waiters}`,
      time(row.ns),
      time(row.cpu_ns),
      fixed(row.switches, 1),
    ]),
  ]);
}

function sayQueues(rows) {
  console.log(
    '\nA queue in one event loop: calls that all wait at once, ' +
      'and take their turns or all go on; less is better\n',
  );
  sayTable([
    ['', 'calls', 'us a call', 'x async-mutex', 'a turn later', 'bytes a call'],
    ...rows.map((row) => [
      row.peer,
      `${row.length}`,
      usOf(row.us, row),
      row.ratio === null ? '' : fixed(row.ratio, 2),
      usOf(row.turned_us, row),
      row.bytes === null ? '' : fixed(row.bytes, 0),
    ]),
  ]);
}

console.log(`Node ${process.version}, ${availableParallelism()} CPUs`);
const crews = await startCrews();
if (!crews.every((crew) => crew.pinned))
  console.log('workers are not pinned (no taskset): expect them to share a CPU at times');
const locks = crews.filter((crew) => !crew.peer.floor);
let attached;
/** Not before it is needed, since it pins this thread, and so the workers that come later. */
const here = () => (attached ??= attach(locks));

/** The rows of all cells, each of some numbers. */
async function cells(measure, ...columns) {
  const combined = columns.reduce(
    (found, column) => found.flatMap((cell) => column.map((value) => [...cell, value])),
    [[]],
  );
  const rows = [];
  for (const cell of combined) rows.push(await measure(...cell));
  return rows;
}

const measurements = {
  uncontended: [() => measurePairs(crews), sayPairs],
  family: [measureFamily, sayFamily],
  contended: [
    () => cells((workers, ns) => measureContention(locks, workers, ns), WORKERS, SECTIONS),
    sayContention,
  ],
  relocking: [
    () => cells(async (workers) => measureRelocking(locks, await here(), workers), RELOCKERS),
    sayRelocking,
  ],
  beside: [async () => measureBeside(locks, await here()), sayBeside],
  handoff: [async () => measureHandOffs(locks, await here()), sayHandOffs],
  busy: [
    () =>
      measureBusy(
        locks.map((crew) => crew.peer),
        settings.rounds,
        settings.busySeconds,
        options.smoke ? SOME_CROWDS : undefined,
      ),
    sayBusy,
  ],
  herd: [() => measureHerd(settings.herdRounds, settings.herdSeconds, HERDS), sayHerd],
  queued: [() => measureQueues(QUEUE_LENGTHS), sayQueues],
};
const results = { node: process.version, cpus: availableParallelism(), ...settings };
for (const [name, [measure, say]] of Object.entries(measurements)) {
  if (options.only && !options.only.split(',').includes(name)) continue;
  const rows = await measure();
  say(rows);
  results[name] = rows.flat();
}
await Promise.all(crews.map((crew) => crew.stop()));
if (options.json) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
