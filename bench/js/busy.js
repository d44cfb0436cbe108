/**
 * Event loops that are busy, because they take a lock again and again and never turn, beside others
 * that want it: how long those wait. A loop that does not hold the lock should keep nobody from it,
 * however busy it is.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Crew } from './crew.js';
import { rotated } from './measure.js';
import { primitives } from './primitives.js';
import { NO_LOCK, now, STOP } from './protocol.js';
import { median } from './statistics.js';

/** Those of the primitives that take part, after the locks. */
const FAMILY = [NO_LOCK, 'lockword Condition', 'lockword Semaphore', 'lockword RWLock, writing'];
const family = FAMILY.map((name) => primitives.find((peer) => peer.name === name));

/** The agents of each crowd; `asks` names the role whose waits are measured. */
const CROWDS = [
  {
    name: 'two loops that turn, beside one that never does',
    agents: ['turns', 'turns', 'never'],
    asks: 'turns',
  },
  { name: 'three loops that never turn', agents: ['never', 'never', 'never'], asks: 'never' },
  {
    name: 'a blocked thread, beside three loops that never turn',
    agents: ['blocks', 'never', 'never', 'never'],
    asks: 'blocks',
  },
];

const START_DELAY_MS = 15;
/** A lock whose loops do not end is left out. */
const PATIENCE_MS = 5000;

/** One round: the longest measured wait, in ms, and the turns of all agents a second. */
async function round(crew, { agents, asks }, seconds) {
  crew.control.fill(0);
  crew.count = 0;
  const start = now() + START_DELAY_MS;
  const end = start + seconds * 1000;
  const answers = agents.map((role, k) =>
    crew.ask(k, { task: role === 'blocks' ? 'blockedTurns' : 'loop', role, start, end }),
  );
  const of = (role) => answers.filter((_, k) => agents[k] === role);
  await sleep(end - now());
  // A thread that waits for a notify needs loops that notify.
  await Promise.all(of('blocks'));
  Atomics.store(crew.control, STOP, 1);
  const results = await Promise.all(answers);
  const turns = results.reduce((sum, result) => sum + result.turns, 0);
  if (crew.peer.name !== NO_LOCK && (turns | 0) !== crew.count)
    throw new Error(`${crew.peer.name}: ${turns} turns, but the counter is ${crew.count}`);
  const asked = await Promise.all(of(asks));
  return {
    longest: Math.max(...asked.map(({ longest }) => longest)),
    turns: turns / ((now() - start) / 1000),
  };
}

/** The crowds that between them have each role. */
export const SOME_CROWDS = CROWDS.filter(({ agents }) => new Set(agents).size > 1);

/** The rows of these crowds, of locks that have a lockAsync, and of the family. */
export async function measureBusy(locks, rounds, seconds, crowds = CROWDS) {
  const rows = [];
  for (const crowd of crowds) {
    const crews = [];
    for (const peer of [...locks, ...family]) {
      const crew = new Crew(peer);
      peer.prepare?.(crew.buffers.lock);
      await crew.start(crowd.agents.length);
      crews.push({ crew, longest: [], turns: [] });
    }
    for (let k = 0; k < rounds; k++) {
      for (const measured of rotated(crews, k)) {
        if (measured.fails) continue;
        const late = sleep(seconds * 1000 + PATIENCE_MS, undefined, { ref: false });
        const result = await Promise.race([round(measured.crew, crowd, seconds), late]);
        if (!result) measured.fails = true;
        else for (const name of ['longest', 'turns']) measured[name].push(result[name]);
      }
    }
    for (const { crew, longest, turns, fails } of crews) {
      await crew.stop();
      const { name } = crew.peer;
      if (fails) console.log(`left out: ${name}: ${crowd.name}: does not end`);
      else
        rows.push({
          peer: name,
          crowd: crowd.name,
          longest_ns: median(longest) * 1e6,
          worst_ns: Math.max(...longest) * 1e6,
          turns_per_s: median(turns),
        });
    }
  }
  return rows;
}
