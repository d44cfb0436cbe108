/**
 * `lockword run --at` and three servers, each on a network of its own: whatever they send can get
 * lost, and nobody is told. `unshare -rnm mocha test/command/lease/partition.test.js`.
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  addNetwork,
  cut,
  endAll,
  etcd,
  file,
  inNetwork,
  leader,
  mend,
  program,
  queue,
  run,
  settled,
  start,
  startCluster,
  stopCluster,
  until,
} from './etcd.js';

describe('servers whose network is cut', function () {
  this.timeout(100_000);
  before(async () => {
    await startCluster(3, { hasNetworks: true });
    addNetwork('client', '10.77.0.100');
  });
  after(stopCluster);
  afterEach(async () => {
    mend();
    await endAll();
    await settled();
  });

  const others = (i) => [0, 1, 2].filter((k) => k !== i);

  /** A holder that asks these servers alone, and writes down when it runs. */
  async function holdAt(name, at, ttl, ...prefix) {
    const log = file(name);
    const words = [program, 'run', '--at', `etcd://${at}`, '--ttl', ttl, name];
    const script = `while :; do date +%s%N >>${log}; sleep 0.02; done`;
    const [first, ...rest] = [...prefix, ...words, 'sh', '-c', script];
    const holder = start(first, ...rest);
    await until(() => existsSync(log));
    holder.last = () => BigInt(readFileSync(log, 'utf8').trim().split('\n').at(-1));
    return holder;
  }

  /**
   * When the next one got the lock, and its token; it asks all servers, and waits for elections.
   */
  async function next(name) {
    const script = 'date +%s%N; echo $LOCKWORD_TOKEN';
    const { status, stdout, stderr } = await run('--ttl', '10', name, 'sh', '-c', script).ended;
    assert.equal(status, 0, stderr);
    const [at, token] = stdout.trim().split('\n');
    return { at: BigInt(at), token: Number(token) };
  }

  for (const how of ['both ways', 'it hears but is not heard', 'it is heard but does not hear'])
    it(`a leader that is cut off, ${how}: its holder has stopped before the next one`, async () => {
      const name = how.replaceAll(' ', '-');
      const i = await leader();
      const holder = await holdAt(name, etcd.addresses[i], 3);
      let key;
      await until(async () => ([key] = await queue(name))[0]);
      if (how !== 'it is heard but does not hear') cut([i], others(i));
      if (how !== 'it hears but is not heard') cut(others(i), [i]);
      etcd.address = etcd.addresses[others(i)[0]];
      const after = await next(name);
      const { status, stderr } = await holder.ended;
      assert.equal(status, 125);
      assert.match(stderr, /the lease is lost/);
      assert.ok(holder.last() < after.at, `${holder.last()} < ${after.at}`);
      assert.ok(after.token > Number(key.create_revision));
    });

  it('a follower that is cut off: who has asked it goes on with the others', async () => {
    const i = others(await leader())[0];
    const order = [i, ...others(i)].map((k) => etcd.addresses[k]);
    const holder = await holdAt('follower', order, 10);
    const waiter = start(
      program,
      'run',
      '--at',
      `etcd://${order}`,
      '--ttl',
      10,
      'follower',
      'true',
    );
    await until(async () => (await queue('follower')).length === 2);
    cut([i], others(i));
    cut(others(i), [i]);
    await Promise.race([sleep(8000), holder.ended.then(({ stderr }) => assert.fail(stderr))]);
    holder.kill('SIGTERM');
    const { status, stderr } = await waiter.ended;
    assert.equal(status, 0, stderr);
  });

  it('a server that is not heard by its clients: they go on with the others', async () => {
    const i = await leader();
    const order = [i, ...others(i)].map((k) => etcd.addresses[k]);
    const holder = await holdAt('unheard', order, 10);
    const waiter = start(program, 'run', '--at', `etcd://${order}`, '--ttl', 10, 'unheard', 'true');
    await until(async () => (await queue('unheard')).length === 2);
    cut([i], ['tests']);
    etcd.address = etcd.addresses[others(i)[0]];
    await Promise.race([sleep(8000), holder.ended.then(({ stderr }) => assert.fail(stderr))]);
    holder.kill('SIGTERM');
    const { status, stderr } = await waiter.ended;
    assert.equal(status, 0, stderr);
  });

  it("a holder's machine that is cut off: it has stopped before the next one", async () => {
    const holder = await holdAt('machine', etcd.addresses, 3, ...inNetwork('client'));
    start(...inNetwork('client'), 'ip', 'route', 'add', 'blackhole', '10.77.0.0/25');
    const after = await next('machine');
    assert.equal((await holder.ended).status, 125);
    assert.ok(holder.last() < after.at, `${holder.last()} < ${after.at}`);
  });

  it('all links fail and heal, again and again: nobody waits for ever', async () => {
    const turns = Array.from({ length: 8 }, (_, i) =>
      run('--ttl', '10', 'heal', 'sh', '-c', `echo ${i} $LOCKWORD_TOKEN >>${file('heal')}`),
    );
    for (let i = 0; i < 6; i++) {
      cut([i % 3], [...others(i % 3), 'tests']);
      await sleep(700);
      mend();
      await sleep(300);
    }
    for (const turn of turns) {
      const { status, stderr } = await turn.ended;
      assert.equal(status, 0, stderr);
    }
    const tokens = readFileSync(file('heal'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => Number(line.split(' ')[1]));
    assert.deepEqual(
      tokens,
      [...tokens].sort((a, b) => a - b),
    );
  });
});
