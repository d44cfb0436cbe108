/** The `lockword` command, as built by the gcc preset, in real processes and a real terminal. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';

import { sleep, until } from '../js/support.js';
import { abandonedRegion, build, program, regionOf, running, startIn } from './programs.js';

let folder;

beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'lockword-command-'))));

afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const file = (name) => join(folder, name);

const start = (...words) => startIn({ LOCKWORD_REGION: file('region') }, ...words);
const lockword = (...args) => start(program, ...args);
const show = async (name) => JSON.parse((await lockword('show', '--json', name).ended).stdout);

/** A lock that is held for as long as this shell command runs, from now on. */
async function hold(name, command = 'exec sleep 100', ...options) {
  const holder = lockword('run', ...options, name, '--', 'sh', '-c', command);
  await until(async () => {
    const { status, stdout } = await lockword('show', '--json', name).ended;
    return status === 0 && JSON.parse(stdout).holder?.pid === holder.pid;
  });
  return holder;
}

const isAlive = (pid) => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

const stateOf = (pid) => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1][0];

/** The process's only child, as soon as it has one. */
async function childOf(pid) {
  let children;
  await until(() => (children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')));
  return Number(children);
}

describe('lockword run', function () {
  this.timeout(30_000);

  it("ends with the command's status, and passes what it writes on", async () => {
    const { status, stdout, stderr } = await lockword(
      'run',
      'a',
      'sh',
      '-c',
      'echo $LOCKWORD_NAME; exit 7',
    ).ended;
    assert.deepEqual({ status, stdout, stderr }, { status: 7, stdout: 'a\n', stderr: '' });
  });

  it('ends as shells do if the command cannot be run, and frees the lock', async () => {
    assert.equal((await lockword('run', 'a', file('nothing')).ended).status, 127);
    assert.equal((await lockword('run', 'a', folder).ended).status, 126);
    assert.deepEqual((await show('a')).held, false);
  });

  it('ends by the signal that ended the command, and tells the next holder', async () => {
    const { signal } = await lockword('run', 'a', 'sh', '-c', 'kill -KILL $$').ended;
    assert.equal(signal, 'SIGKILL');
    const tell = ['run', 'a', 'sh', '-c', 'echo ${LOCKWORD_OWNER_DIED-no}'];
    assert.equal((await lockword(...tell).ended).stdout, '1\n');
    assert.equal((await lockword(...tell).ended).stdout, 'no\n');
  });

  it('tells nothing of another lock that it runs under', async () => {
    const other = { LOCKWORD_NAME: 'b', LOCKWORD_OWNER_DIED: '1', LOCKWORD_PERMIT: '3' };
    const tell = 'echo $LOCKWORD_NAME ${LOCKWORD_OWNER_DIED-no} ${LOCKWORD_PERMIT-no}';
    const variables = { LOCKWORD_REGION: file('region'), ...other };
    const { stdout } = await startIn(variables, program, 'run', 'a', 'sh', '-c', tell).ended;
    assert.equal(stdout, 'a no no\n');
  });

  it('makes a region for its owner under any umask, which the command keeps', async () => {
    const run = `umask 777; exec ${program} run a sh -c umask`;
    assert.equal((await start('sh', '-c', run).ended).stdout, '0777\n');
    assert.equal(statSync(file('region')).mode & 0o777, 0o600);
  });

  it('runs one command at a time', async () => {
    writeFileSync(file('count'), '0');
    const count = `n=$(cat ${file('count')}); echo $((n + 1)) >${file('count')}`;
    const loop = `for i in $(seq 25); do ${program} run a sh -c '${count}' || exit; done`;
    const loops = Array.from({ length: 4 }, () => start('sh', '-c', loop).ended);
    for (const { status, stderr } of await Promise.all(loops)) assert.equal(status, 0, stderr);
    assert.equal(readFileSync(file('count'), 'utf8'), '100\n');
    assert.equal((await show('a')).acquisitions, 100);
  });

  it('lets nobody starve beside others that take it again at once', async () => {
    const again = `while ${program} run a sleep 0.01; do :; done`;
    const loops = [start('sh', '-c', again), start('sh', '-c', again)];
    await sleep(200);
    for (let i = 0; i < 5; i++)
      assert.equal((await lockword('run', '-w', '2', 'a', 'true').ended).status, 0);
    for (const loop of loops) {
      loop.kill();
      await loop.ended; // what it runs, too
    }
  });

  it('keeps those that have waited for seconds in about their order', async function () {
    const count = 24;
    /** By how many places they go apart from where they came; a third of the count: at random. */
    async function measure() {
      const holder = await hold('a', 'read line');
      const waiters = [];
      for (let i = 0; i < count; i++) {
        waiters.push(lockword('run', 'a', 'sh', '-c', `echo ${i} >>${file('order')}; sleep 0.02`));
        await until(async () => (await show('a')).waiters === i + 1);
        await sleep(125);
      }
      // Each has looked for the dead; that is just after a whole second.
      await sleep(1500 - Number((process.hrtime.bigint() / 1_000_000n) % 1000n));
      holder.stdin.end();
      await Promise.all(waiters.map((waiter) => waiter.ended));
      const order = readFileSync(file('order'), 'utf8').trim().split('\n').map(Number);
      unlinkSync(file('order'));
      return order.reduce((sum, came, went) => sum + Math.abs(came - went), 0) / count;
    }
    const tried = [];
    do tried.push(await measure());
    while (tried.at(-1) >= count / 6 && tried.length < 3); // where other programs are busy
    assert.ok(tried.at(-1) < count / 6, `places apart: ${tried}`);
  }).timeout(60_000);

  it('gives up at once with --try, and at the time of --timeout', async () => {
    await hold('a');
    assert.equal((await lockword('run', '--try', 'a', 'true').ended).status, 1);
    assert.equal((await lockword('run', '-n', '-E', '9', 'a', 'true').ended).status, 9);
    const begin = performance.now();
    const { status, stderr } = await lockword('run', '-v', '-w', '0.3', 'a', 'true').ended;
    assert.equal(status, 1);
    assert.ok(performance.now() - begin >= 300);
    assert.match(
      stderr,
      /waiting for 'a': process \d+ holds it: .* run a -- sh -c exec sleep 100\n.*not run/,
    );
  });

  it('takes the spellings of flock', async () => {
    await hold('a');
    for (const option of ['--nb', '--nonblock', '--wait=0.05'])
      assert.equal((await lockword('run', option, 'a', 'true').ended).status, 1, option);
    assert.equal((await lockword('wait', '--wait', '0.05', '-E', '9', 'a').ended).status, 9);
    assert.equal((await lockword('run', '-e', 'b', 'true').ended).status, 0);
    assert.equal((await show('b')).kind, 'read-write');
  });

  it('says that it waits for what has started it', async () => {
    const nested = ['run', 'a', 'sh', '-c', `${program} run -w 0.2 a true`];
    const holder = lockword(...nested);
    const { status, stderr } = await holder.ended;
    assert.equal(status, 1);
    const text = `waiting for 'a': process ${holder.pid} holds it, which has started this one: `;
    assert.equal(stderr, `lockword: ${text}${program} ${nested.join(' ')}\n`);
    await hold('b');
    assert.equal((await lockword('run', '-w', '0.2', 'b', 'true').ended).stderr, '');
  });

  it('takes no CPU time while it waits', async () => {
    await hold('a');
    const waiter = lockword('run', 'a', 'true');
    await until(async () => (await show('a')).waiters === 1);
    const ticks = () => {
      const fields = readFileSync(`/proc/${waiter.pid}/stat`, 'utf8').split(') ')[1].split(' ');
      return Number(fields[11]) + Number(fields[12]);
    };
    const before = ticks();
    await sleep(2000);
    assert.ok(ticks() - before <= 1, `${ticks() - before} hundredths of a second in two seconds`);
  });

  it('does not run a command twice with --once', async () => {
    const holder = await hold('a', `read line; echo >>${file('runs')}`, '--once');
    const late = lockword('run', '--once', 'a', 'sh', '-c', `echo >>${file('runs')}`).ended;
    await until(async () => (await show('a')).waiters === 1);
    holder.stdin.end();
    assert.equal((await late).status, 0);
    assert.equal(readFileSync(file('runs'), 'utf8'), '\n');
  });

  it('runs it with --once if the one that it waited for was killed', async () => {
    const holder = await hold('a', 'exec sleep 100', '--once');
    const late = lockword('run', '--once', 'a', 'echo', 'ran').ended;
    await until(async () => (await show('a')).waiters === 1);
    holder.kill('SIGKILL');
    assert.equal((await late).stdout, 'ran\n');
  });

  it('runs it with --once if the one that it waited for has failed', async () => {
    const holder = await hold('a', 'read line; exit 3', '--once');
    const late = () => lockword('run', '--once', 'a', 'echo', 'ran').ended;
    const both = [late(), late()];
    await until(async () => (await show('a')).waiters === 2);
    holder.stdin.end();
    const ended = await Promise.all(both);
    assert.deepEqual(ended.map(({ stdout }) => stdout).sort(), ['', 'ran\n']);
    for (const { status } of ended) assert.equal(status, 0);
    assert.equal((await holder.ended).status, 3);
  });

  it('runs it with --once after one that only reads, and one that only waits', async () => {
    const holder = await hold('a', 'read line', '--shared');
    const waiter = lockword('wait', '-x', 'a').ended;
    await until(async () => (await show('a')).waiters === 1);
    const late = lockword('run', '--once', '-x', 'a', 'echo', 'ran').ended;
    await until(async () => (await show('a')).waiters === 2);
    holder.stdin.end('\n');
    assert.deepEqual([(await late).stdout, (await waiter).status], ['ran\n', 0]);
  });

  it('passes signals on', async () => {
    const holder = await hold('a', 'trap "echo caught; exit 3" TERM; while :; do sleep 0.01; done');
    await sleep(100);
    holder.kill('SIGTERM');
    const { status, stdout } = await holder.ended;
    assert.deepEqual({ status, stdout }, { status: 3, stdout: 'caught\n' });
  });

  it('passes on all signals but those that the manual excludes', async () => {
    const not = ['KILL', 'STOP', 'CHLD', 'SEGV', 'BUS', 'FPE', 'ILL', 'SYS', 'TRAP'];
    const numbers = Object.entries(constants.signals)
      .filter(([name]) => !not.includes(name.slice(3)))
      .map(([, number]) => number);
    const passed = [...new Set([...numbers, 34, 35, 36, 64])]; // and real-time signals
    const traps = passed.map((number) => `trap "echo got ${number}." ${number}`).join(';');
    const holder = lockword(
      'run',
      'a',
      'bash',
      '-c',
      `${traps}; echo ready; while :; do sleep 0.01; done`,
    );
    let seen = '';
    holder.stdout.on('data', (data) => (seen += data));
    await until(() => seen.includes('ready'));
    for (const number of passed) {
      process.kill(holder.pid, number);
      await until(() => seen.includes(`got ${number}.`), 2000).catch(() =>
        assert.fail(`signal ${number} did not reach the command`),
      );
    }
    assert.equal(seen.match(/got/g).length, passed.length);
    holder.kill('SIGKILL');
  });

  it('passes on a signal from sigqueue(3) as such', async () => {
    const told = 'sub { print "code $_[1]{code}\\n"; exit 4 }, POSIX::SigSet->new, SA_SIGINFO';
    const command = `use POSIX; $| = 1; sigaction(36, POSIX::SigAction->new(${told})); print "ready\\n"; sleep 1 while 1`;
    const holder = lockword('run', 'a', 'perl', '-e', command);
    let seen = '';
    holder.stdout.on('data', (data) => (seen += data));
    await until(() => seen.includes('ready'));
    await start('env', 'kill', '-q', '7', '-s', '36', `${holder.pid}`).ended;
    assert.equal((await holder.ended).stdout, 'ready\ncode -1\n');
  });

  it('passes on the signal of an alarm that was set before it', async () => {
    const alarm = `alarm 1; exec '${program}', qw(run a sleep 10)`;
    assert.equal((await start('perl', '-e', alarm).ended).signal, 'SIGALRM');
  });

  it("lets a terminal's Ctrl-C reach the command once", async () => {
    const command = `exec ${program} run a sh -c 'trap "echo caught" INT; echo ready; sleep 0.5; exit 4'`;
    const terminal = start('script', '-qec', command, '/dev/null');
    let seen = '';
    terminal.stdout.on('data', (data) => (seen += data));
    await until(() => seen.includes('ready'));
    terminal.stdin.write('\x03');
    const { status, stdout } = await terminal.ended;
    assert.equal(status, 4);
    assert.equal(stdout.match(/caught/g).length, 1);
  });

  it("lets a terminal's Ctrl-C and Ctrl-\\ reach a command in a process group of its own", async () => {
    for (const [key, signal] of [
      ['\x03', 'INT'],
      ['\x1c', 'QUIT'],
    ]) {
      const command = `exec ${program} run a setsid sh -c 'trap "echo caught; exit 4" ${signal}; echo ready; while :; do sleep 0.02; done'`;
      const terminal = start('script', '-qec', command, '/dev/null');
      let seen = '';
      terminal.stdout.on('data', (data) => (seen += data));
      await until(() => seen.includes('ready'));
      terminal.stdin.write(key);
      const { status, stdout } = await terminal.ended;
      assert.equal(status, 4);
      assert.equal(stdout.match(/caught/g).length, 1);
    }
  });

  it('lets a hangup reach the command once', async () => {
    const log = file('log');
    const written = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');
    const script = `trap "echo caught >>${log}" HUP; echo ready >>${log}; for i in $(seq 25); do sleep 0.02; done; echo end >>${log}`;
    const run = (command) => `${program} run a ${command} sh -c '${script}'`;
    // The leader of the terminal's session is lockword; or a shell that ends; or one that has ended.
    for (const command of [
      `exec ${run('')}`,
      `exec ${run('setsid')}`,
      `${run('')}; exit`,
      `(until grep -q ready ${log}; do sleep 0.02; done; kill -9 $$) 2>/dev/null & ${run('')}`,
    ]) {
      const terminal = start('script', '-qec', command, '/dev/null');
      await until(() => written().includes('ready'));
      if (!command.includes('kill')) terminal.kill('SIGKILL');
      await until(() => written().includes('end'));
      assert.equal(written(), 'ready\ncaught\nend\n', command);
      unlinkSync(log);
      await lockword('wait', 'a').ended;
    }
  });

  it('stops by Ctrl-Z with all that runs, and goes on with fg', async () => {
    const shell = start('script', '-qec', 'PS1= bash --norc --noediting -i', '/dev/null');
    let seen = '';
    shell.stdout.on('data', (data) => (seen += data));
    for (const command of ['', 'timeout 60']) {
      seen = '';
      // No shell: one that is just starting a process may not stop before that has begun.
      const script = `process.on("SIGCONT", () => console.log("woken")); console.log("ready"); setInterval(() => {}, 1000)`;
      shell.stdin.write(`${program} run a ${command} ${process.execPath} -e '${script}'\n`);
      await until(() => seen.includes('\nready'));
      const { pid } = (await show('a')).holder;
      const all = [pid];
      for (let i = 0; i < (command ? 3 : 2); i++) all.push(await childOf(all.at(-1)));
      for (const stop of [() => shell.stdin.write('\x1a'), () => process.kill(pid, 'SIGTSTP')]) {
        seen = '';
        stop();
        await until(() => /Stopped {2}/.test(seen));
        // What timeout has started gets what the terminal sends, and not what is sent to one.
        const stopped = seen.includes('^Z') ? all : all.slice(0, 3);
        await until(() => stopped.every((one) => stateOf(one) === 'T'));
        shell.stdin.write('fg\n');
        await until(() => /^woken/m.test(seen));
        // Until both of lockword's wait again, a SIGTSTP of one's own would stop them alone.
        await until(() => all.every((one) => stateOf(one) === 'S'));
        await sleep(100);
        assert.equal(seen.match(/^woken/gm).length, 1, seen);
      }
      shell.stdin.write('\x03');
      await lockword('wait', 'a').ended;
    }
  });

  it('leaves no command that runs without the lock, if it is killed', async () => {
    const holder = await hold('a', `echo $$ >${file('pid')}; exec sleep 100`);
    await until(() => existsSync(file('pid')) && readFileSync(file('pid'), 'utf8'));
    const command = Number(readFileSync(file('pid'), 'utf8'));
    assert.ok(isAlive(command));
    holder.kill('SIGKILL');
    const next = await lockword('run', 'a', 'echo', 'next').ended;
    assert.equal(next.stdout, 'next\n');
    assert.ok(!isAlive(command));
  });

  it('kills the command where /proc is missing', async function () {
    const hide = `mount -t tmpfs none /proc && exec ${program} run a sh -c 'echo $$; exec sleep 100'`;
    const holder = start('unshare', '-Urm', 'sh', '-c', hide);
    const [pid] = await Promise.race([
      once(holder.stdout, 'data'),
      once(holder.stderr, 'data').then(([text]) => /unshare|mount/.test(text) && this.skip()),
    ]);
    holder.kill('SIGKILL');
    const hasEnded = () => !isAlive(Number(pid));
    await until(hasEnded).finally(() => hasEnded() || process.kill(Number(pid), 'SIGKILL'));
  });

  it('kills what the command has started, too', async () => {
    const holder = await hold(
      'a',
      `sh -c 'echo $$ >${file('pid')}; sleep 100' & (sleep 100 &); wait`,
    );
    await until(() => existsSync(file('pid')) && readFileSync(file('pid'), 'utf8'));
    holder.kill('SIGKILL');
    // Its output is closed by the last of them.
    assert.equal((await holder.ended).signal, 'SIGKILL');
    assert.ok(!isAlive(Number(readFileSync(file('pid'), 'utf8'))));
  });

  for (const [signal, who, generations] of [
    ['SIGKILL', 'watcher', 1],
    ['SIGKILL', 'command', 2],
    ['SIGSEGV', 'command', 2],
  ]) {
    it(`kills what the command has started if ${signal} ends the ${who}`, async () => {
      const holder = await hold('a', `(sleep 100 & echo $! >${file('pid')}; wait) & wait`);
      const started = () => existsSync(file('pid')) && Number(readFileSync(file('pid')));
      await until(started);
      let { pid } = holder;
      for (let i = 0; i < generations; i++) pid = await childOf(pid);
      process.kill(pid, signal);
      await holder.ended;
      assert.ok(!isAlive(started()));
      const next = await lockword('run', 'a', 'sh', '-c', 'echo $LOCKWORD_OWNER_DIED').ended;
      assert.deepEqual([next.stdout, next.stderr], ['1\n', '']);
    });
  }

  it('lets what the command has started clean up if the command is asked to end', async () => {
    const clean = `(trap "" TERM; echo ready >${file('log')}; sleep 0.5; echo cleaned >>${file('log')})`;
    const holder = await hold('a', `${clean} & wait`);
    await until(() => existsSync(file('log')) && readFileSync(file('log'), 'utf8'));
    holder.kill('SIGTERM');
    const next = await lockword('run', 'a', 'cat', file('log')).ended;
    assert.equal(next.stdout, 'ready\ncleaned\n');
    assert.equal((await holder.ended).signal, 'SIGTERM');
  });

  it('kills no child of the shell that it replaces', async () => {
    const { stdout, signal } = await start(
      'sh',
      '-c',
      `sleep 100 >/dev/null 2>&1 & echo $!; exec ${program} run a sh -c 'kill -KILL $$'`,
    ).ended;
    assert.equal(signal, 'SIGKILL');
    assert.ok(isAlive(Number(stdout)));
    process.kill(Number(stdout));
  });

  /** Kills a holder and its watcher. What its command has started holds the lock still. */
  async function leaveBehind(...options) {
    const holder = await hold('a', `sleep 100 & echo $! >${file('left')}; wait`, ...options);
    const left = () => existsSync(file('left')) && Number(readFileSync(file('left')));
    await until(left);
    const watcher = await childOf(holder.pid);
    holder.kill('SIGSTOP');
    process.kill(watcher, 'SIGKILL');
    holder.kill('SIGKILL');
    return left();
  }

  it('waits for what is left if the watcher is killed, too', async () => {
    const left = await leaveBehind();
    const late = await lockword('run', '-w', '0.2', 'a', 'true').ended;
    assert.equal(late.status, 1);
    assert.match(late.stderr, /a holder of 'a' died: waiting/);
    const next = lockword('run', 'a', 'sh', '-c', 'echo $LOCKWORD_OWNER_DIED').ended;
    await sleep(200);
    assert.ok(isAlive(left));
    process.kill(left);
    const { status, stdout } = await next;
    assert.deepEqual({ status, stdout }, { status: 0, stdout: '1\n' });
  });

  it('sleeps while it waits for what is left, with a timeout, too', async () => {
    const left = await leaveBehind();
    const late = lockword('run', '-w', '10', 'a', 'true');
    await once(late.stderr, 'data'); // it says that it waits
    const switches = () =>
      readdirSync(`/proc/${late.pid}/task`)
        .map((task) => readFileSync(`/proc/${late.pid}/task/${task}/status`, 'utf8'))
        .reduce((sum, text) => sum + Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(text)[1]), 0);
    await sleep(200);
    const before = switches();
    await sleep(1000);
    assert.ok(switches() - before <= 10, `woke up ${switches() - before} times in a second`);
    process.kill(left);
  });

  it('waits for what is left no longer than it should where SIGALRM is blocked', async () => {
    const left = await leaveBehind();
    const block = 'use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGALRM));';
    const late = start('perl', '-e', `${block} exec '${program}', qw(run -w 0.2 a true)`).ended;
    const { status } = await Promise.race([late, sleep(5000).then(() => ({ status: 'waits' }))]);
    assert.equal(status, 1);
    process.kill(left);
  });

  it('leaves the lock as it was if it cannot wait for what is left', async () => {
    const left = await leaveBehind();
    const faulty = { LOCKWORD_REGION: file('region'), LD_PRELOAD: join(build, 'test/no-locks.so') };
    const { status, stderr } = await startIn(faulty, program, 'run', 'a', 'true').ended;
    assert.equal(status, 125);
    assert.match(stderr, /: cannot lock a byte of the region's file: No locks available\n$/);
    assert.equal((await show('a')).deaths, 1);
    process.kill(left);
  });

  it('leaves an alarm alone that was set before it, while it waits for what is left and after that', async () => {
    const run = (words) =>
      start('perl', '-e', `alarm 1; exec '${program}', qw(run ${words})`).ended;
    const left = await leaveBehind();
    assert.equal((await run('-w 5 a true')).signal, 'SIGALRM');
    const next = run('a sleep 5');
    await sleep(200);
    process.kill(left);
    assert.equal((await next).signal, 'SIGALRM');
  });

  it('does not wait for what a command left behind that ended well', async () => {
    const leave = 'sleep 5 >/dev/null 2>&1 </dev/null & exit 3';
    for (const [option, next = option] of [
      [],
      ['--exclusive'],
      ['--shared', '--exclusive'],
      ['--permits=1'],
    ]) {
      const run = (how, command) =>
        lockword('run', '--try', ...(how ? [how] : []), `a${option}`, 'sh', '-c', command).ended;
      assert.equal((await run(option, leave)).status, 3);
      assert.equal((await run(option, 'kill -KILL $$')).signal, 'SIGKILL');
      assert.equal((await run(next, 'exit 4')).status, 4, option);
    }
  });

  it('tells nobody of a death that was that of a reader', async () => {
    const left = await leaveBehind('--shared');
    assert.equal((await lockword('run', '-x', '-w', '0.1', 'a', 'true').ended).status, 1);
    assert.equal((await show('a')).deaths, 1);
    process.kill(left);
    const next = ['run', '-s', 'a', 'sh', '-c', 'echo ${LOCKWORD_OWNER_DIED-no}'];
    assert.equal((await lockword(...next).ended).stdout, 'no\n');
  });

  it('counts no death if it cannot begin, or gives up', async () => {
    await lockword('run', 'a', 'true').ended;
    const lock =
      'import fcntl, sys, time; f = open(sys.argv[1], "r+"); fcntl.lockf(f, fcntl.LOCK_EX); ' +
      'print("locked", flush=True); time.sleep(100)';
    const locker = start('python3', '-c', lock, file('region'));
    await once(locker.stdout, 'data');
    const { status, stderr } = await lockword('run', 'a', 'true').ended;
    assert.equal(status, 125);
    assert.match(stderr, /another process has locked the guard of 'a'/);
    assert.equal((await show('a')).deaths, 0);
    locker.kill();
    const left = await leaveBehind();
    assert.equal((await lockword('run', '--try', 'a', 'true').ended).status, 1);
    assert.equal((await show('a')).deaths, 1);
    process.kill(left);
  });

  it('says nothing into the region if standard error is closed', async () => {
    const left = await leaveBehind();
    const late = `exec ${program} run -w 0.2 a true 2>&-`;
    assert.equal((await start('sh', '-c', late).ended).status, 1);
    process.kill(left);
    assert.equal((await lockword('run', 'a', 'true').ended).status, 0);
  });

  it('does not run in a region that was removed while it waited', async () => {
    const holder = await hold('a');
    const waiter = lockword('run', 'a', 'echo', 'ran').ended;
    await until(async () => (await show('a')).waiters === 1);
    rmSync(file('region'));
    await hold('a');
    holder.kill('SIGKILL');
    const { status, stdout, stderr } = await waiter;
    assert.deepEqual({ status, stdout }, { status: 125, stdout: '' });
    assert.match(stderr, /another file is there now, with other locks/);
  });

  it('leaves closed what was closed, and needs few numbers of files', async () => {
    const { status, stdout } = await start(
      'sh',
      '-c',
      `ulimit -n 30; exec ${program} run a sh -c 'for fd in 0 2; do [ -e /proc/$$/fd/$fd ] || echo $fd; done' <&- 2>&-`,
    ).ended;
    assert.deepEqual({ status, stdout }, { status: 0, stdout: '0\n2\n' });
  });

  it('passes a stop and a continuation on', async () => {
    const command = 'while :; do sleep 0.02; done';
    const holder = await hold('a', command);
    const watcher = await childOf(holder.pid);
    const child = await childOf(watcher);
    process.kill(child, 'SIGSTOP');
    await until(() => stateOf(holder.pid) === 'T');
    holder.kill('SIGCONT');
    await until(() => stateOf(holder.pid) !== 'T' && stateOf(child) !== 'T');
  });

  for (const stop of ['SIGSTOP', 'SIGTSTP'])
    it(`is killed with a command that ${stop} has stopped`, async () => {
      const command = `sleep 100 & echo $! >${file('left')}; wait`;
      // In a process group of its own, with a parent outside: else SIGTSTP stops nothing.
      const shell = start(
        'bash',
        '-c',
        `set -m; ${program} run a sh -c '${command}' & exec sleep 100`,
      );
      await until(() => existsSync(file('left')) && readFileSync(file('left')).length);
      const holder = await childOf(shell.pid);
      const child = await childOf(await childOf(holder));
      process.kill(child, stop);
      await until(() => stateOf(holder) === 'T');
      process.kill(holder, 'SIGKILL');
      assert.equal((await lockword('run', '-w', '10', 'a', 'true').ended).status, 0);
      assert.ok(!isAlive(child) && !isAlive(Number(readFileSync(file('left')))));
    });
});

/**
 * Several commands at once under one name: what each wrote, how often, and how many ran at most.
 */
describe('lockword run --permits and --shared', function () {
  this.timeout(30_000);

  const tell = async (name) => {
    const { stdout } = await lockword('show', '--json', name).ended;
    return stdout ? JSON.parse(stdout) : {};
  };
  /** The processes that hold it. */
  const holders = async (name) => (await tell(name)).holders?.map(({ pid }) => pid) ?? [];

  /** As hold, where others may hold it, too. */
  async function join(name, ...options) {
    const holder = lockword(
      'run',
      ...options,
      name,
      'sh',
      '-c',
      'echo $LOCKWORD_PERMIT; exec sleep 100',
    );
    await until(async () => (await holders(name)).includes(holder.pid));
    return holder;
  }

  it('runs so many commands at once, and tells each its number', async () => {
    const count = `cd ${folder}; mkdir $LOCKWORD_PERMIT || exit 9; set -- [0-9]; echo $# >>most; sleep 0.02; rmdir $LOCKWORD_PERMIT`;
    const all = await Promise.all(
      Array.from(
        { length: 12 },
        () => lockword('run', '--permits', '3', 'a', 'sh', '-c', count).ended,
      ),
    );
    for (const { status, stderr } of all)
      assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    const most = readFileSync(file('most'), 'utf8').trim().split('\n').map(Number);
    assert.equal(most.length, 12);
    assert.equal(Math.max(...most), 3);
  });

  it('frees the permit of a command that is killed', async () => {
    const [one, two] = [await join('a', '--permits', '2'), await join('a', '--permits', '2')];
    assert.deepEqual((await holders('a')).sort(), [one.pid, two.pid].sort());
    assert.equal((await lockword('run', '--try', 'a', 'true').ended).status, 1);
    assert.match((await lockword('list').ended).stdout, /a +permits +2 of 2 held/);
    const third = lockword('run', 'a', 'sh', '-c', 'echo $LOCKWORD_PERMIT');
    await until(async () => (await show('a')).waiters === 1);
    two.kill('SIGKILL');
    assert.equal((await third.ended).stdout, '1\n');
    one.kill('SIGTERM');
    await one.ended;
    assert.deepEqual(await holders('a'), []);
  });

  it('lets readers run together, and a writer alone', async () => {
    const [one, two] = [await join('a', '--shared'), await join('a', '-s')];
    assert.match(
      (await lockword('show', 'a').ended).stdout,
      /^a, read-write: read by 2\n {2}holder /,
    );
    assert.equal((await lockword('run', '--try', '--exclusive', 'a', 'true').ended).status, 1);
    const writer = lockword('run', '-x', 'a', 'sleep', '100');
    await until(async () => (await show('a')).waiters === 1);
    assert.equal(
      (await lockword('run', '--shared', '--timeout', '0.05', 'a', 'true').ended).status,
      1,
    );
    assert.equal((await lockword('wait', '--try', 'a').ended).status, 1);
    one.kill('SIGKILL');
    two.kill('SIGTERM');
    await until(async () => (await show('a')).holder?.pid === writer.pid);
    writer.kill('SIGKILL');
    const told = await lockword('run', '-s', 'a', 'sh', '-c', 'echo ${LOCKWORD_OWNER_DIED-no}')
      .ended;
    assert.deepEqual(told.stdout, '1\n');
    assert.equal((await lockword('run', 'a', 'true').ended).status, 0);
  });

  it('breaks the hold of all', async () => {
    const [one, two] = [await join('a', '--permits', '3'), await join('a', '--permits', '3')];
    const { status, stdout } = await lockword('break', 'a').ended;
    assert.equal(status, 0);
    assert.equal(stdout.trim().split('\n').length, 2);
    assert.equal((await one.ended).signal, 'SIGKILL');
    assert.equal((await two.ended).signal, 'SIGKILL');
  });

  it('says what the name is already', async () => {
    await lockword('run', 'a', 'true').ended;
    await lockword('run', '--permits', '2', 'b', 'true').ended;
    for (const [args, text] of [
      [['--shared', 'a'], /a: it is a mutex: use it as such, or 'lockword remove' it first/],
      [['--permits', '3', 'b'], /b: it has 2 permits, not 3/],
      [['--permits', '0', 'c'], /not from 1 to 252 permits/],
      [['--permits', '2', '--shared', 'c'], /exclude each other/],
    ]) {
      const { status, stderr } = await lockword('run', ...args, 'true').ended;
      assert.equal(status, 125);
      assert.match(stderr, text);
    }
  });
});

describe('lockword list, show, wait, break, remove', function () {
  this.timeout(30_000);

  it('shows locks, holders and waiters', async () => {
    assert.equal((await lockword('list', '--json').ended).stdout, '[]\n');
    const holder = await hold('b "');
    const waiter = lockword('run', 'b "', 'true');
    await until(async () => (await show('b "')).waiters === 1);
    const [lock] = JSON.parse((await lockword('list', '--json').ended).stdout);
    assert.equal(lock.name, 'b "');
    assert.equal(lock.held, true);
    assert.equal(lock.holder.pid, holder.pid);
    assert.equal(lock.holder.name, 'sh');
    assert.match(lock.holder.command, /run b " -- sh -c exec sleep 100$/);
    assert.match(
      (await lockword('list').ended).stdout,
      /^b " +mutex +held +1 +1 +0 +\d+ .*sleep 100$/m,
    );
    assert.match((await lockword('show', 'b "').ended).stdout, /holder +sh, thread \d+ of process/);
    waiter.kill();
  });

  it('lists names of any length in columns', async () => {
    const long = 'n'.repeat(55);
    await lockword('run', 'short', 'true').ended;
    const column = async () => {
      const lines = (await lockword('list').ended).stdout.trimEnd().split('\n');
      return lines.map((line) => line.search(/ (KIND|mutex) /));
    };
    assert.deepEqual(await column(), [24, 24]);
    await lockword('run', long, 'true').ended;
    assert.deepEqual(await column(), [55, 55, 55]);
  });

  it('shows that nobody waits', async () => {
    await lockword('run', 'a', 'true').ended;
    assert.match((await lockword('show', 'a').ended).stdout, /^ {2}waiters {4}none$/m);
    await hold('a');
    const waiter = lockword('run', 'a', 'true');
    await until(async () => (await show('a')).waiters === 1);
    assert.match(
      (await lockword('show', 'a').ended).stdout,
      /waiters {4}1, the first for \d+ ms$/m,
    );
    waiter.kill();
  });

  it('waits until a lock is free, and leaves the notice of a death to the next holder', async () => {
    assert.equal((await lockword('wait', 'a').ended).status, 0);
    const holder = await hold('a');
    assert.equal((await lockword('wait', '-w', '0.1', 'a').ended).status, 1);
    const waiting = lockword('wait', 'a').ended;
    await until(async () => (await show('a')).waiters === 1);
    holder.kill('SIGKILL');
    assert.equal((await waiting).status, 0);
    assert.equal((await lockword('wait', 'a').ended).status, 0);
    assert.equal((await show('a')).deaths, 1);
    const next = await lockword('run', 'a', 'sh', '-c', 'echo $LOCKWORD_OWNER_DIED').ended;
    assert.equal(next.stdout, '1\n');
  });

  it('breaks a lock', async () => {
    const holder = await hold('a');
    const { status, stdout } = await lockword('break', 'a').ended;
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`^sent SIGKILL to process ${holder.pid}: `));
    assert.equal((await holder.ended).signal, 'SIGKILL');
    assert.equal((await lockword('run', 'a', 'true').ended).status, 0);
    assert.equal((await lockword('break', 'a').ended).status, 1);
    for (const signal of ['TERM', 'SIGQUIT']) {
      const holder = await hold('a');
      const { stdout } = await lockword('break', '--signal', signal, 'a').ended;
      const sent = `SIG${signal.replace('SIG', '')}`;
      assert.ok(stdout.startsWith(`sent ${sent} to process ${holder.pid}: `), stdout);
      assert.equal((await holder.ended).signal, sent);
    }
  });

  it('says that there is no such holder, as in a copy of the file', async () => {
    const holder = await hold('a');
    copyFileSync(file('region'), file('copy'));
    holder.kill('SIGKILL');
    await holder.ended;
    const { status, stderr } = await lockword('break', '--region', file('copy'), 'a').ended;
    assert.equal(status, 1);
    const text = `process ${holder.pid}, which has 'a' by the region's file, does not exist here: `;
    assert.ok(stderr.includes(text), stderr);
  });

  it('does not take another process for a holder in another PID namespace', async function () {
    const other = start('sleep', '100'); // has the holder's number here
    const inside =
      `echo ${other.pid - 1} > /proc/sys/kernel/ns_last_pid || exit; ` +
      `${program} run a sleep 100; true`;
    const holder = start('unshare', '-Urpf', '--kill-child', 'sh', '-c', inside);
    const refused = /unshare failed|Operation not permitted|Permission denied|nonexistent/;
    let stderr = '';
    holder.stderr.on('data', (data) => (stderr += data));
    await until(
      async () => refused.test(stderr) || (await lockword('show', 'a').ended).status === 0,
    );
    if (refused.test(stderr)) this.skip();
    const { pid, command } = (await show('a')).holder;
    assert.deepEqual([pid, command], [other.pid, '']);
    const broken = await lockword('break', '--signal', 'HUP', 'a').ended;
    assert.equal(broken.status, 1);
    assert.match(broken.stderr, new RegExp(`process ${pid} does not hold 'a' here`));
    holder.kill();
    other.kill();
    assert.equal((await other.ended).signal, 'SIGTERM');
  });

  it('does not take a process of another user for the holder', async () => {
    const holder = await hold('a');
    const region = readFileSync(file('region'));
    const [root, nobody] = [1, 65534];
    // Of the holder's row, as docs/layout.md has it: the first one may be that of a `show`.
    let itsPid = 4096 + 16;
    while (region.readUInt32LE(itsPid) !== holder.pid) itsPid += 64;
    region.writeUInt32LE(root, itsPid); // as the first process of a container has it
    writeFileSync(file('copy'), region);
    const asAnother = ['setpriv', `--reuid=${nobody}`, '--clear-groups'];
    if (process.getuid() === 0) {
      chmodSync(folder, 0o777);
      chownSync(file('copy'), nobody, nobody);
    } else asAnother.length = 0;
    const at = ['--region', file('copy'), 'a'];
    const { stdout } = await start(...asAnother, program, 'show', '--json', ...at).ended;
    const { pid, command } = JSON.parse(stdout).holder;
    assert.deepEqual([pid, command], [root, '']);
    const broken = await start(...asAnother, program, 'break', ...at).ended;
    assert.equal(broken.status, 1);
    assert.match(broken.stderr, new RegExp(`process ${root} does not hold 'a' here`));
  });

  it('fails if it cannot write', async () => {
    await lockword('run', 'a', 'true').ended;
    for (const words of ['list', 'list --json', 'show a', '--help']) {
      for (const nowhere of ['>/dev/full', '>&-']) {
        const { status, stderr } = await start('sh', '-c', `${program} ${words} ${nowhere}`).ended;
        assert.deepEqual([status, /cannot write/.test(stderr)], [125, true], words + nowhere);
      }
    }
  });

  it('prints a name without what a terminal would obey', async () => {
    await lockword('run', 'a\n\x1b[2J', 'true').ended;
    assert.match((await lockword('list').ended).stdout, /^a {2}\[2J +mutex +free/m);
    assert.match((await lockword('show', 'a\n\x1b[2J').ended).stdout, /^a {2}\[2J, mutex: free$/m);
    assert.equal((await show('a\n\x1b[2J')).name, 'a\n\x1b[2J');
    // The same, where one control takes the place of ESC and [.
    await lockword('run', 'b\u009b2J\u0085\u00a0é\x7f.', 'true').ended;
    assert.match((await lockword('list').ended).stdout, /^b {2}2J {2}\u00a0é \. +mutex +free/m);
    await start('sh', '-c', `${program} run "$(printf 'c\\2332J\\351')" true`).ended;
    const bytes = `${program} list | od -An -v -tx1 | tr -d ' \n'`;
    const { stdout } = await start('sh', '-c', bytes).ended;
    assert.ok(stdout.includes(Buffer.from('c 2J\xe9 ', 'latin1').toString('hex')));
  });

  it('prints JSON of names and commands that are no UTF-8', async () => {
    const json = async (name) => {
      const shown = start('sh', '-c', `${program} show --json "$(printf '${name}')"`);
      const bytes = [];
      shown.stdout.on('data', (data) => bytes.push(data));
      await shown.ended;
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(bytes)));
    };
    for (const [name, shown] of [
      ['caf\\351', 'caf\ufffd'],
      ['\\302x', '\ufffdx'],
      ['\\300\\257', '\ufffd\ufffd'],
      ['\\355\\240\\200', '\ufffd\ufffd\ufffd'],
      ['\\364\\220\\200\\200', '\ufffd\ufffd\ufffd\ufffd'],
      ['\\303\\251\\342\\202\\254\\360\\237\\230\\200', 'é€😀'],
    ]) {
      await start('sh', '-c', `${program} run "$(printf '${name}')" true`).ended;
      assert.equal((await json(name)).name, shown);
    }
  });

  it('cuts a long command between two characters', async () => {
    for (const before of ['', 'x', 'xx', 'xxx']) {
      const holder = await hold('a', 'exec sleep 100; :' + before + '😀'.repeat(500));
      const { command } = (await show('a')).holder;
      assert.match(command, /^[^\ufffd]*😀$/u);
      const { length } = Buffer.from(command);
      assert.ok(length >= 1020 && length <= 1023, `${length}`);
      holder.kill('SIGKILL');
      await holder.ended;
    }
  });

  it('finds no deadlock where there is none', async () => {
    await hold('a');
    const { status, stdout } = await lockword('deadlocks', '--json').ended;
    assert.deepEqual({ status, stdout }, { status: 0, stdout: '[]\n' });
  });

  it('warns of a region that was named and does not exist', async () => {
    const text = `lockword: ${file('none')}: there is no such file, and so there are no locks\n`;
    for (const [words, expected] of [
      [['list'], 0],
      [['list', '--json'], 0],
      [['deadlocks'], 0],
      [['wait', 'a'], 0],
      [['show', 'a'], 1],
      [['break', 'a'], 1],
      [['remove', 'a'], 1],
    ]) {
      for (const child of [
        lockword(words[0], '--region', file('none'), ...words.slice(1)),
        startIn({ LOCKWORD_REGION: file('none') }, program, ...words),
      ]) {
        const { status, stderr } = await child.ended;
        assert.deepEqual([status, stderr.startsWith(text)], [expected, true], words.join(' '));
        assert.equal(existsSync(file('none')), false);
      }
    }
    await lockword('run', 'a', 'true').ended;
    for (const words of [['list'], ['wait', 'b']])
      assert.equal((await lockword(...words).ended).stderr, '');
  });

  it('removes a lock that is free', async () => {
    const holder = await hold('a');
    const { status, stderr } = await lockword('remove', 'a').ended;
    assert.deepEqual([status, stderr], [1, "lockword: 'a' is held\n"]);
    holder.kill();
    await holder.ended;
    assert.equal((await lockword('remove', 'a').ended).status, 0);
    assert.equal((await lockword('show', 'a').ended).status, 1);
  });

  it('removes a lock that commands wait for', async () => {
    const holder = await hold('a', 'read line; exit 3');
    const waiters = [lockword('run', 'a', 'echo', 'ran'), lockword('wait', 'a')];
    await until(async () => (await show('a')).waiters === 2);
    for (const waiter of waiters) waiter.kill('SIGSTOP');
    holder.stdin.end();
    await holder.ended;
    assert.equal((await lockword('remove', 'a').ended).status, 0);
    for (const waiter of waiters) waiter.kill('SIGCONT');
    const { status, stdout, stderr } = await waiters[0].ended;
    assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: 'ran\n', stderr: '' });
    assert.equal((await waiters[1].ended).status, 0);
  });

  it('does not remove permits that a command has found, and does not wait for yet', async () => {
    const holder = await hold('a', 'read line', '--permits=1');
    // It says whom it waits for, into a pipe that is full, before it waits.
    const full =
      'mkfifo $0; exec 3<>$0; dd if=/dev/zero of=$0 oflag=nonblock bs=4096 2>/dev/null; ' +
      `exec ${program} run --verbose --permits=1 a true 2>&3`;
    const late = start('sh', '-c', full, file('pipe'));
    await until(() => readFileSync(`/proc/${late.pid}/comm`, 'utf8') === 'lockword\n');
    await sleep(300);
    holder.stdin.end();
    await holder.ended;
    assert.equal((await show('a')).waiters, 0);
    const { status, stderr } = await lockword('remove', 'a').ended;
    assert.deepEqual([status, stderr], [1, "lockword: 'a' is waited for\n"]);
    late.kill();
    await late.ended;
    assert.equal((await lockword('remove', 'a').ended).status, 0);
  });

  it('takes no lock that was abandoned, and says so', async () => {
    writeFileSync(file('region'), abandonedRegion());
    for (const args of [
      ['wait', 'lock-0'],
      ['run', 'lock-0', 'true'],
    ])
      assert.deepEqual(await lockword(...args).ended, {
        status: 125,
        signal: null,
        stdout: '',
        stderr: "lockword: a holder of 'lock-0' has abandoned it: 'lockword remove' forgets that\n",
      });
    await lockword('remove', 'lock-0').ended;
    assert.equal((await lockword('run', 'lock-0', 'true').ended).status, 0);
  });

  it('tells how it is called', async () => {
    const { status, stdout } = await lockword('help').ended;
    assert.equal(status, 0);
    assert.match(stdout, /^usage: lockword SUBCOMMAND/);
    assert.deepEqual(await lockword('--help').ended, await lockword('help').ended);
  });

  it('says what is wrong', async () => {
    const wrong = async (...args) => {
      const { status, stderr } = await lockword(...args).ended;
      assert.equal(status, 125, args.join(' '));
      return stderr;
    };
    assert.match(await wrong('lock'), /no such subcommand: lock/);
    assert.match(await wrong('run', 'a'), /something is missing: NAME/);
    assert.match(await wrong('list', 'a'), /too much is given/);
    assert.match(
      await wrong('run', '-w', 'soon', 'a', 'true'),
      /not a number from 0 to 1000000000: soon/,
    );
    for (const permits of ['0', '253'])
      assert.match(
        await wrong('run', '--permits', permits, 'a', 'true'),
        new RegExp(`not from 1 to 252 permits: ${permits}`),
      );
    assert.match(await wrong('run', '--permits', '1.5', 'a', 'true'), /not a whole number: 1.5/);
    for (const [option, ...args] of [
      ['--try', 'show', '--try', 'a'],
      ['-w', 'list', '-w', '5'],
      ['-w', 'list', '-w5'],
      ['-x', 'break', '-xn', 'a'],
      ['-e', 'break', '-e', 'a'],
      ['--at', 'top', '--at', 'X'],
      ['--timeout', 'list', '--timeo=5'],
    ])
      assert.match(
        await wrong(...args),
        new RegExp(`not an option of this subcommand: ${option}\n`),
      );
    for (const args of [
      ['run', 'NAME', 'true'],
      ['wait', 'NAME'],
    ]) {
      const named = (name) => wrong(...args.map((arg) => (arg === 'NAME' ? name : arg)));
      assert.match(await named('x'.repeat(56)), /the name is too long/);
      assert.match(await named(''), /not a name/);
    }
    writeFileSync(file('full'), regionOf(2));
    assert.match(
      await wrong('run', '--region', file('full'), 'a', 'true'),
      /no room for another name: 'lockword remove' forgets one/,
    );
    writeFileSync(file('region'), regionOf(1, 16)); // tables: two
    const third = ['run', '--permits=1', 'c', 'true'];
    assert.equal((await lockword('run', '-x', 'a', 'true').ended).status, 0);
    assert.equal((await lockword('run', '-s', 'b', 'true').ended).status, 0);
    assert.match(
      await wrong(...third),
      /no room for more permits or read-write locks: 'lockword remove' forgets one of these/,
    );
    await lockword('remove', 'b').ended;
    assert.equal((await lockword(...third).ended).status, 0);
    writeFileSync(file('region'), 'no region');
    assert.match(await wrong('list'), /no region, or a damaged one/);
    unlinkSync(file('region'));
    symlinkSync('/dev/null', file('region'));
    assert.match(await wrong('list'), /symbolic link, which is not followed/);
    unlinkSync(file('region'));
    assert.match(await wrong('list', '--region', '/dev/null'), /no regular file/);
  });
});

