/**
 * What it costs to wake one of many blocked workers: time, CPU time and context switches per turn.
 * The native benchmark does the same (native/harness/herd.h).
 */

import { Crew } from './crew.js';
import { rotated, run } from './measure.js';
import { peers } from './peers.js';
import { primitives } from './primitives.js';
import { ARRIVED, NEXT, SERVED, STOP } from './protocol.js';
import { median } from './statistics.js';

/** Each beside what people write by hand. `keeps`: what is taken need not be given back. */
const OPERATIONS = [
  { operation: 'mutex', names: ['lockword', 'hand-written 0/1/2'] },
  {
    operation: 'condition',
    names: ['lockword Condition, a permit', 'hand-written condition'],
    keeps: true,
  },
  { operation: 'semaphore', names: ['lockword Semaphore', 'hand-written semaphore'], keeps: true },
  {
    operation: 'read-write lock: write',
    names: ['lockword RWLock, writing', 'hand-written lock, writing'],
  },
  {
    operation: 'read-write lock: read',
    names: ['lockword RWLock, reading', 'hand-written lock, reading'],
    shares: true,
  },
];
/** Unlocks in a round, if each wakes a few workers only. */
const UNLOCKS = 20;
/** So many rounds before those that count: engines interpret what has run seldom. */
const WARM_UPS = 40;
/** Until the workers sleep. */
const SETTLED_MS = 2;

/** The whole process's, so far. */
function used() {
  const { userCPUTime, systemCPUTime, voluntaryContextSwitches, involuntaryContextSwitches } =
    process.resourceUsage();
  return {
    ns: performance.now() * 1e6,
    cpu_ns: (userCPUTime + systemCPUTime) * 1e3,
    switches: voluntaryContextSwitches + involuntaryContextSwitches,
  };
}

const FIELDS = ['ns', 'cpu_ns', 'switches'];

const zeros = () => Object.fromEntries(FIELDS.map((field) => [field, 0]));

/** Adds what `work` uses to `total`. */
async function count(total, work) {
  const before = used();
  await work();
  const after = used();
  for (const field of FIELDS) total[field] += after[field] - before[field];
}

/** Blocks this thread until the word holds the value. */
function awaitValue(control, word, value) {
  for (let now; (now = Atomics.load(control, word)) !== value;)
    Atomics.wait(control, word, now, 1000);
}

/** So many workers are blocked behind this thread, which releases one permit, or the lock. */
async function released({ crew, lock, keeps }, size, seconds, total) {
  const { control } = crew;
  const { hold = lock.lock, release = lock.unlock } = lock;
  control.fill(0);
  const ended = Array.from({ length: size }, (_, k) => crew.ask(k, { task: 'blocked', keeps }));
  const settle = () => {
    awaitValue(control, ARRIVED, size);
    Atomics.wait(control, ARRIVED, size, SETTLED_MS);
  };
  const next = () => {
    Atomics.add(control, NEXT, 1);
    Atomics.notify(control, NEXT);
  };
  let turns = 0;
  if (keeps) {
    hold.call(lock);
    next();
    settle();
    await count(total, () => {
      for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
        release.call(lock);
        awaitValue(control, SERVED, ++turns);
      }
    });
    Atomics.store(control, STOP, 1);
    for (let k = 0; k < size; k++) release.call(lock);
  } else {
    for (let k = 0; k < UNLOCKS; k++, turns += size) {
      Atomics.store(control, ARRIVED, 0);
      Atomics.store(control, SERVED, 0);
      hold.call(lock);
      next();
      settle();
      await count(total, () => {
        release.call(lock);
        awaitValue(control, SERVED, size);
      });
    }
    Atomics.store(control, STOP, 1);
  }
  next();
  await Promise.all(ended);
  if (keeps) {
    // One permit remains, as at first.
    let free = turns + size - Atomics.load(control, SERVED);
    if (free === 0) release.call(lock);
    for (; free > 1; free--) hold.call(lock);
  }
  return { turns, served: 1 };
}

/** Each worker takes turn after turn, and sleeps in it, while all others are blocked. */
async function sleeping({ crew }, size, seconds, total) {
  let all;
  await count(total, async () => {
    all = await run(crew, size, seconds, 0, 'sleepingTurns');
  });
  return { turns: all.turns, served: all.results.filter(({ turns }) => turns > 0).length / size };
}

const KINDS = [
  { kind: 'release', measure: released },
  { kind: 'sleeping sections', measure: sleeping },
];

async function start(name, most) {
  const peer = [...peers, ...primitives].find((candidate) => candidate.name === name);
  const crew = new Crew(peer);
  peer.prepare?.(crew.buffers.lock);
  await crew.start(most);
  return { crew, lock: await peer.attach(crew.buffers.lock) };
}

async function measureOperation(
  { operation, names, keeps = false, shares },
  rounds,
  seconds,
  sizes,
) {
  const measured = [];
  for (const name of names)
    measured.push({ ...(await start(name, Math.max(...sizes))), name, keeps });
  // A round of what is kept has thousands of turns.
  for (const peer of keeps ? [] : measured) {
    for (let k = 0; k < WARM_UPS; k++) await released(peer, Math.max(...sizes), seconds, zeros());
  }
  const rows = [];
  for (const { kind, measure } of KINDS) {
    // Readers do not wait for each other.
    if (shares && measure === sleeping) continue;
    for (const size of sizes) {
      const costs = new Map(measured.map((peer) => [peer, []]));
      for (let round = 0; round < rounds; round++) {
        for (const peer of rotated(measured, round)) {
          const total = zeros();
          const { turns, served } = await measure(peer, size, seconds, total);
          const each = FIELDS.map((field) => [field, total[field] / turns]);
          costs.get(peer).push({ ...Object.fromEntries(each), served });
        }
      }
      for (const [{ name }, all] of costs) {
        const cost = [...FIELDS, 'served'].map((field) => [
          field,
          median(all.map((each) => each[field])),
        ]);
        rows.push({ kind, operation, peer: name, waiters: size, ...Object.fromEntries(cost) });
      }
    }
  }
  await Promise.all(measured.map(({ crew }) => crew.stop()));
  return rows;
}

/** The rows of all operations. */
export async function measureHerd(rounds, seconds, sizes) {
  // This thread blocks on purpose: lockword need not warn of it.
  process.removeAllListeners('warning');
  const rows = [];
  for (const operation of OPERATIONS)
    rows.push(...(await measureOperation(operation, rounds, seconds, sizes)));
  return rows;
}
