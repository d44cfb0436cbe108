/**
 * node bench/node/main.js [--quick|--smoke] [--json FILE]: what a lock among Node processes costs:
 * alone, from one process to the next, among eight, after a SIGKILL, and while one waits. peers.js
 * has the locks. They are measured in rounds, so that they meet the same machine. What is not
 * installed is named, and left out. --smoke only shows that it works, without peers.
 */
import { execFileSync, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { median, percentile } from '../js/statistics.js';
import { nodeColumns } from '../columns.js';
import { sayColumns } from '../js/table.js';
import { lacks, PEERS, REGION_PACKAGE, TTL, versionsOf } from './peers.js';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    smoke: { type: 'boolean' },
    json: { type: 'string' },
  },
});

/** Rounds; how long each measurement takes, ms; of deaths, how many. */
const [ROUNDS, ALONE, HANDOFF, FAIR, WAIT, DEATHS] = options.smoke
  ? [1, 20, 100, 100, 50, 1]
  : options.quick
    ? [1, 300, 1000, 1000, 500, 3]
    : [5, 300, 1000, 1000, 500, 3];
const CROWD = options.smoke ? 2 : 8;
/** What does not answer for so long does not work, ms. */
const PATIENCE = 120_000;

const MEMBER = new URL('./member.js', import.meta.url);
const now = () => Number(process.hrtime.bigint());

/** Starts a member: it does one thing at a time. */
async function joins({ name, inWorkers }, place) {
  const data = { name, place };
  const thread = inWorkers
    ? new Worker(MEMBER, { workerData: data })
    : fork(MEMBER, [JSON.stringify(data)]);
  const inbox = on(thread, 'message', { signal: AbortSignal.timeout(PATIENCE) });
  const hears = async () => (await inbox.next()).value[0];
  const tell = (...message) => (inWorkers ? thread.postMessage(message) : thread.send(message));
  await hears();
  return {
    tell,
    hears,
    async does(...message) {
      tell(...message);
      return (await hears()).result;
    },
    async ends() {
      const exited = once(thread, 'exit');
      if (inWorkers) thread.terminate();
      else thread.kill('SIGKILL');
      await exited;
    },
  };
}
const crowd = (peer, place, n) => Promise.all(Array.from({ length: n }, () => joins(peer, place)));
const end = (members) => Promise.all(members.map((member) => member.ends()));

/** From the end of each turn to the beginning of the next one, if that is the other member's. */
function handoffs(members) {
  const turns = members.flatMap((times, who) =>
    times.map(([began, ended]) => ({ who, began, ended })),
  );
  turns.sort((a, b) => a.began - b.began);
  return turns.flatMap(({ who, began }, i) =>
    i > 0 && turns[i - 1].who !== who ? [began - turns[i - 1].ended] : [],
  );
}

async function measureTurns(peer, place) {
  const pair = await crowd(peer, place, 2);
  const ns = await pair[0].does('alone', ALONE);
  const times = await Promise.all(pair.map((member) => member.does('handoff', HANDOFF)));
  const [holder, waiter] = pair;
  holder.tell('hold');
  await holder.hears();
  waiter.tell('next');
  await waiter.hears();
  await sleep(WAIT);
  holder.tell();
  const { cpu } = (await waiter.hears()).result;
  await holder.hears();
  await end(pair);
  return { ns, handoffs: handoffs(times), cpu };
}

async function measureFairness(peer, place) {
  const members = await crowd(peer, place, CROWD);
  const from = now() + 50e6;
  const until = from + FAIR * 1e6;
  const results = await Promise.all(members.map((member) => member.does('fair', { from, until })));
  await end(members);
  const counts = results.map(({ count }) => count);
  return {
    turns_per_s: (counts.reduce((sum, count) => sum + count) / FAIR) * 1e3,
    share: Math.max(...counts) / Math.max(1, Math.min(...counts)),
    longest_ns: Math.max(...results.map(({ longest }) => longest)),
  };
}

