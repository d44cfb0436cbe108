/**
 * Holders of locks on etcd, while holders, servers and the network between the servers die, freeze
 * and come back: `make soak`, or in brief `unshare -rnm mocha test/command/lease/soak.test.js`.
 * LW_SECONDS says for how long.
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  crowd,
  cut,
  endAll,
  etcd,
  file,
  mend,
  settled,
  start,
  startCluster,
  startEtcd,
  stopCluster,
  stopEtcd,
} from './etcd.js';

const SECONDS = Number(process.env.LW_SECONDS ?? 30);
const NAMES = 12;
const THREADS = 6;
const TTL = 3;

const below = (n) => Math.floor(Math.random() * n);

describe('locks on etcd while everything fails', function () {
  this.timeout((SECONDS + 120) * 1000);
  before(() => startCluster(3, { hasNetworks: true }));
  after(stopCluster);
  afterEach(async () => {
    mend();
    await endAll();
  });

  it(`no lock is lost, and no two are alive: ${SECONDS} s`, async () => {
    const deadline = performance.now() + SECONDS * 1000;
    const left = () => Math.ceil((deadline - performance.now()) / 1000);
    const sum = { turns: 0, lost: 0, killed: 0 };
    const faults = {};

    /** Processes that end, or are killed, are followed by others until the time is over. */
    const crowds = new Set();
    async function live() {
      while (left() > 0) {
        const one = start(
          crowd,
          ...[`etcd://${etcd.addresses}`, file('tokens')],
          ...[NAMES, THREADS, 0, TTL, left()],
        );
        crowds.add(one);
        const { status, signal, stdout, stderr } = await one.ended;
        crowds.delete(one);
        if (signal === 'SIGKILL') {
          sum.killed++;
          continue;
        }
        assert.equal(status, 0, stdout + stderr);
        const [, turns, lost] = stdout.match(/^(\d+) turns, (\d+) lost/m);
        sum.turns += Number(turns);
        sum.lost += Number(lost);
      }
    }

    const anyCrowd = () => [...crowds][below(crowds.size)];
    const something = {
      'a process is killed': () => anyCrowd()?.kill('SIGKILL'),
      async 'a process is frozen, for longer than the time-to-live or not'() {
        const one = anyCrowd();
        one?.kill('SIGSTOP');
        await sleep(below(2 * TTL * 1000));
        one?.kill('SIGCONT');
      },
      async 'a server is killed and starts again'() {
        const i = below(3);
        await stopEtcd(i);
        await sleep(below(1000));
        await startEtcd(i);
      },
      async 'a server is frozen'() {
        const server = etcd.servers[below(3)];
        server.kill('SIGSTOP');
        await sleep(below(1.5 * TTL * 1000));
        server.kill('SIGCONT');
      },
      async 'a server is cut off'() {
        const i = below(3);
        const others = [0, 1, 2].filter((k) => k !== i);
        const ways = below(3);
        if (ways !== 0) cut([i], [...others, ...(below(2) ? ['tests'] : [])]);
        if (ways !== 1) cut(others, [i]);
        await sleep(below(2 * TTL * 1000));
        mend();
      },
    };

    async function fail() {
      while (left() > 5) {
        const [what, happens] = Object.entries(something)[below(Object.keys(something).length)];
        faults[what] = (faults[what] ?? 0) + 1;
        await happens();
        await sleep(below(2000));
      }
    }

    await Promise.all([fail(), ...Array.from({ length: 3 }, live)]);
    const times = Object.entries(faults).map(([what, count]) => `${what}: ${count}`);
    console.log(
      `      ${sum.turns} turns, ${sum.lost} of them lost, besides those of ${sum.killed} processes that were killed\n      ${times.join('\n      ')}`,
    );
    assert.ok(sum.turns > SECONDS, 'next to nothing went on');
    // What is left of it hinders nobody.
    await settled();
    const after = await start(
      crowd,
      ...[`etcd://${etcd.addresses}`, file('tokens'), NAMES, THREADS, 2, 10, 0],
    ).ended;
    assert.equal(after.status, 0, after.stdout);
  });
});
