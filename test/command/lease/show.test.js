/** `lockword list`, `show`, `wait` and `break` with --at, and a real etcd. */

import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  ask,
  base64,
  endAll,
  etcd,
  freePort,
  hold,
  program,
  queue,
  run,
  start,
  startCluster,
  stopCluster,
  until,
} from './etcd.js';

afterEach(endAll);

/** `lockword SUBCOMMAND --at` this server, and what came of it. */
const lockword = (subcommand, ...args) =>
  start(program, subcommand, '--at', `etcd://${etcd.addresses}`, ...args).ended;

async function show(name) {
  const { status, stdout, stderr } = await lockword('show', '--json', name);
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

/** Puts a key as another program could. */
const put = (key, value) => ask('kv/put', { key: base64(key), value: base64(value) });

describe('lockword list, show, wait, break --at', function () {
  this.timeout(40_000);
  before(() => startCluster(1));
  after(stopCluster);

  it('show the holder, its token and lease, and the line', async () => {
    const begin = Date.now();
    const holder = await hold('a%b');
    const waiter = run('a%b', 'echo', 'my turn');
    await until(async () => (await queue('a%25b')).length === 2);
    const lock = await show('a%b');
    assert.equal(lock.name, 'a%b');
    assert.equal(lock.held, true);
    assert.equal(lock.holder.pid, holder.pid);
    assert.equal(lock.holder.host, hostname());
    assert.equal(lock.holder.token, holder.token);
    assert.match(lock.holder.command, /^sh -c echo \$LOCKWORD_TOKEN .*; exec sleep 100$/);
    assert.ok(Math.abs(Date.parse(lock.holder.since) - begin) < 5000, lock.holder.since);
    assert.equal(lock.holder.ttlSeconds, 2);
    assert.ok([0, 1, 2].includes(lock.holder.leftSeconds), lock.holder.leftSeconds);
    assert.equal(lock.waiters, 1);
    assert.equal(lock.line.length, 1);
    assert.equal(lock.line[0].pid, waiter.pid);
    assert.equal(lock.line[0].command, 'echo my turn');
    assert.ok(lock.line[0].token > holder.token);

    const { stdout } = await lockword('show', 'a%b');
    const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d';
    for (const line of [
      '^a%b, on etcd: held, 1 waits$',
      `^  holder +process ${holder.pid} on ${hostname()}: sh -c .* sleep 100$`,
      `^ +token ${holder.token}, since ${time}, \\d of 2 s left$`,
      `^  waiter 1 +process ${waiter.pid} on ${hostname()}: echo my turn$`,
    ])
      assert.match(stdout, new RegExp(line, 'm'));

    const list = (await lockword('list')).stdout.split('\n');
    assert.match(list[0], /^NAME +TOKEN +WAITERS +SINCE +HOST +PID +COMMAND$/);
    assert.match(
      list[1],
      new RegExp(`^a%b +${holder.token} +1 +${time} ${hostname()} +${holder.pid}  sh -c echo`),
    );
    const [listed] = JSON.parse((await lockword('list', '--json')).stdout);
    assert.equal(listed.line[0].pid, waiter.pid);
    assert.equal('leftSeconds' in listed.holder, false);
  });

  it('say since when it is held, and not since when it was waited for', async () => {
    const holder = await hold('since');
    const waiter = run('since', 'sleep', '100');
    await until(async () => (await queue('since')).length === 2);
    const came = (await show('since')).line[0].since;
    await sleep(200);
    const granted = Date.now();
    holder.kill('SIGTERM');
    await until(async () => Date.parse((await show('since')).holder.since) > Date.parse(came));
    const lock = await show('since');
    assert.equal(lock.holder.pid, waiter.pid);
    assert.ok(Date.parse(lock.holder.since) >= granted);
    // The key is still the same one.
    assert.equal((await queue('since'))[0].create_revision, String(lock.holder.token));
  });

  it('show nothing where there is nothing', async () => {
    assert.equal((await lockword('list', '--json')).stdout, '[]\n');
    const { status, stderr } = await lockword('show', 'nothing');
    assert.deepEqual([status, stderr], [1, "lockword: nobody holds 'nothing'\n"]);
    assert.equal((await lockword('break', 'nothing')).status, 1);
  });

  it('show what other programs have written, and no more than a terminal should get', async () => {
    await put('lockword/odd/1', 'by hand\x1b[2J');
    await put('lockword/odd/2', '{"holder":"x","pid":-1,"came":"soon"}');
    await put('lockword/no line', 'x');
    await put(`lockword/${'n'.repeat(56)}/1`, 'x');
    await put('lockword//1', 'x');
    const { stdout } = await lockword('list');
    assert.equal(stdout.split('\n').length, 3, stdout);
    assert.match(stdout, /^odd +\d+ +1 +0 {2}by hand \[2J$/m);
    assert.match((await lockword('show', 'odd')).stdout, /holder +by hand \[2J\n +token \d+$/m);
    assert.equal((await run('--try', 'odd', 'true').ended).status, 1);
    const { status, stdout: said } = await lockword('break', 'odd');
    assert.deepEqual([status, said], [0, "took 'odd' from by hand [2J\n"]);
    assert.equal((await lockword('break', 'odd')).status, 0);
    assert.equal((await run('--try', 'odd', 'true').ended).status, 0);
    await put('lockword/a\x1b[2J/1', 'x');
    assert.match((await lockword('show', 'a\x1b[2J')).stdout, /^a \[2J, on etcd: held, 0 wait$/m);
    assert.equal((await lockword('break', 'a\x1b[2J')).stdout, "took 'a [2J' from x\n");
  });

  it('list names of any length in columns', async () => {
    await hold('short');
    const long = 'n'.repeat(55);
    await hold(long);
    const lines = (await lockword('list')).stdout.trimEnd().split('\n');
    const columns = lines.map((line) => line.search(/ (SINCE|\d{4}-\d\d-\d\d) /));
    assert.deepEqual(columns, Array(3).fill(55 + 11 + 9 + 1));
  });

  it('list thousands of names, page by page', async () => {
    const names = Array.from({ length: 1500 }, (_, i) => `name ${String(i).padStart(4, '0')}`);
    for (let i = 0; i < names.length; i += 100)
      await ask('kv/txn', {
        success: names.slice(i, i + 100).map((name) => ({
          request_put: { key: base64(`lockword/${name}/1`), value: base64('x'.repeat(2000)) },
        })),
      });
    const locks = JSON.parse((await lockword('list', '--json')).stdout);
    assert.deepEqual(
      locks.map(({ name }) => name).filter((name) => name.startsWith('name ')),
      names,
    );
    await ask('kv/deleterange', { key: base64('lockword/name '), range_end: base64('lockword/o') });
  });

  it('break takes the lock from its holder, which is killed, and no other', async () => {
    const holder = await hold('broken', `trap '' TERM; while :; do sleep 1; done`);
    const waiter = run('broken', 'sleep', '100');
    await until(async () => (await queue('broken')).length === 2);
    const { status, stdout } = await lockword('break', 'broken');
    assert.equal(status, 0);
    assert.match(
      stdout,
      new RegExp(`^took 'broken' from process ${holder.pid} on .*: sh -c .*
it is killed at its next renewal, within 0.5 s: until then it may run beside the next holder\n$`),
    );
    assert.equal((await holder.ended).status, 125);
    assert.equal((await show('broken')).holder.pid, waiter.pid);
    await sleep(1000);
    assert.equal(waiter.exitCode, null);
  });

  it('wait waits until the lock is free', async () => {
    assert.equal((await lockword('wait', 'w')).status, 0);
    const holder = await hold('w');
    assert.equal((await lockword('wait', '-n', '-E', '9', 'w')).status, 9);
    assert.equal((await lockword('wait', '--ttl', '2', '-w', '0.2', 'w')).status, 1);
    const waiting = lockword('wait', 'w');
    await until(async () => (await queue('w')).length === 2);
    assert.equal((await show('w')).line[0].command, 'lockword wait');
    holder.kill('SIGTERM');
    assert.equal((await waiting).status, 0);
    assert.deepEqual(await queue('w'), []);
  });

  it('say what is wrong', async () => {
    const closed = `etcd://127.0.0.1:${await freePort()}`;
    const begin = performance.now();
    for (const [words, message] of [
      [['list', '--at', 'http://a:1'], /--at is to be etcd:\/\/HOST:PORT/],
      [['show', '--at', 'etcd://a:1', ''], /not a name/],
      [['break', '--at', 'etcd://a:1', '--signal', 'TERM', 'n'], /--at and --signal/],
      [['show', '--at', 'etcd://a:1', '--region', 'f', 'n'], /--at and --region/],
      [['top', '--at', 'etcd://a:1'], /not an option of this subcommand/],
      [['show', '--at', 'etcd://a:1', 'n'.repeat(56)], /the name is too long/],
      [['list', '--at', closed], /^lockword: etcd does not respond: 127.0.0.1:.*onnect/],
    ]) {
      const { status, stderr } = await start(program, ...words).ended;
      assert.equal(status, 125, words.join(' '));
      assert.match(stderr, message);
    }
    assert.ok(performance.now() - begin < 10_000);
  });

  it('bash completes the names', async () => {
    await hold('complete-me');
    const line = `lockword show --at etcd://${etcd.addresses} comp`;
    const { stdout } = await start(
      'bash',
      '-c',
      `PATH=${program.replace(/\/lockword$/, '')}:$PATH; . command/completion.bash
       COMP_LINE='${line}' COMP_POINT=${line.length}; _lockword; echo "$\{COMPREPLY[@]}"`,
    ).ended;
    assert.equal(stdout, 'complete-me\n');
  });
});
