/**
 * `lockword run --at` and liblockword-lease, with a real etcd on this machine: one server, and with
 * LW_CLUSTER=1 three, some of which are killed or frozen.
 */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const build = resolve(import.meta.dirname, '../../build/gcc');
const program = join(build, 'command/lockword');
const user = join(build, 'test/lease-user');

let folder;
/** The servers' processes, and their ports: one for clients and one for each other. */
let servers;
let ports;
/** Whom the clients ask, and whom the tests do. */
let addresses;
let address;
/** What a test started and did not wait for. */
const running = new Set();

const file = (name) => join(folder, name);

/** Starts a program; `ended` resolves to how it ended, and what it wrote. */
function start(command, ...args) {
  const child = spawn(command, args, { env: { ...process.env, DIR: folder } });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  running.add(child);
  child.ended = once(child, 'close').then(([status, signal]) => {
    running.delete(child);
    return { status, signal, stdout, stderr };
  });
  return child;
}

/** `lockword run --at` this server; the last of several --ttl counts. */
const run = (...args) =>
  start(program, 'run', '--at', `etcd://${addresses}`, '--ttl', '2', ...args);

/** Waits until it is true. */
async function until(isTrue) {
  for (let i = 0; i < 2000; i++) {
    if (await isTrue()) return;
    await sleep(10);
  }
  throw new Error('it never happened');
}