describe("lockword's manual and completion", () => {
  it('have every subcommand and option', async () => {
    const manual = readFileSync('command/lockword.1', 'utf8');
    const completion = readFileSync('command/completion.bash', 'utf8');
    const { stdout } = await lockword('--help').ended;
    for (const [, name] of stdout.matchAll(/^ {2}(\w+)/gm)) {
      assert.ok(manual.includes(`.It Cm ${name}\n`), name);
      const help = (await lockword(name, '--help').ended).stdout;
      const options = completion.match(
        new RegExp(`^    (\\w+ \\| )?${name}( \\| \\w+)?\\) options='(.*)'`, 'm'),
      );
      assert.deepEqual(options[3].split(' '), [...help.matchAll(/--[\w-]+/g)].map(String), name);
      for (const option of options[3].split(' '))
        assert.match(manual, new RegExp(`Fl (\\w , )?${option.slice(1)}\\b`));
    }
  });

  it('complete a name, and run nothing that stands in it', async () => {
    const name = '$(touch${IFS}$LOCKWORD_REGION.ran)';
    for (const taken of ['plain', name]) await lockword('run', taken, 'true').ended;
    const complete = (line) => {
      const call = `PATH=${program.replace(/\/lockword$/, '')}:$PATH; . command/completion.bash
        COMP_LINE=$0 COMP_POINT=$\{#COMP_LINE}; _lockword; echo "$\{COMPREPLY[@]}"`;
      return start('bash', '-c', call, line).ended;
    };
    assert.equal((await complete('lockword show p')).stdout, 'plain\n');
    const { stdout: quoted } = await complete('lockword show $');
    assert.equal((await start('bash', '-c', `echo ${quoted}`).ended).stdout, `${name}\n`);
    assert.equal(existsSync(file('region.ran')), false);
  });
});
