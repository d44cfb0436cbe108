/**
 * The measurements, one round each: every crew in turn, in an order that changes from round to
 * round.
 */

import { once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { CONTROL_WORDS, ASKED, HELD, KINDS, NEXT, now, SIGNAL, STOP } from './protocol.js';

/** The crews, beginning with another one each round, so that none always follows the same one. */
export const rotated = (list, round) => list.map((_, k) => list[(round + k) % list.length]);

export async function pairs(crews, round, n) {
  const ns = new Map();
  for (const crew of rotated(crews, round)) ns.set(crew, await crew.ask(0, { task: 'pairs', n }));
  return ns;
}

/** ns for one turn of each worker's operation. */
export async function operate(workers, round, n) {
  const ns = new Map();
  for (const worker of rotated(workers, round)) {
    worker.postMessage(n);
    ns.set(worker, (await once(worker, 'message'))[0]);
  }
  return ns;
}

/** Enough for every worker to have read its message. */
const START_DELAY_MS = 15;

export async function run(crew, workers, seconds, section, task) {
  crew.control.fill(0);
  crew.count = 0;
  const start = now() + START_DELAY_MS;
  const answers = Array.from({ length: workers }, (_, k) => crew.ask(k, { task, start, section }));
  await sleep(START_DELAY_MS + seconds * 1000);
  const end = now();
  Atomics.store(crew.control, STOP, 1);
  const results = await Promise.all(answers);
  const turns = results.reduce((sum, result) => sum + result.turns, 0);
  // A lock that does not exclude would be the fastest. The counter is 32 bits wide.
  if ((turns | 0) !== crew.count)
    throw new Error(`${crew.peer.name}: ${turns} turns, but the counter is ${crew.count}`);
  return { results, turns, ns: (end - start) * 1e6 };
}

/** `section`: ns of work inside the lock, and as much outside. */
export async function contend(crews, round, workers, seconds, section) {
  const rows = new Map();
  for (const crew of rotated(crews, round)) {
    const { results, turns, ns } = await run(crew, workers, seconds, section, 'turns');
    const each = results.map((result) => result.turns);
    const timed = await run(crew, workers, seconds, section, 'timedTurns');
    rows.set(crew, {
      mops: (turns / ns) * 1e3,
      share: Math.max(...each) / Math.max(1, Math.min(...each)),
      p99: Math.max(...timed.results.map((result) => result.p99)),
      longest: Math.max(...timed.results.map((result) => result.longest)),
    });
  }
  return rows;
}

/**
 * The main thread takes the lock again and again, a turn of its event loop or a `pause` of so many
 * ms after it gave it back, while workers relock without a gap and hold it for `section` ns. ms of
 * each wait, the last of which is as long as the round if it was in vain; and the workers' turns.
 */
export async function relock({ crew, lock }, workers, seconds, { section = 0, pause = 0 } = {}) {
  crew.control.fill(0);
  crew.count = 0;
  const answers = Array.from({ length: workers }, (_, k) =>
    crew.ask(k, { task: 'turns', start: now(), section, away: 0 }),
  );
  await sleep(START_DELAY_MS);
  const end = now() + seconds * 1000;
  // One that never gets its turn has it when the workers stop.
  const stop = setTimeout(() => Atomics.store(crew.control, STOP, 1), seconds * 1000);
  const waits = [];
  while (now() < end) {
    const asked = now();
    await lock.lockAsync();
    waits.push(now() - asked);
    lock.unlock();
    await (pause ? sleep(pause) : nextTurn());
  }
  clearTimeout(stop);
  Atomics.store(crew.control, STOP, 1);
  const turns = (await Promise.all(answers)).reduce((sum, result) => sum + result.turns, 0);
  return { waits, mops: turns / seconds / 1e6 };
}

/**
 * The ways in which a worker wakes the main thread's event loop; `arm` resolves once it is woken.
 */
export function handOffs(crews, locks) {
  const [first] = crews;
  const named = (name) => crews.find((crew) => crew.peer.name === name);
  const locked = (name, lockName) =>
    named(name) && {
      name: lockName,
      crew: named(name),
      kind: KINDS.lock,
      arm: () => locks.get(named(name)).lockAsync(),
      disarm: () => locks.get(named(name)).unlock(),
    };
  const ways = [
    {
      name: 'bare Atomics.waitAsync',
      crew: first,
      kind: KINDS.signal,
      arm: () => Atomics.waitAsync(first.control, SIGNAL, 0).value,
      disarm: () => Atomics.store(first.control, SIGNAL, 0),
    },
    {
      name: 'postMessage',
      crew: first,
      kind: KINDS.message,
      arm: () => message(first.workers[0]),
      disarm: () => {},
    },
    locked('lockword', 'lockword lockAsync'),
    locked('multithreading', 'multithreading lock'),
  ];
  return ways.filter(Boolean);
}

const message = (worker) =>
  new Promise((resolve) => {
    const listen = (answer) => {
      if (!answer.woken) return;
      worker.off('message', listen);
      resolve();
    };
    worker.on('message', listen);
  });

/** us from the worker's release to the main thread's continuation, `n` times. */
export async function handOff({ crew, kind, arm, disarm }, n) {
  const { control, stamps } = crew;
  control.fill(0, 0, CONTROL_WORDS);
  const finished = crew.ask(0, { task: 'handOff', kind, n });
  const latencies = [];
  for (let i = 0; i < n; i++) {
    Atomics.store(control, NEXT, 1);
    Atomics.notify(control, NEXT);
    while (Atomics.load(control, HELD) === 0) await sleep(0);
    Atomics.store(control, HELD, 0);
    const woken = arm();
    Atomics.store(control, ASKED, 1);
    Atomics.notify(control, ASKED);
    await woken;
    latencies.push((now() - stamps[0]) * 1e3);
    disarm();
  }
  await finished;
  return latencies;
}