/** What the server's gateway says. */
async function ask(path, body) {
  const response = await fetch(`http://${address}/v3/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  return response.json();
}

/** What a server says that grants each lease. */
const LEASE = { ID: '7', TTL: '2', header: { revision: '1', raft_term: '1' }, succeeded: true };

const base64 = (text) => Buffer.from(text).toString('base64');

/** The keys of the queue of this name, and who made them. */
async function queue(name) {
  const { kvs = [] } = await ask('kv/range', {
    key: base64(`lockword/${name}/`),
    range_end: base64(`lockword/${name}0`),
    sort_target: 'CREATE',
  });
  return kvs;
}

/** A lock that is held, by a shell command that first writes its token. */
async function hold(name, command = 'exec sleep 100', ttl = 2) {
  const out = file(`${name}.held`);
  rmSync(out, { force: true });
  const holder = run('--ttl', ttl, name, 'sh', '-c', `echo $LOCKWORD_TOKEN >${out}; ${command}`);
  await until(() => existsSync(out) && readFileSync(out, 'utf8').endsWith('\n'));
  holder.token = Number(readFileSync(out, 'utf8'));
  return holder;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

const isUp = () =>
  ask('kv/range', { key: base64('a') }).then(
    () => true,
    () => false,
  );

async function startEtcd(i = 0) {
  const url = (port) => `http://127.0.0.1:${port}`;
  const [client, peer] = ports[i].map(url);
  servers[i] = spawn(
    'etcd',
    [
      ['--name', `s${i}`, '--data-dir', file(`etcd${i}`), '--log-level', 'error'],
      ['--listen-client-urls', client, '--advertise-client-urls', client],
      ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ['--initial-cluster', ports.map(([, peer], i) => `s${i}=${url(peer)}`).join()],
    ].flat(),
    { stdio: 'ignore' },
  );
}

async function stopEtcd(i = 0) {
  const ended = once(servers[i], 'exit');
  servers[i].kill('SIGKILL');
  await ended;
}

async function startCluster(count) {
  folder = mkdtempSync(join(tmpdir(), 'lockword-lease-'));
  servers = [];
  ports = [];
  for (let i = 0; i < count; i++) ports.push([await freePort(), await freePort()]);
  addresses = ports.map(([port]) => `127.0.0.1:${port}`);
  [address] = addresses;
  for (let i = 0; i < count; i++) await startEtcd(i);
  await until(isUp);
}

async function stopCluster() {
  for (const i of servers.keys()) await stopEtcd(i);
  rmSync(folder, { recursive: true });
}

afterEach(async () => {
  for (const child of running) {
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    await child.ended;
  }
});

describe('lockword run --at', function () {
  this.timeout(40_000);
  before(() => startCluster(1));
  after(stopCluster);

  it('runs the command with a token, and ends with its status', async () => {
    const { status, stdout, stderr } = await run(
      'a',
      'sh',
      '-c',
      'echo $LOCKWORD_NAME $LOCKWORD_TOKEN; exit 7',
    ).ended;
    assert.equal(status, 7, stderr);
    assert.match(stdout, /^a [1-9]\d*\n$/);
    assert.deepEqual(await queue('a'), []);
  });

  it('holds one at a time, first come, first served, with growing tokens', async () => {
    const holder = await hold('line', `until [ -e ${file('go')} ]; do sleep 0.01; done`);
    const waiters = [];
    for (let i = 0; i < 8; i++) {
      waiters.push(run('line', 'sh', '-c', `echo ${i} $LOCKWORD_TOKEN >>${file('turns')}`));
      await until(async () => (await queue('line')).length === i + 2);
    }
    writeFileSync(file('go'), '');
    for (const child of [holder, ...waiters]) assert.equal((await child.ended).status, 0);
    const turns = readFileSync(file('turns'), 'utf8').trim().split('\n');
    const numbers = turns.map((turn) => turn.split(' ').map(Number));
    assert.deepEqual(
      numbers.map(([i]) => i),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
    let last = holder.token;
    for (const [, token] of numbers) {
      assert.ok(token > last, `${token} after ${last}`);
      last = token;
    }
  });

  it('gives up at once, or after a time', async () => {
    await hold('busy');
    assert.equal((await run('--try', 'busy', 'true').ended).status, 1);
    assert.equal((await run('-w', '0.2', '-E', '9', 'busy', 'true').ended).status, 9);
    assert.equal((await queue('busy')).length, 1);
  });

  it('names may have any characters, and are no prefixes of each other', async () => {
    await hold('a%b');
    for (const name of ['a', 'a%b/c', 'a%', 'a b"ü'])
      assert.equal((await run('--try', name, 'true').ended).status, 0, name);
    await hold('slash', 'exec sleep 100');
    assert.equal((await run('--try', 'slash', 'true').ended).status, 1);
  });

  it('keeps the lock for longer than the time-to-live', async () => {
    const holder = await hold('long');
    const [{ create_revision }] = await queue('long');
    await sleep(3500);
    assert.equal(holder.exitCode, null);
    assert.equal((await queue('long'))[0].create_revision, create_revision);
    assert.equal(Number(create_revision), holder.token);
  });

  it('a waiter that a signal ends leaves the line at once', async () => {
    await hold('leave');
    const waiter = run('leave', 'true');
    await until(async () => (await queue('leave')).length === 2);
    waiter.kill('SIGINT');
    assert.equal((await waiter.ended).signal, 'SIGINT');
    assert.equal((await queue('leave')).length, 1);
  });

  it('a holder that is killed loses the lock when the time-to-live is over', async () => {
    const holder = await hold('killed');
    const next = run('killed', 'sh', '-c', 'echo $LOCKWORD_TOKEN');
    await until(async () => (await queue('killed')).length === 2);
    holder.kill('SIGKILL');
    const { status, stdout } = await next.ended;
    assert.equal(status, 0);
    assert.ok(Number(stdout) > holder.token);
  });

  it('a holder that is frozen: its command is stopped before another gets it', async () => {
    const log = file('frozen');
    // It ignores SIGTERM: only SIGKILL ends it.
    const holder = await hold(
      'frozen',
      `trap '' TERM; while :; do date +%s%N >>${log}; sleep 0.02; done`,
    );
    const next = run('frozen', 'sh', '-c', `date +%s%N; sleep 0.3`);
    await until(async () => (await queue('frozen')).length === 2);
    holder.kill('SIGSTOP');
    const { stdout } = await next.ended;
    const last = readFileSync(log, 'utf8').trim().split('\n').at(-1);
    assert.ok(BigInt(last) < BigInt(stdout), `${last} < ${stdout}`);
    holder.kill('SIGCONT');
    const { status, stderr } = await holder.ended;
    assert.equal(status, 125);
    assert.match(stderr, /the lease is lost/);
  });

  it('a lease that is revoked: the command is killed', async () => {
    const holder = await hold('revoked', `trap '' TERM; while :; do sleep 1; done`);
    const [{ lease }] = await queue('revoked');
    await ask('lease/revoke', { ID: lease });
    assert.equal((await holder.ended).status, 125);
  });

  it('everything is frozen: the late write is refused by what checks tokens', async () => {
    const guarded = file('guarded');
    // A resource: it refuses tokens below the greatest that it has seen.
    const write = (text) =>
      `flock ${file('resource')} sh -c '
        [ $LOCKWORD_TOKEN -ge $(cat ${guarded}.token 2>/dev/null || echo 0) ] || exit 3
        echo $LOCKWORD_TOKEN >${guarded}.token; echo ${text} >>${guarded}'`;
    // In a session of its own the shell is not killed with the rest, as a machine that is frozen
    // is not: it writes when it wakes up.
    const writer = file('writer');
    writeFileSync(
      writer,
      `echo $$ >${file('late.pid')}; kill -STOP $$
       ${write('late')}; echo $? >${file('late.status')}`,
    );
    const holder = await hold('late', `setsid sh ${writer} & exec sleep 100`);
    await until(() => existsSync(file('late.pid')) && readFileSync(file('late.pid'), 'utf8'));
    const pid = Number(readFileSync(file('late.pid'), 'utf8'));
    const group = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8');
    // The watcher cannot kill it: it is stopped, too.
    process.kill(Number(group), 'SIGSTOP');
    holder.kill('SIGSTOP');
    const next = await run('late', 'sh', '-c', write('next')).ended;
    assert.equal(next.status, 0, next.stderr);
    process.kill(pid, 'SIGCONT');
    await until(() => existsSync(file('late.status')));
    assert.equal(readFileSync(file('late.status'), 'utf8'), '3\n');
    assert.equal(readFileSync(guarded, 'utf8'), 'next\n');
    process.kill(Number(group), 'SIGCONT');
    holder.kill('SIGCONT');
    assert.equal((await holder.ended).status, 125);
  });

  it('a server that restarts loses no lock', async () => {
    const holder = await hold('restart', `until [ -e ${file('on')} ]; do sleep 0.01; done`, 10);
    const next = run('--ttl', '10', 'restart', 'sh', '-c', 'echo $LOCKWORD_TOKEN');
    await until(async () => (await queue('restart')).length === 2);
    await stopEtcd();
    await startEtcd();
    await until(isUp);
    assert.equal((await queue('restart')).length, 2);
    writeFileSync(file('on'), '');
    assert.equal((await holder.ended).status, 0);
    const { status, stdout, stderr } = await next.ended;
    assert.equal(status, 0, stderr);
    assert.ok(Number(stdout) > holder.token);
  });

  it('a server that is gone: the command is stopped in time', async () => {
    const holder = await hold('gone', 'exec sleep 100');
    const begin = performance.now();
    await stopEtcd();
    const { status, stderr } = await holder.ended;
    assert.equal(status, 125);
    assert.match(stderr, /the lease is lost/);
    assert.ok(performance.now() - begin > 500);
    const { status: none, stderr: reason } = await run('gone', 'true').ended;
    assert.equal(none, 125);
    assert.match(reason, /etcd does not respond: 127/);
    await startEtcd();
    await until(isUp);
  });

  it('asks the next server if one does not respond', async () => {
    const closed = await freePort();
    const at = `etcd://127.0.0.1:${closed},${address}`;
    const { status, stderr } = await start(program, 'run', '--at', at, 'two', 'true').ended;
    assert.equal(status, 0, stderr);
  });

  it('a failure is one, though it has no field named so, as in etcd 3.6', async () => {
    for (const failing of ['lease/grant', 'kv/txn']) {
      const server = createHttpServer((request, response) => {
        const fails = request.url.endsWith(failing);
        response.statusCode = fails ? 503 : 200;
        response.end(JSON.stringify(fails ? { code: 14, message: 'no leader' } : LEASE));
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const at = `etcd://127.0.0.1:${server.address().port}`;
      const out = file('ran');
      const one = start(program, 'run', '--at', at, '--ttl', '2', '--try', 'x', 'touch', out);
      const { status, stderr } = await one.ended;
      server.close();
      assert.equal(status, 125);
      assert.match(stderr, /etcd does not respond: .*no leader/);
      assert.equal(existsSync(out), false);
    }
  });

  it('a watcher that is killed does not give the lock away', async () => {
    const holder = await hold('watched', 'sleep 100 >&- 2>&- & echo $! >$DIR/pid; wait');
    const before = performance.now();
    const { stdout: watcher } = await start('pgrep', '-P', holder.pid).ended;
    process.kill(Number(watcher), 'SIGKILL');
    const { status, stderr } = await holder.ended;
    assert.equal(status, 125);
    assert.match(stderr, /frees the lock when the lease has run out/);
    assert.equal((await run('watched', 'true').ended).status, 0);
    assert.ok(performance.now() - before > 900);
    process.kill(Number(readFileSync(file('pid'), 'utf8')), 'SIGKILL');
  });

  it('refuses what it cannot do', async () => {
    for (const [args, message] of [
      [['--at', 'http://a:1', 'n', 'true'], /etcd:\/\/HOST:PORT/],
      [['--at', 'etcd://a/b', 'n', 'true'], /etcd:\/\/HOST:PORT/],
      [['--at', 'etcd://a:1', '--once', 'n', 'true'], /--once/],
      [['--at', 'etcd://a:1', '--region', 'f', 'n', 'true'], /--region/],
      [['--at', 'etcd://a:1', '--ttl', '1', 'n', 'true'], /2 to 3600/],
      [['--ttl', '5', 'n', 'true'], /--ttl is for --at/],
      [['--at', `etcd://${address}`, '', 'true'], /not a name/],
      [['--at', `etcd://${address}`, 'n'.repeat(56), 'true'], /too long/],
    ]) {
      const { status, stderr } = await start(program, 'run', ...args).ended;
      assert.equal(status, 125, args.join(' '));
      assert.match(stderr, message);
    }
  });
});

describe('liblockword-lease', function () {
  this.timeout(40_000);
  before(() => startCluster(1));
  after(stopCluster);

  /** A C program that takes the lock, and has said so. */
  async function take(name) {
    const child = start(user, `etcd://${address}`, name);
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
    const waiter = start(user, `etcd://${address}`, 'c', 'cancel');
    await until(async () => (await queue('c')).length === 2);
    waiter.stdin.end();
    assert.equal((await waiter.ended).stdout, 'not taken: cancelled\n');
    assert.equal((await queue('c')).length, 1);
    holder.stdin.end();
    await holder.ended;
  });

  it('a waiter that loses its lease joins the line again', async () => {
    const holder = await take('c');
    const waiter = start(user, `etcd://${address}`, 'c');
    await until(async () => (await queue('c')).length === 2);
    const [, { lease }] = await queue('c');
    await ask('lease/revoke', { ID: lease });
    await until(async () => (await queue('c')).some((key, i) => i === 1 && key.lease !== lease));
    holder.stdin.end();
    waiter.stdin.end();
    assert.match((await waiter.ended).stdout, /unlocked\n$/);
    await holder.ended;
  });
});

const describeIf = (isWanted) => (isWanted ? describe : () => {});
describeIf(process.env.LW_CLUSTER)('a cluster of three', function () {
  this.timeout(200_000);
  before(() => startCluster(3));
  after(stopCluster);
  afterEach(() => servers.forEach((server) => server.kill('SIGCONT')));

  /** The number of the server that leads. */
  async function leader() {
    for (;;) {
      for (const i of servers.keys()) {
        address = addresses[i];
        const status = await ask('maintenance/status', {}).catch(() => null);
        if (status?.leader && status.leader === status.header.member_id) return i;
      }
      await sleep(50);
    }
  }

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
      servers[frozen].kill('SIGSTOP');
      address = addresses[(frozen + 1) % 3];
      await sleep(4000); // until both have had to renew
      writeFileSync(file(name), '');
      assert.equal((await holder.ended).status, 0);
      const { status, stdout, stderr } = await next.ended;
      assert.equal(status, 0, stderr);
      assert.ok(Number(stdout) > holder.token);
      servers[frozen].kill('SIGCONT');
    }
  });

  it('the majority is frozen: the holder stops in time, and the next one goes on', async () => {
    await leader();
    const log = file('majority');
    const holder = await hold('m', `while :; do date +%s%N >>${log}; sleep 0.02; done`, 3);
    const others = servers.filter((_, i) => i !== addresses.indexOf(address));
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
