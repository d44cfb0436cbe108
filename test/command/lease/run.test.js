/** `lockword run --at`, with a real etcd. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  ask,
  base64,
  endAll,
  etcd,
  file,
  freePort,
  hold,
  isUp,
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

  it('tells nothing of another lock that it runs under', async () => {
    const other = 'LOCKWORD_NAME=b LOCKWORD_TOKEN=0 LOCKWORD_OWNER_DIED=1 LOCKWORD_PERMIT=3';
    const tell =
      'echo $LOCKWORD_NAME $((LOCKWORD_TOKEN > 0)) ${LOCKWORD_OWNER_DIED-no} ${LOCKWORD_PERMIT-no}';
    const at = ['--at', `etcd://${etcd.addresses}`, 'a'];
    const nested = start('env', ...other.split(' '), program, 'run', ...at, 'sh', '-c', tell);
    assert.equal((await nested.ended).stdout, 'a 1 no no\n');
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

  it('says that it waits for what has started it', async () => {
    const at = `--at etcd://${etcd.addresses} -w 0.2`;
    const command = `${program} run ${at} outer true; ${program} wait ${at} outer`;
    const holder = run('outer', 'sh', '-c', command);
    const { status, stderr } = await holder.ended;
    assert.equal(status, 1);
    const text = `waiting for 'outer': process ${holder.pid} holds it, which has started this one: `;
    for (const line of stderr.trim().split('\n'))
      assert.ok(line.startsWith(`lockword: ${text}sh -c `), stderr);
    assert.equal(stderr.match(/\n/g).length, 2);

    // With another lock of etcd between them, and one of a region.
    const between = `${program} run ${at} inner ${program} run --region ${file('region')} r`;
    const above = run('outer', 'sh', '-c', `${between} ${program} run ${at} outer true`);
    assert.ok((await above.ended).stderr.includes(`process ${above.pid} holds it, which has`));

    await hold('other');
    const beside = run('outer', 'sh', '-c', `${program} run ${at} other true`);
    assert.deepEqual(await beside.ended, { status: 1, signal: null, stdout: '', stderr: '' });
  });

  it('says with -v which process it waits for', async () => {
    const holder = await hold('verbose');
    const next = run('verbose', 'sleep', '100');
    await until(async () => (await queue('verbose')).length === 2);
    const { status, stderr } = await run('-v', '-w', '0.2', 'verbose', 'true').ended;
    assert.equal(status, 1);
    const [waits, gaveUp] = stderr.split('\n');
    const text = `waiting for 'verbose': process ${holder.pid} on ${hostname()} holds it: sh -c `;
    assert.ok(waits.startsWith(`lockword: ${text}`), stderr);
    assert.equal(gaveUp, "lockword: 'verbose' is held, and 'true' was not run");
    next.kill('SIGTERM');

    // A key that another program has put.
    const [key, value] = [`lockword/by hand/1`, 'a script'].map(base64);
    await ask('kv/put', { key, value });
    const other = await run('-v', '-w', '0.2', 'by hand', 'true').ended;
    assert.match(other.stderr, /^lockword: waiting for 'by hand': a program holds it: a script\n/);
    await ask('kv/deleterange', { key });

    const free = await run('-v', 'free', 'true').ended;
    assert.deepEqual(free, { status: 0, signal: null, stdout: '', stderr: '' });
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
    const names = 'HUP INT QUIT TERM USR1 USR2 ALRM VTALRM PROF PIPE IO PWR STKFLT'.split(' ');
    const numbers = names.map((name) => constants.signals[`SIG${name}`]);
    const wait = `${program} run --at etcd://${etcd.addresses} --ttl 60 leave true`;
    await hold('leave');
    for (const number of [...numbers, 34, 64]) {
      const shell = start('sh', '-c', `ulimit -c 0; ${wait}; echo $?`);
      await until(async () => (await queue('leave')).length === 2);
      const [, { value }] = await queue('leave');
      process.kill(JSON.parse(Buffer.from(value, 'base64')).pid, number);
      assert.equal((await shell.ended).stdout, `${128 + number}\n`);
      assert.equal((await queue('leave')).length, 1, `after ${number}`);
    }
  });

  it('a waiter waits on after a signal that is ignored, as by nohup, or blocked', async () => {
    const words = ['run', '--at', `etcd://${etcd.addresses}`, '--ttl', '2', 'nohup', 'echo', 'ran'];
    const block = 'use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGTERM));';
    const prefix = `${block} $SIG{HUP} = "IGNORE"; exec @ARGV`;
    const holder = await hold('nohup');
    const waiter = start('perl', '-e', prefix, program, ...words);
    await until(async () => (await queue('nohup')).length === 2);
    waiter.kill('SIGHUP');
    waiter.kill('SIGTERM');
    await sleep(300);
    assert.equal((await queue('nohup')).length, 2);
    holder.kill('SIGTERM');
    const { status, stdout, stderr } = await waiter.ended;
    assert.deepEqual([status, stdout, stderr], [0, 'ran\n', '']);
  });

  it('a signal at any moment leaves nothing in etcd', async () => {
    for (let i = 0; i < 16; i++) {
      const line = [];
      while (line.length < 4) {
        line.push(run('--ttl', '60', 'any', ...(line.length ? ['true'] : ['sleep', '100'])));
        await until(async () => (await queue('any')).length === line.length);
      }
      for (const one of line) {
        one.kill('SIGTERM');
        if (i % 2) await one.ended;
      }
      for (const one of line) await one.ended;
      assert.deepEqual(await queue('any'), [], `at ${i}`);
    }
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

  it('all are stopped for longer than the time-to-live: the command does not go on', async () => {
    const log = file('stopped');
    const holder = await hold(
      'stopped',
      `trap '' TERM; echo $$ >$DIR/pid; while :; do echo >>${log}; done`,
    );
    await until(() => existsSync(log));
    const stateOf = (pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1][0];
    process.kill(Number(readFileSync(file('pid'), 'utf8')), 'SIGSTOP');
    await until(() => stateOf(holder.pid) === 'T');
    const before = readFileSync(log).length;
    assert.equal((await run('stopped', 'true').ended).status, 0);
    holder.kill('SIGCONT');
    assert.equal((await holder.ended).status, 125);
    assert.equal(readFileSync(log).length, before);
  });

  it('a watcher that is stopped alone goes on, and so does the lease', async () => {
    const holder = await hold('stopped-alone');
    const { stdout: watcher } = await start('pgrep', '-P', holder.pid).ended;
    const stateOf = (pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1][0];
    process.kill(Number(watcher), 'SIGSTOP');
    assert.equal((await run('-w', '4', 'stopped-alone', 'true').ended).status, 1);
    assert.deepEqual([holder.pid, Number(watcher)].map(stateOf), ['S', 'S']);
    assert.equal(Number((await queue('stopped-alone'))[0].create_revision), holder.token);
    holder.kill('SIGTERM');
    assert.equal((await holder.ended).signal, 'SIGTERM');
    assert.deepEqual(await queue('stopped-alone'), []);
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
    // The watcher cannot kill it: it is stopped, too, and nobody continues it.
    holder.kill('SIGSTOP');
    process.kill(Number(group), 'SIGSTOP');
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
    const at = `etcd://127.0.0.1:${closed},${etcd.address}`;
    const { status, stderr } = await start(program, 'run', '--at', at, 'two', 'true').ended;
    assert.equal(status, 0, stderr);
  });

  it('the command gets the descriptors that lockword was given, and no others', async () => {
    const locked = `${program} run --at etcd://${etcd.addresses} fds`;
    for (const files of ['7</dev/null', '7</dev/null <&-']) {
      const given = async (command) =>
        (await start('sh', '-c', `exec ${files}; ${command} ls /proc/self/fd`).ended).stdout;
      const without = await given('');
      assert.match(without, /^7$/m);
      assert.equal(await given(locked), without);
    }
  });

  it('the port is 2379 if none is given', async () => {
    for (const host of ['127.254.0.9', '[::1]']) {
      const { stderr } = await start(
        program,
        'run',
        '-w',
        '0.1',
        '--at',
        `etcd://${host}`,
        'n',
        'true',
      ).ended;
      assert.match(stderr, / port 2379/);
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
    const left = Number(readFileSync(file('pid'), 'utf8'));
    assert.throws(() => process.kill(left, 0), { code: 'ESRCH' });
  });

  it('refuses what it cannot do', async () => {
    for (const [args, message] of [
      [['--at', 'http://a:1', 'n', 'true'], /etcd:\/\/HOST:PORT/],
      [['--at', 'etcd://a/b', 'n', 'true'], /etcd:\/\/HOST:PORT/],
      [['--at', 'etcd://a:', 'n', 'true'], /etcd:\/\/HOST:PORT/],
      [['--at', 'etcd://a:1,[::1]:x', 'n', 'true'], /etcd:\/\/HOST:PORT/],
      [['--at', 'etcd://a:1', '--once', 'n', 'true'], /--once/],
      [['--at', 'etcd://a:1', '--region', 'f', 'n', 'true'], /--region/],
      [['--at', 'etcd://a:1', '--ttl', '1', 'n', 'true'], /2 to 3600/],
      [['--ttl', '5', 'n', 'true'], /--ttl is for --at/],
      [['--at', `etcd://${etcd.address}`, '', 'true'], /not a name/],
      [['--at', `etcd://${etcd.address}`, 'n'.repeat(56), 'true'], /too long/],
    ]) {
      const { status, stderr } = await start(program, 'run', ...args).ended;
      assert.equal(status, 125, args.join(' '));
      assert.match(stderr, message);
    }
  });
});
