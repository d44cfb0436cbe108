/**
 * count.test.js: the proof that processes of all kinds exclude each other, and that a death at any
 * moment neither loses nor invents a turn: two Node processes, each with its main thread and a
 * worker, a native process and one of Python count in one region. Their accounts must agree,
 * exactly.
 *
 * LW_COUNT: how many turns, at least; LW_KILLS: how many deaths, at least. LW_REGION_PEER and
 * LOCKWORD_LIBRARY name what has been built; without one, its process is left out.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { unlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

import { open } from '../../build/node_modules/lockword-region/index.js';
import { sleep, until } from '../js/support.js';
import {
  BEGUN,
  ENDED,
  GOAL,
  KIND,
  KINDS,
  LIVES,
  repair,
  rowOf,
  TALLY,
  TOTAL,
  wordsOf,
} from './count.js';

const { LW_COUNT = 20_000, LW_KILLS = 10, LW_REGION_PEER, LOCKWORD_LIBRARY } = process.env;
const PATH = `/dev/shm/lockword-test-count-${process.pid}`;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const PYTHONPATH = here('../../bindings/python');
const MINUTES = 60_000;

const node = (way) => [process.execPath, here('count.js'), PATH, way];
/** Programs that count, besides those of Node. */
const others = [
  LW_REGION_PEER && [LW_REGION_PEER, PATH, 'count', '0'],
  LOCKWORD_LIBRARY && ['python3', here('count.py'), PATH],
].filter(Boolean);
const kinds = ['node', LW_REGION_PEER && 'native', LOCKWORD_LIBRARY && 'python'].filter(Boolean);

const children = new Set();

/** Starts a program that counts; says when it has begun, and how it has ended. */
function start(command) {
  const env = { ...process.env, PYTHONPATH, PATH: `/usr/bin:${process.env.PATH}` };
  const child = spawn(command[0], command.slice(1).filter(Boolean), { env });
  const one = { command, child, began: false, end: undefined };
  let complaint = '';
  children.add(one);
  child.stdout.on('data', () => (one.began = true));
  child.stderr.on('data', (text) => (complaint += text));
  one.ended = once(child, 'close').then(([code, signal]) => {
    children.delete(one);
    const isOnPurpose = code === 7 || (code === 1 && complaint.includes('on purpose'));
    one.end = signal ?? (isOnPurpose ? 'on purpose' : code);
    if (![0, 'SIGKILL', 'on purpose'].includes(one.end)) throw new Error(`${code}: ${complaint}`);
    return one.end;
  });
  one.ended.catch(() => {}); // whoever awaits it is told
  return one;
}

let region;
let words;

/** Sets the goal: so many turns from now on. */
const setGoal = (turns) =>
  region.mutex('count').runExclusive(({ ownerDied }) => {
    repair(words, ownerDied);
    words[GOAL] = words[TOTAL] + turns;
  });

/** The kinds of those that have counted so far. */
function counted() {
  const rows = Array.from({ length: words[LIVES] }, (_, life) => rowOf(life));
  return new Set(
    rows.filter((row) => words[row + TALLY] > 0).map((row) => KINDS[words[row + KIND]]),
  );
}

/** Awaits that all have come to the goal by themselves, and compares all accounts. */
async function finish(all, ends = [0]) {
  for (const { ended } of all) expect(await ended).oneOf(ends);
  let sum = 0;
  for (let life = 0; life < words[LIVES]; life++) {
    const [tally, begun, ended] = [TALLY, BEGUN, ENDED].map((i) => words[rowOf(life) + i]);
    expect(tally, `life ${life}`).within(ended, begun);
    expect(begun - ended, `life ${life}`).within(0, 1);
    sum += tally;
  }
  expect(sum).equal(words[TOTAL]);
  expect(words[TOTAL]).equal(words[GOAL]);
  expect([...counted()]).members(kinds);
  expect(region.describe('count')).include({ waiters: 0 });
}

beforeEach(() => {
  region = open(PATH, { size: 1 << 20 });
  words = wordsOf(region);
  words[GOAL] = -1; // none yet
});

afterEach(async () => {
  for (const { child, ended } of children) {
    child.kill('SIGKILL');
    await ended.catch(() => {}); // the test has failed by it
  }
  region.close();
  unlinkSync(PATH);
});

// Deno lets a worker that waits in lock() outlive its process's last turn.
(globalThis.Deno ? describe.skip : describe)('Node, C and Python count in one region', () => {
  it('exactly', async function () {
    this.timeout(10 * MINUTES);
    const all = [node(), node(), ...others].map(start);
    await until(() => all.every(({ began, end }) => began || end !== undefined), MINUTES);
    await setGoal(Number(LW_COUNT));
    await finish(all);
    expect(region.describe('count').recoveries).equal(0);
  });

  it('exactly, although one is killed every 50 ms', async function () {
    // region.test.js kills on each version.
    if (!process.version.startsWith('v24.')) this.skip();
    this.timeout(30 * MINUTES);
    const all = [node(), node(), ...others].map(start);
    for (let kills = 0; kills < LW_KILLS || words[TOTAL] < LW_COUNT;) {
      await sleep(50);
      // Those that are just starting have nothing to lose yet.
      const next = all.findIndex(({ began }) => began);
      if (next < 0) continue;
      const [victim] = all.splice(next, 1);
      victim.child.kill('SIGKILL');
      expect(await victim.ended).equal('SIGKILL');
      all.push(start(victim.command));
      kills++;
    }
    // Node takes long to start, and the others need a millisecond for the rest.
    await until(() => counted().size === kinds.length, MINUTES);
    await setGoal(1000);
    await finish(all);
  });

  it('exactly, although threads end by exit, throw and terminate at any moment', async function () {
    this.timeout(10 * MINUTES);
    const all = [node('exit'), node('throw'), node('terminate'), ...others].map(start);
    const enough = Number(LW_KILLS) + 2 * 3 + others.length;
    const restarted = new Set(); // whose main thread has ended
    while (words[LIVES] < enough || words[TOTAL] < LW_COUNT / 10 || restarted.size < 2) {
      await until(
        () => words[LIVES] >= enough || all.some(({ end }) => end !== undefined),
        MINUTES,
      );
      for (const [i, { command, end, ended }] of all.entries()) {
        if (end === undefined) continue;
        expect(await ended).equal('on purpose');
        restarted.add(command.at(-1));
        all[i] = start(command);
      }
      await sleep(10);
    }
    // Some may end before they come to the goal.
    await setGoal(100);
    await finish(all, [0, 'on purpose']);
  });
});
