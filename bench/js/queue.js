/** Tasks that queue for a lock in one event loop, which no other thread wants: what one costs. */

import { Mutex as AsyncMutex } from 'async-mutex';
import { Mutex } from '../../js/src/index.js';
import { rotated } from './measure.js';
import { median } from './statistics.js';

const QUEUES = [
  { name: 'lockword runExclusive', make: () => new Mutex() },
  { name: 'async-mutex runExclusive', make: () => new AsyncMutex() },
];
const [hero] = QUEUES;

/** The most tasks in a measurement's rounds together: a long queue has fewer rounds. */
const TASKS = 300_000;
const WARM_UP_ROUNDS = 2;

/** How long a task takes, in us, of so many that all ask at once. */
async function drain(mutex, length) {
  let count = 0;
  const tasks = [];
  const start = performance.now();
  for (let i = 0; i < length; i++) tasks.push(mutex.runExclusive(() => count++));
  await Promise.all(tasks);
  if (count !== length) throw new Error(`${count} of ${length} tasks ran`);
  return ((performance.now() - start) / length) * 1e3;
}

/** The rows for queues of this length. */
export async function measureQueue(length, most) {
  const rounds = [];
  const count = Math.max(1, Math.min(most, TASKS / length));
  for (let round = -WARM_UP_ROUNDS; round < count; round++) {
    const row = new Map();
    for (const queue of rotated(QUEUES, round + WARM_UP_ROUNDS))
      row.set(queue, await drain(queue.make(), round < 0 ? 1_000 : length));
    if (round >= 0) rounds.push(row);
  }
  return QUEUES.map((queue) => ({
    peer: queue.name,
    length,
    us: median(rounds.map((row) => row.get(queue))),
    ratio: median(rounds.map((row) => row.get(queue) / row.get(hero))),
  }));
}
