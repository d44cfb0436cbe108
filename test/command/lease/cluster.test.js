/** `lockword run --at` and three servers, some of which are killed or frozen. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  endAll,
  etcd,
  file,
  hold,
  leader,
  queue,
  run,
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
