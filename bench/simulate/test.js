// test.js: what the simulator must be right about, whatever the costs are.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [shipped, tuned] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'simulate-'));

function run(program, args) {
  return spawnSync(program, args, { encoding: 'utf8' });
}

function cellsOf(program, args) {
  const file = join(folder, 'cells.json');
  const { status, stderr } = run(program, [...args, '--json', file]);
  assert.equal(status, 0, stderr);
  return JSON.parse(readFileSync(file, 'utf8')).cells;
}

const cells = (...args) => cellsOf(shipped, args);

const only = (...peers) => peers.flatMap((peer) => ['--policy', peer]);
const LOCKS = ['lockword', 'recursive mutex', 'write lock', 'semaphore'];

const tests = {
  'the same seed gives the same figures, another seed gives others'() {
    const small = ['--cpus', '2,8', '--threads', '1,2', '--section', '0,180', '--ms', '0.5'];
    const first = cells(...small, '--seed', '7');
    assert.deepEqual(cells(...small, '--seed', '7'), first);
    assert.notDeepEqual(cells(...small, '--seed', '8'), first);
  },

  'a cell is the same whatever has been simulated before'() {
    const cell = ['--cpus', '2', '--threads', '1', '--policy', 'lockword', '--ms', '1'];
    const [, after] = cells(...cell, '--section', '0,1000');
    assert.deepEqual(cells(...cell, '--section', '1000'), [after]);
  },

  'a thread alone pays for two locked operations, an increment and 2 ns outside'() {
    const costs = ['--cost', 'jitter=0', '--cost', 'locked=10', '--cost', 'hit=3'];
    const alone = ['--cpus', '2', '--threads', '0.5', '--section', '0', ...only('lockword')];
    const [cell] = cells(...alone, ...costs);
    assert.ok(Math.abs(1e3 / cell.mops - (10 + 3 + 10 + 2)) < 0.1, `${1e3 / cell.mops} ns`);
  },

  'threads that outnumber the CPUs all have turns, and none is left asleep'() {
    const crowd = ['--cpus', '2', '--threads', '8', '--section', '1000', '--ms', '50'];
    const [{ share }] = cells(...crowd, ...only('lockword'));
    assert.ok(share < 3, `share ${share}`);
  },

  'lockword makes no fewer turns with more CPUs, nor with more threads than CPUs'() {
    const crowds = ['--threads', '1,4', '--section', '180', '--ms', '4'];
    const all = cells('--cpus', '16,64', ...crowds, ...only(...LOCKS));
    for (const peer of LOCKS) {
      const mops = all.filter((cell) => cell.peer === peer).map((cell) => cell.mops);
      assert.ok(Math.min(...mops) > 0.7 * mops[0], `${peer}: ${mops.join(', ')}`);
    }
  },

  'two threads on each of two CPUs take turns within microseconds, whatever a yield costs'() {
    // Linux 6.18 puts a thread that yields back by a slice. A section may be somewhat longer than a
    // spin, and shorter than a spin and a change of threads.
    const pairs = ['--cpus', '2', '--threads', '2', '--section', '180,1000,1200,1400,1600,1800'];
    for (const forfeit of ['0', '2.8e6']) {
      const costs = ['--cost', 'change=1400', '--cost', `forfeit=${forfeit}`];
      for (const cell of cells(...pairs, ...costs, ...only('lockword', 'semaphore'))) {
        const name = `${cell.peer}, ${cell.section_ns} ns, forfeit ${forfeit}`;
        const busy = (cell.mops * cell.section_ns) / 1e3;
        assert.ok(cell.longest_ns < 100e3, `${name}: longest wait ${cell.longest_ns} ns`);
        assert.ok(busy > (cell.section_ns < 1000 ? 0.4 : 0.7), `${name}: held ${busy} of the time`);
      }
    }
  },

  'a program that stops a CPU for a moment costs no more waits than that moment'() {
    const pairs = ['--cpus', '2', '--threads', '2', '--cost', 'forfeit=2.8e6'];
    const moment = ['--section', '180,400,1400', '--visit', '200000,5e6', '--ms', '100'];
    for (const cell of cells(...pairs, ...moment, ...only('lockword', 'semaphore'))) {
      const name = `${cell.peer}, ${cell.section_ns} ns`;
      assert.ok(cell.longest_ns < 600e3, `${name}: longest wait ${cell.longest_ns} ns`);
    }
    // One that runs for longer than a long yield, and only once in a while.
    const slice = ['--section', '180', '--visit', '4e6,100e6', '--ms', '400', ...only('lockword')];
    const [{ longest_ns }] = cells(...pairs, ...slice);
    assert.ok(longest_ns < 4.5e6, `longest wait ${longest_ns} ns`);
  },

  'threads do not spin again and again for a holder that sleeps'() {
    const pair = ['--cpus', '2', '--threads', '1', '--section', '0', '--sleep', '100000'];
    for (const { peer, calls } of cells(...pair, '--ms', '20', ...only(...LOCKS)))
      assert.ok(calls < 9, `${peer}: ${calls} system calls a turn`);
  },

  'among 8 and 64 threads with a CPU each, turns are many and in order'() {
    const sections = ['--section', '180,5000', '--ms', '8', ...only('lockword', 'MCS')];
    const all = cells('--cpus', '8,64', '--threads', '1', ...sections);
    for (const cell of all.filter(({ peer }) => peer === 'lockword')) {
      const mcs = all.find(
        (c) => c.peer === 'MCS' && c.cpus === cell.cpus && c.section_ns === cell.section_ns,
      );
      const name = `${cell.cpus} CPUs, ${cell.section_ns} ns`;
      assert.ok(cell.mops > 0.73 * mcs.mops, `${name}: ${cell.mops} of ${mcs.mops}`);
      assert.ok(cell.share < 2.5, `${name}: share ${cell.share}`);
    }
  },

  'among sections that sleep, threads take turns in order, and sleep twice for each besides'() {
    const sleeping = ['--section', '1', '--sleep', '100000', '--ms', '300'];
    sleeping.push(...only('lockword', 'write lock', 'semaphore'));
    for (const cell of cells('--cpus', '2', '--threads', '8,128', ...sleeping)) {
      assert.ok(cell.sleeps < 3.1, `${cell.peer}: ${cell.sleeps} sleeps`);
      assert.ok(cell.share < 1.3, `${cell.peer}: share ${cell.share}`);
    }
  },

  'among sections longer than a spin, no thread is overtaken for ever'() {
    const long = ['--section', '30000,100000', '--ms', '100', ...only(...LOCKS)];
    for (const cell of cells('--cpus', '4,8', '--threads', '1', ...long)) {
      const name = `${cell.peer}, ${cell.cpus} CPUs, ${cell.section_ns} ns`;
      assert.ok(cell.share < 2.5, `${name}: share ${cell.share}`);
      assert.ok(cell.longest_ns < 10e6, `${name}: ${cell.longest_ns} ns`);
    }
  },

  'a waiter whose CPU the thread has that unlocks is not overtaken for ever'() {
    const shared = ['--cpus', '2', '--threads', '2', '--section', '50000', '--ms', '100'];
    for (const cell of cells(...shared, '--outside', '10000', ...only(...LOCKS))) {
      assert.ok(cell.share < 2, `${cell.peer}: share ${cell.share}`);
      assert.ok(cell.longest_ns < 5e6, `${cell.peer}: ${cell.longest_ns} ns`);
    }
  },

  'among as many permits as threads, nobody waits'() {
    const cell = ['--cpus', '3', '--threads', '1', '--section', '200', '--policy', '3 permits'];
    const [{ longest_ns }] = cells(...cell);
    assert.ok(longest_ns < 1000, `${longest_ns} ns`);
  },

  'owned permits are taken as often as those of sem_t, with few calls of the kernel'() {
    const kinds = [
      ['owned permit', 'sem_t', 'semaphore'],
      ['3 owned permits', 'sem_t, 3 permits', '3 permits'],
    ];
    const cell = ['--threads', '1', '--section', '200,1000', '--ms', '4', '--cpus', '4,16,64'];
    for (const kind of kinds) {
      const [owned, posix, counted] = kind.map((policy) => cells(...cell, '--policy', policy));
      for (const [k, { peer, cpus, section_ns, mops, share, calls }] of owned.entries()) {
        const name = `${peer}, ${cpus} CPUs, ${section_ns} ns`;
        assert.ok(mops > 0.97 * posix[k].mops, `${name}: ${mops} of ${posix[k].mops}`);
        assert.ok(calls < 1.3 * counted[k].calls + 2, `${name}: ${calls} of ${counted[k].calls}`);
        assert.ok(share < 3, `${name}: share ${share}`);
      }
    }
  },

  'a waiter for an owned permit is not overtaken for ever, and sleeps twice for a turn'() {
    const owned = ['--policy', 'owned permit', '--cpus'];
    const long = ['--threads', '1', '--section', '15000,30000,100000', '--ms', '100'];
    const shared = ['--threads', '2', '--section', '50000', '--outside', '10000', '--ms', '100'];
    for (const cell of [...cells(...owned, '4,8', ...long), ...cells(...owned, '2', ...shared)]) {
      const name = `${cell.cpus} CPUs, ${cell.section_ns} ns`;
      assert.ok(cell.share < 2.5, `${name}: share ${cell.share}`);
      assert.ok(cell.longest_ns < 10e6, `${name}: ${cell.longest_ns} ns`);
    }
    const sleeping = ['--threads', '8,128', '--section', '1', '--sleep', '100000', '--ms', '300'];
    for (const { threads, sleeps, calls, share } of cells(...owned, '2', ...sleeping)) {
      assert.ok(sleeps < 3.1, `${threads} threads: ${sleeps} sleeps`);
      assert.ok(calls < 6, `${threads} threads: ${calls} calls`);
      assert.ok(share < 1.3, `${threads} threads: share ${share}`);
    }
  },

  'threads that take all of three permits have their turns among others that take one'() {
    const cell = ['--cpus', '2', '--threads', '8', '--policy', '3 permits, some take all'];
    const of = (section, seed) =>
      cells(...cell, '--section', section, '--ms', '300', '--seed', seed)[0];
    const limits = { 1000: [3.2, 35], 15000: [2.7, 30], 100000: [2.5, 35] };
    for (const [section, [share, ms]] of Object.entries(limits)) {
      const all = ['1', '2', '3'].map((seed) => of(section, seed));
      const few = all.filter((cell) => cell.share < share && cell.longest_ns < ms * 1e6);
      assert.ok(few.length > 1, JSON.stringify(all));
    }
  },

  'beside busy threads, waiters re-check'() {
    const cell = ['--cpus', '2', '--threads', '8', '--section', '15000', '--policy', 'lockword'];
    const [{ sleeps, share }] = cells(...cell, '--busy', '--ms', '300');
    assert.ok(sleeps > 0.19, `${sleeps} sleeps`);
    assert.ok(share < 3, `share ${share}`);
  },

  'a queue of spinning threads moves the line once for each turn'() {
    const [mcs] = cells('--cpus', '8', '--threads', '1', '--section', '1000', '--policy', 'MCS');
    assert.ok(Math.abs(mcs.transfers - 1) < 0.05, `${mcs.transfers}`);
  },

  'a line between two sockets takes longer'() {
    const line = ['--cpus', '8', '--threads', '1', '--section', '0', ...only('MCS')];
    const [one, two] = cells(...line, '--sockets', '1,2');
    assert.ok(two.mops < 0.8 * one.mops);
  },

  'with constants that can be scaled it simulates the same, until one is scaled'() {
    const crowd = ['--cpus', '2', '--threads', '4', '--section', '180', '--ms', '10'];
    const args = [...crowd, '--policy', 'lockword'];
    const first = cells(...args);
    assert.deepEqual(cellsOf(tuned, args), first);
    assert.notDeepEqual(cellsOf(tuned, [...args, '--scale', 'QUANTUM_NS=2']), first);
    assert.match(run(tuned, ['--scale', 'QUANTUM=2']).stderr, /the constants are .*\|QUANTUM_NS\|/);
  },

  'a mistake in the arguments is named'() {
    for (const [args, message] of [
      [['--cost', 'nothing=1'], /NAME=NS/],
      [['--cpus', 'two'], /list of numbers/],
      [['--cpus', '1000'], /too many/],
      [['--ms', '0'], /usage/],
      [['--policy', 'none'], /no such policy/],
      [['--visit', '1000'], /NS,EVERY/],
      [['--scale', 'LOOKS=2'], /lockword-simulate-tune/],
    ]) {
      const { status, stderr } = run(shipped, args);
      assert.equal(status, 2);
      assert.match(stderr, message);
    }
  },
};

try {
  for (const [name, test] of Object.entries(tests)) {
    test();
    console.log(`ok: ${name}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
