/** `lockword run --at` and three servers, some of which are killed or frozen. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  ask,
  base64,
  crowd,
  endAll,
  etcd,
  file,
  hold,
  leader,
  program,
  queue,
  run,
  start,
  startCluster,
  startEtcd,
  stopCluster,
  stopEtcd,
  until,
} from './etcd.js';

afterEach(endAll);

describe('a cluster of three', function () {
  this.timeout(200_000);
  before(() => startCluster(3));
  after(stopCluster);
  afterEach(() => etcd.servers.forEach((server) => server.kill('SIGCONT')));

  it('200 clients in line, while leaders are killed: all have their turn, in order', async () => {
    const turn = `flock -n ${file('overlap')} sh -c 'echo $LOCKWORD_TOKEN >>${file('tokens')}'`;
    const holder = await hold('crowd', `until [ -e ${file('crowd')} ]; do sleep 0.1; done`, 30);
    const clients = Array.from({ length: 200 }, () =>
      run('--ttl', '30', 'crowd', 'sh', '-c', turn),
    );
    await until(async () => (await queue('crowd')).length === 201);
    writeFileSync(file('crowd'), '');
    const tokens = () =>
      existsSync(file('tokens')) ? readFileSync(file('tokens'), 'utf8').trim().split('\n') : [];
    for (const some of [20, 100]) {
      await until(() => tokens().length >= some);
      const i = await leader();
      await stopEtcd(i);
      await startEtcd(i);
    }
    assert.equal((await holder.ended).status, 0);
    for (const client of clients) {
      const { status, stderr } = await client.ended;
      assert.equal(status, 0, stderr);
    }
    const numbers = tokens().map(Number);
    assert.equal(numbers.length, 200);
    assert.deepEqual(
      numbers,
      [...numbers].sort((a, b) => a - b),
    );
  });

  it('10,000 names, one after the other, and 500 holders at once', async () => {
    const words = [`etcd://${etcd.addresses}`, file('names')];
    const all = await start(crowd, ...words, 10_000, 16, 1, 30, 0).ended;
    assert.equal(all.status, 0, all.stdout);
    assert.match(all.stdout, /^10000 turns, 0 lost, 0 not taken$/m);
    const some = await start(crowd, ...words, 500, 500, 0, 20, 0).ended;
    assert.equal(some.status, 0, some.stdout);
    assert.match(some.stdout, /^500 turns, 0 lost, 0 not taken$/m);
  }).timeout(600_000); // other programs may have most of the CPUs

  it('10,000 locks that are held: they are listed, and no other is slower', async () => {
    for (let i = 0; i < 100; i++)
      await ask('kv/txn', {
        success: Array.from({ length: 100 }, (_, k) => ({
          request_put: { key: base64(`lockword/held-${100 * i + k}/1`), value: base64('by hand') },
        })),
      });
    const list = (...words) =>
      start(program, 'list', '--at', `etcd://${etcd.addresses}`, ...words).ended;
    assert.equal(JSON.parse((await list('--json')).stdout).length, 10_000);
    assert.equal((await list()).stdout.split('\n').length, 10_002);
    assert.equal((await run('--try', 'held-9999', 'true').ended).status, 1);
    assert.equal((await run('--try', 'held', 'true').ended).status, 0);
    await ask('kv/deleterange', {
      key: base64('lockword/held-'),
      range_end: base64('lockword/held.'),
    });
  });

  it('one server is frozen: a holder and a waiter go on with the others', async () => {
    for (const [turn, frozen] of [0, await leader()].entries()) {
      await leader();
      const name = `one-${turn}`;
      const holder = await hold(name, `until [ -e ${file(name)} ]; do sleep 0.1; done`, 10);
      const next = run('--ttl', '10', name, 'sh', '-c', 'echo $LOCKWORD_TOKEN');
      await until(async () => (await queue(name)).length === 2);
      etcd.servers[frozen].kill('SIGSTOP');
      etcd.address = etcd.addresses[(frozen + 1) % 3];
      await sleep(4000); // until both have had to renew
      writeFileSync(file(name), '');
      assert.equal((await holder.ended).status, 0);
      const { status, stdout, stderr } = await next.ended;
      assert.equal(status, 0, stderr);
      assert.ok(Number(stdout) > holder.token);
      etcd.servers[frozen].kill('SIGCONT');
    }
  });

  it('the majority is frozen: the holder stops in time, and the next one goes on', async () => {
    await leader();
    const log = file('majority');
    const holder = await hold('m', `while :; do date +%s%N >>${log}; sleep 0.02; done`, 3);
    const others = etcd.servers.filter((_, i) => i !== etcd.addresses.indexOf(etcd.address));
    for (const server of others) server.kill('SIGSTOP');
    assert.equal((await holder.ended).status, 125);
    for (const server of others) server.kill('SIGCONT');
    const { status, stdout, stderr } = await run(
      '-w',
      '60',
      'm',
      'sh',
      '-c',
      'echo $LOCKWORD_TOKEN',
    ).ended;
    assert.equal(status, 0, stderr);
    assert.ok(Number(stdout) > holder.token);
  });
});
