/** lockword/lease: the same queue in JavaScript, with a real etcd. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { connect, LeaseError } from '../../../js/src/lease.js';
import { install, RUNTIMES } from '../../js/runtimes.js';
import {
  ask,
  endAll,
  etcd,
  file,
  hold,
  queue,
  run,
  start,
  startCluster,
  startEtcd,
  stopCluster,
  stopEtcd,
  until,
} from './etcd.js';

const HOLDER = fileURLToPath(new URL('./holder.js', import.meta.url));

/** How the call failed. */
const failure = (call) =>
  call.then(
    () => assert.fail('it did not fail'),
    (error) => error,
  );

describe('lockword/lease', function () {
  this.timeout(40_000);
  let cluster;

  before(() => startCluster(1));
  after(stopCluster);
  beforeEach(() => (cluster = connect(`etcd://${etcd.addresses}`)));
  afterEach(endAll);

  it('locks, with a token that rises', async () => {
    const first = await cluster.lock('a', { ttl: 2000, holder: 'the test' });
    assert.ok(first.isHeld && first.token > 0n && !first.lost.aborted);
    const [{ value }] = await queue('a');
    assert.equal(JSON.parse(Buffer.from(value, 'base64')).holder, 'the test');
    const next = cluster.lock('a', { ttl: 2000 });
    await until(async () => (await queue('a')).length === 2);
    await first.unlock();
    await first.unlock();
    assert.equal(first.isHeld, false);
    const second = await next;
    assert.ok(second.token > first.token);
    await second[Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]();
    assert.equal(await cluster.runExclusive('a', ({ name }) => name), 'a');
    const thrown = new Error('thrown');
    const throws = () => {
      throw thrown;
    };
    assert.equal(await failure(cluster.runExclusive('a', throws)), thrown);
    assert.deepEqual(await queue('a'), []);
  });

  it('gives up in time, and on abort, and leaves nothing in the line', async () => {
    const held = await cluster.lock('b/%', { ttl: 2000 });
    for (const timeout of [0, 200]) {
      const from = performance.now();
      assert.equal((await failure(cluster.lock('b/%', timeout))).code, 'ERR_TIMEOUT');
      assert.ok(performance.now() - from >= timeout);
      // Nobody may be left to do it later: the process may end by the error.
      assert.equal((await queue('b%2F%25')).length, 1);
    }
    const control = new AbortController();
    const aborted = failure(cluster.lock('b/%', { signal: control.signal }));
    await until(async () => (await queue('b%2F%25')).length === 2);
    control.abort(new Error('enough'));
    assert.equal((await aborted).message, 'enough');
    assert.equal((await queue('b%2F%25')).length, 1);
    const { signal } = control;
    assert.equal((await failure(cluster.lock('b/%', { signal }))).message, 'enough');
    assert.equal((await queue('b%2F%25')).length, 1);
    await held.unlock();
  });

  it('refuses what it cannot use', async () => {
    for (const servers of ['http://a', 'etcd://', 'etcd://a,,b', 'etcd://a/b', undefined])
      assert.throws(() => connect(servers), TypeError);
    for (const [name, options, kind] of [
      ['', {}, RangeError],
      ['x'.repeat(56), {}, RangeError],
      [7, {}, TypeError],
      ['a', { ttl: 1999 }, RangeError],
      ['a', { ttl: '5' }, TypeError],
      ['a', { timout: 5 }, TypeError],
      ['a', { permits: 1 }, TypeError],
      ['a', 'soon', TypeError],
    ])
      assert.ok((await failure(cluster.lock(name, options))) instanceof kind, `${name}`);
  });

  it('stands in one line with the command, and with every runtime', async () => {
    const out = file('order');
    const held = await hold('c');
    const line = [];
    const join = async (ended) => {
      line.push(ended);
      await until(async () => (await queue('c')).length === line.length + 1);
    };
    const runtimes = install(RUNTIMES);
    for (const { name, path, options } of runtimes) {
      const child = start(path, ...options, HOLDER, `etcd://${etcd.address}`, 'c', out);
      await join(child.ended.then(({ status, stderr }) => assert.equal(status, 0, name + stderr)));
    }
    const write = ({ token }) => appendFileSync(out, `${token}\n`);
    await join(cluster.runExclusive('c', write, { ttl: 2000 }));
    await join(run('c', 'sh', '-c', `echo $LOCKWORD_TOKEN >>${out}`).ended);
    held.kill('SIGTERM');
    await Promise.all(line);
    const order = readFileSync(out, 'utf8').trim().split('\n').map(Number);
    assert.equal(order.length, runtimes.length + 2);
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
    );
  });

  it('keeps forty in their order', async () => {
    const held = await cluster.lock('d');
    const order = [];
    const all = [];
    for (let i = 0; i < 40; i++) {
      all.push(cluster.runExclusive('d', () => order.push(i)));
      await until(async () => (await queue('d')).length === i + 2);
    }
    await held.unlock();
    await Promise.all(all);
    assert.deepEqual(
      order,
      order.map((_, i) => i),
    );
  });

  it('renews the lease, and outlives a restart of the server', async () => {
    const lease = await cluster.lock('e', { ttl: 8000 });
    await sleep(2500);
    await stopEtcd();
    await startEtcd();
    await sleep(5000);
    assert.equal(lease.isHeld, true);
    await lease.unlock();
    assert.deepEqual(await queue('e'), []);
  });

  it('tells that the lease is lost before another could have the lock', async () => {
    const lease = await cluster.lock('f', { ttl: 2000 });
    await sleep(300);
    etcd.servers[0].kill('SIGSTOP');
    const from = performance.now();
    await new Promise((resolve) => lease.lost.addEventListener('abort', resolve));
    const after = performance.now() - from;
    etcd.servers[0].kill('SIGCONT');
    assert.ok(after < 1600, `${after} ms`);
    assert.equal(lease.lost.reason.code, 'ERR_LEASE_LOST');
    assert.equal(lease.isHeld, false);
    const error = await failure(lease.unlock());
    assert.ok(error instanceof LeaseError);
    assert.equal(error.code, 'ERR_LEASE_LOST');
  });

  it('tells at once that the lease is lost, where the event loop was blocked or stopped', async () => {
    const lease = await cluster.lock('l', { ttl: 2000 });
    const given = await cluster.lock('m', { ttl: 2000 });
    await given.unlock();
    const { lost } = lease;
    const told = once(lost, 'abort');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1300);
    // No timer has had its turn yet.
    assert.deepEqual([lost.aborted, lease.isHeld, lease.lost.aborted], [false, false, true]);
    assert.equal(lease.lost, lost);
    await told;
    assert.equal(given.lost.aborted, false);
    assert.equal((await failure(lease.unlock())).code, 'ERR_LEASE_LOST');
  });

  it('tells by the unlock that the lease was revoked a moment before', async () => {
    const revoke = async () => {
      const [{ lease }] = await queue('r');
      await ask('lease/revoke', { ID: lease });
    };
    const lease = await cluster.lock('r');
    await revoke();
    assert.equal((await failure(lease.unlock())).code, 'ERR_LEASE_LOST');
    assert.equal((await failure(cluster.runExclusive('r', revoke))).code, 'ERR_LEASE_LOST');
  });

  it('tells by the unlock that the key was deleted, and that another has the lock', async () => {
    const lease = await cluster.lock('k');
    const other = cluster.lock('k');
    await until(async () => (await queue('k')).length === 2);
    await ask('kv/deleterange', { key: (await queue('k'))[0].key });
    const held = await other;
    assert.equal((await failure(lease.unlock())).code, 'ERR_LEASE_LOST');
    assert.equal((await queue('k')).length, 1);
    await held.unlock();
    assert.deepEqual(await queue('k'), []);
  });

  it('lists who holds a lock and who waits, and breaks it', async () => {
    assert.deepEqual(await cluster.list('none'), []);
    assert.equal(await cluster.break('none'), undefined);
    const begin = Date.now();
    const lease = await cluster.lock('o/%é', { ttl: 2000, holder: 'the first' });
    const lost = once(lease.lost, 'abort');
    const waiting = cluster.lock('o/%é', { ttl: 2000, holder: 'the second' });
    const third = await hold('n%2F');
    await ask('kv/put', { key: btoa('lockword/o/by hand'), value: btoa('[no JSON') });
    await until(async () => (await cluster.list('o/%é')).length === 2);

    const [{ came, ...first }, second] = await cluster.list('o/%é');
    const { pid } = process;
    assert.deepEqual(first, {
      name: 'o/%é',
      place: 0,
      token: lease.token,
      held: 0,
      pid,
      host: hostname(),
      holder: 'the first',
    });
    assert.ok(came >= begin && came <= Date.now());
    assert.deepEqual([second.place, second.holder, second.held], [1, 'the second', 0]);
    const all = (await cluster.list()).map(({ name, place, holder }) => [name, place, holder]);
    assert.deepEqual(all, [
      ['n%2F', 0, all[0][2]],
      ['o', 0, '[no JSON'],
      ['o/%é', 0, 'the first'],
      ['o/%é', 1, 'the second'],
    ]);
    assert.match(all[0][2], /^sh -c echo/);

    assert.equal(await cluster.break('o/%é', 1n), undefined);
    assert.equal((await cluster.break('o/%é')).token, lease.token);
    const next = await waiting;
    assert.equal(next.token, second.token);
    await lost;
    assert.equal((await failure(lease.unlock())).code, 'ERR_LEASE_LOST');
    assert.equal((await cluster.break('o/%é', next.token)).holder, 'the second');
    assert.equal((await failure(next.unlock())).code, 'ERR_LEASE_LOST');
    assert.equal((await cluster.break('o')).holder, '[no JSON');
    third.kill('SIGTERM');
    await third.ended;
    assert.deepEqual(await cluster.list(), []);
    await assert.rejects(cluster.list(''), RangeError);
    await assert.rejects(cluster.break(), TypeError);
  });

  it('lists thousands of names, page by page', async () => {
    const names = Array.from({ length: 700 }, (_, i) => `name ${1000 + i}`);
    for (let i = 0; i < names.length; i += 100)
      await ask('kv/txn', {
        success: names.slice(i, i + 100).map((name) => ({
          request_put: { key: btoa(`lockword/${name}/1`), value: btoa('x'.repeat(2000)) },
        })),
      });
    assert.deepEqual(
      (await cluster.list()).map(({ name }) => name),
      names,
    );
    await ask('kv/deleterange', { key: btoa('lockword/'), range_end: btoa('lockword0') });
  });

  it('learns that its key was deleted, and that the holder was killed', async () => {
    const lease = await cluster.lock('g', { ttl: 2000 });
    const lost = new Promise((resolve) => lease.lost.addEventListener('abort', resolve));
    const [{ key }] = await queue('g');
    await ask('kv/deleterange', { key });
    await lost;
    const child = start(process.execPath, HOLDER, `etcd://${etcd.address}`, 'g');
    await until(async () => (await queue('g')).length === 1);
    const next = cluster.lock('g', { ttl: 2000 });
    await until(async () => (await queue('g')).length === 2);
    child.kill('SIGKILL');
    await (await next).unlock();
  });

  it('says which server does not respond', async () => {
    const none = connect('etcd://127.0.0.1:1,[::1]:1');
    const { code, message } = await failure(none.lock('h', { timeout: 300, ttl: 2000 }));
    assert.equal(code, 'ERR_UNREACHABLE');
    assert.match(message, /^etcd does not respond: (127\.0\.0\.1|\[::1\]):1: /);
    const both = connect(`etcd://127.0.0.1:1,${etcd.address}`);
    await (await both.lock('h')).unlock();
  });
});
