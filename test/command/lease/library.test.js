/** liblockword-lease, with a real etcd. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  ask,
  calls,
  endAll,
  etcd,
  file,
  isUp,
  queue,
  start,
  startCluster,
  startEtcd,
  stopCluster,
  stopEtcd,
  until,
  user,
} from './etcd.js';

afterEach(endAll);

describe('liblockword-lease', function () {
  this.timeout(40_000);
  before(() => startCluster(1));
  after(stopCluster);

  /** A C program that takes the lock, and has said so. */
  async function take(name, servers = `etcd://${etcd.address}`) {
    const child = start(user, servers, name);
    child.said = '';
    child.stdout.on('data', (data) => (child.said += data));
    await until(() => child.said.includes('\n'));
    return child;
  }

  it('locks, tells the token, and unlocks', async () => {
    const child = await take('c');
    const [{ create_revision, lease }] = await queue('c');
    child.stdin.end();
    const { status, stdout } = await child.ended;
    assert.equal(status, 0);
    assert.equal(stdout, `held: 1, ${create_revision}\nheld: 1\nunlocked\n`);
    assert.deepEqual(await queue('c'), []);
    assert.equal((await ask('lease/timetolive', { ID: lease })).TTL, '-1');
  });

  it('tells once that the lease is lost', async () => {
    const child = await take('c');
    await ask('lease/revoke', { ID: (await queue('c'))[0].lease });
    await until(() => child.said.includes('lost'));
    child.stdin.end();
    const { stdout } = await child.ended;
    assert.match(stdout, /^held: 1, \d+\nlost, 1\nheld: 0\nhad been lost\n$/);
  });

  it('tells by the unlock that the lease was revoked a moment before', async () => {
    const child = await take('c');
    await ask('lease/revoke', { ID: (await queue('c'))[0].lease });
    child.stdin.end();
    assert.match((await child.ended).stdout, /\nhad been lost\n$/);
  });

  it('tells by the unlock that the key was deleted, and that another has the lock', async () => {
    const child = await take('c');
    await ask('kv/deleterange', { key: (await queue('c'))[0].key });
    const other = await take('c');
    child.stdin.end();
    assert.match((await child.ended).stdout, /\nhad been lost\n$/);
    other.stdin.end();
    assert.match((await other.ended).stdout, /\nunlocked\n$/);
  });

  it('reads the text about the holder while it locks, and not later', async () => {
    const first = await take('holder');
    const second = start(user, `etcd://${etcd.address}`, 'holder');
    await until(async () => (await queue('holder')).length === 2);
    first.stdin.end();
    // It writes down since when it holds the lock, a second later.
    const said = async () => {
      const [{ value }] = await queue('holder');
      return JSON.parse(Buffer.from(value, 'base64'));
    };
    await until(async () => (await said()).held);
    assert.equal((await said()).holder, 'the user');
    second.stdin.end();
    await second.ended;
  });

  for (const [check, what] of [
    ['memory', 'what has no memory grants no lock, hides no holder and loses no lease'],
    ['quiet', 'no call ends a thread that is cancelled, or touches errno'],
    ['now', 'the line is listed and broken without a wait'],
    ['reason', 'there is no reason where none is known'],
  ])
    it(what, async () => {
      // Twice, so that it does not pause before it asks again.
      const servers = `etcd://${etcd.address},${etcd.address}`;
      const { stdout } = await start(calls, servers, check).ended;
      assert.equal(stdout, '0 wrong\n');
    }).timeout(100_000);

  it('tells it when the server is gone, before the time-to-live is over', async () => {
    const child = await take('c');
    const begin = performance.now();
    await stopEtcd();
    await until(() => child.said.includes('lost'));
    assert.ok(performance.now() - begin < 2000);
    await startEtcd();
    await until(isUp);
    child.stdin.end();
    assert.match((await child.ended).stdout, /lost, 1\nheld: 0\nhad been lost\n$/);
  });

  it('a wait ends by a descriptor, and leaves the line', async () => {
    const holder = await take('c');
    const waiter = start(user, `etcd://${etcd.address}`, 'c', 'cancel');
    await until(async () => (await queue('c')).length === 2);
    waiter.stdin.end();
    assert.equal((await waiter.ended).stdout, 'not taken: cancelled\n');
    assert.equal((await queue('c')).length, 1);
    holder.stdin.end();
    await holder.ended;
  });

  it('a waiter that loses its lease joins the line again', async () => {
    const holder = await take('c');
    const waiter = start(user, `etcd://${etcd.address}`, 'c');
    await until(async () => (await queue('c')).length === 2);
    const [, { lease }] = await queue('c');
    await ask('lease/revoke', { ID: lease });
    await until(async () => (await queue('c')).some((key, i) => i === 1 && key.lease !== lease));
    holder.stdin.end();
    waiter.stdin.end();
    assert.match((await waiter.ended).stdout, /unlocked\n$/);
    await holder.ended;
  });

  it('tells in time that the lease is lost, though the look-up of a name hangs', async () => {
    // Once the first server is gone, the second one is asked.
    const child = await take('h', `etcd://${etcd.address},hangs:1`);
    const begin = performance.now();
    await stopEtcd();
    await until(() => child.said.includes('lost'));
    assert.ok(performance.now() - begin < 1750, `after ${performance.now() - begin} ms`);
    child.stdin.end();
    assert.match((await child.ended).stdout, /had been lost\n$/);
    const { stdout } = await start(user, 'etcd://hangs:1', 'h').ended;
    assert.match(stdout, /not taken: No route to host/);
    assert.ok(performance.now() - begin < 10_000, `after ${performance.now() - begin} ms`);
    await startEtcd();
    await until(isUp);
  });

  it('tells at once that the machine has slept, while a server does not respond', async () => {
    Object.assign(process.env, { LW_SLEPT: file('slept'), LW_TTL: '16' });
    const child = await take('s');
    delete process.env.LW_SLEPT;
    delete process.env.LW_TTL;
    etcd.servers[0].kill('SIGSTOP');
    await sleep(4300); // it renews the lease, and gives the server two seconds
    writeFileSync(file('slept'), '');
    const begin = performance.now();
    await until(() => child.said.includes('lost'));
    assert.ok(performance.now() - begin < 1000, `after ${performance.now() - begin} ms`);
    etcd.servers[0].kill('SIGCONT');
    child.stdin.end();
    assert.match((await child.ended).stdout, /lost, 1\nheld: 0\nhad been lost\n$/);
  });

  it('a wall clock that jumps moves nothing', async () => {
    process.env.LW_CLOCK = 'jumps';
    const child = await take('clock');
    const waiter = start(user, `etcd://${etcd.address}`, 'clock');
    delete process.env.LW_CLOCK;
    await until(async () => (await queue('clock')).length === 2);
    const tokens = (await queue('clock')).map((key) => key.create_revision);
    await sleep(3500);
    assert.deepEqual(
      (await queue('clock')).map((key) => key.create_revision),
      tokens,
    );
    child.stdin.end();
    waiter.stdin.end();
    assert.match((await child.ended).stdout, /unlocked\n$/);
    assert.match(
      (await waiter.ended).stdout,
      new RegExp(`^held: 1, ${tokens[1]}\n.*\nunlocked\n$`),
    );
  });
});