/** From the SIGKILL of a holder until a process has the lock that waited for it, ns. */
async function measureDeath(peer, place) {
  const [holder, waiter] = await crowd(peer, place, 2);
  holder.tell('hold');
  await holder.hears();
  waiter.tell('next');
  await waiter.hears();
  await sleep(20);
  const killed = now();
  const exited = holder.ends();
  const { at } = (await waiter.hears()).result;
  await exited;
  await waiter.ends();
  return at - killed;
}

async function measureDeaths(peer, place) {
  const deaths = [];
  while (!peer.inWorkers && deaths.length < DEATHS) deaths.push(await measureDeath(peer, place));
  return { deaths };
}

/** A round of one peer. */
const measure = async ({ peer, place }) => ({
  peer: peer.name,
  ...(await measureTurns(peer, place)),
  ...(await measureFairness(peer, place)),
  ...(await measureDeaths(peer, place)),
});

/** What the rounds of a peer come to: medians, and the longest of all. */
function sumUp(rows, rounds) {
  const [{ peer }] = rows;
  const of = (field) => rows.map((row) => row[field]);
  const bare = PEERS.find(({ name }) => name === peer).bare;
  const ratios = rounds.flatMap((round) => {
    const [own, other] = [peer, bare].map((name) => round.find((row) => row.peer === name));
    return other ? [median(own.handoffs) / median(other.handoffs)] : [];
  });
  const [handoffs, deaths] = [of('handoffs').flat(), of('deaths').flat()];
  return {
    peer,
    ns: median(of('ns')),
    handoff_ns: median(of('handoffs').map(median)),
    handoff_p99_ns: percentile(handoffs, 0.99),
    ...(ratios.length && { handoff_ratio: median(ratios) }),
    ...(deaths.length && { death_ns: median(deaths), death_longest_ns: Math.max(...deaths) }),
    cpu: median(of('cpu')),
    turns_per_s: median(of('turns_per_s')),
    share: median(of('share')),
    longest_ns: Math.max(...of('longest_ns')),
  };
}

if (!options.smoke || !existsSync(REGION_PACKAGE))
  execFileSync(process.execPath, ['bindings/node/build.js'], {
    cwd: join(import.meta.dirname, '../..'),
    stdio: ['ignore', 'ignore', 'inherit'],
  });

const folder = mkdtempSync(join(tmpdir(), 'lockword-bench-'));
const region = join('/dev/shm', basename(folder));
chmodSync(folder, 0o711); // for servers that run as other users
process.env.LOCKWORD_REGION = `${region}-files`;
const started = [];
const missing = {};
function leaveOut({ name }, why) {
  console.log(`without ${name}: ${why}`);
  missing[name] = why;
}
const versions = {};
const rounds = [];
try {
  for (const [i, peer] of PEERS.entries()) {
    if (options.smoke && peer.packages) continue;
    const why = lacks(peer);
    if (why) {
      leaveOut(peer, why);
      continue;
    }
    const home = join(folder, `${i}`);
    mkdirSync(home);
    try {
      started.push({ peer, stop() {}, ...(await peer.start(home, region)) });
      Object.assign(versions, versionsOf(peer));
    } catch (error) {
      leaveOut(peer, `${error.stderr ?? ''}`.trim() || error.message);
    }
  }
  for (let i = 0; i < ROUNDS; i++) {
    const first = i % started.length;
    const round = [];
    for (const each of [...started.slice(first), ...started.slice(0, first)])
      round.push(await measure(each));
    rounds.push(round);
  }
} finally {
  for (const { stop } of started) await stop();
  for (const path of [folder, region, process.env.LOCKWORD_REGION])
    rmSync(path, { recursive: true, force: true });
}
const figures = {
  peers: started.map(({ peer: { name } }) =>
    sumUp(
      rounds.map((round) => round.find(({ peer }) => peer === name)),
      rounds,
    ),
  ),
  missing,
  versions,
  ttl: TTL / 1e3,
  crowd: CROWD,
  node: process.version,
};

sayColumns(figures.peers, nodeColumns(CROWD));
if (options.json) writeFileSync(options.json, JSON.stringify(figures));
