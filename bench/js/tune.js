/**
 * node bench/js/tune.js: the constants of js/src/awake.js for spinning, beside other values and
 * beside the lock that people write by hand, in one run: two, four and eight workers, with nothing,
 * 180 ns and 15 us of work in and outside the lock; and how long a nap lasts that nobody prolongs.
 * About four minutes; --quick: two.
 */
import { parseArgs } from 'node:util';
import { nap } from '../../js/src/wait.js';
import { Crew } from './crew.js';
import { contend } from './measure.js';
import { peers } from './peers.js';
import { median } from './statistics.js';
import { fixed, sayTable, time } from './table.js';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' } } });
const ROUNDS = options.quick ? 3 : 7;
const SECONDS = 0.1;
const WORKERS = [2, 4, 8];
const SECTIONS = [0, 180, 15_000];

/**
 * Tries, and pauses before each; quanta, in company and alone. 0 tries: straight to sleep; 0 ms: it
 * never yields.
 */
const SPINS = [
  [100, 10, 0.5, 2],
  [0, 10, 0, 0],
  [100, 10, 0, 0],
  [100, 10, 0.5, 0.5],
  [100, 10, 2, 2],
  [100, 10, 0.5, 8],
  [100, 1, 0.5, 2],
  [10, 100, 0.5, 2],
];

const reference = peers.find(({ name }) => name === 'hand-written 0/1/2');
const candidates = [
  reference,
  ...SPINS.map(([tries, pauses, quantum, alone]) => ({
    name: `${tries} tries, ${pauses} pauses, ${quantum} to ${alone} ms`,
    spin: { tries, pauses, quantum, alone },
  })),
];

for (const ms of [0.001, 0.02]) {
  const naps = Array.from({ length: 200 }, () => {
    const before = performance.now();
    nap(ms);
    return (performance.now() - before) * 1e6;
  });
  const skipped = naps.filter((ns) => ns < 20_000).length;
  console.log(
    `a nap of ${time(ms * 1e6)} lasts ${time(median(naps))}; ${skipped} of ${naps.length} were over at once`,
  );
}

for (const workers of WORKERS) {
  const crews = candidates.map((peer) => new Crew(peer));
  for (const crew of crews) await crew.start(workers);
  for (const section of SECTIONS) {
    const rounds = [];
    for (let round = -1; round < ROUNDS; round++) {
      const rows = await contend(crews, round + crews.length, workers, SECONDS, section);
      // The first compiles.
      if (round >= 0) rounds.push(rows);
    }
    console.log(`\n${workers} workers, ${section} ns in and outside the lock`);
    const column = (crew, name) => rounds.map((rows) => rows.get(crew)[name]);
    const ratio = (crew) =>
      median(rounds.map((rows) => rows.get(crew).mops / rows.get(crews[0]).mops));
    sayTable([
      ['', 'Mops/s', 'x first', 'share', 'longest'],
      ...crews.map((crew) => [
        crew.peer.name,
        fixed(median(column(crew, 'mops')), 2),
        fixed(ratio(crew), 2),
        fixed(median(column(crew, 'share')), 1),
        time(median(column(crew, 'longest'))),
      ]),
    ]);
  }
  await Promise.all(crews.map((crew) => crew.stop()));
}
