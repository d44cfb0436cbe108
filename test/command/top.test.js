/** `lockword top`, in a real terminal: tmux's. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { sleep, until as waitUntil } from '../js/support.js';
import { program, regionOf, running, startIn } from './programs.js';

let folder;

const tmux = (...args) => execFileSync('tmux', ['-S', join(folder, 'tmux'), ...args]).toString();
const screen = () => tmux('capture-pane', '-p');

/** Starts `lockword run` in the region that `top` shows. */
const run = (...args) =>
  startIn({ LOCKWORD_REGION: join(folder, 'region') }, program, 'run', ...args);

const until = (isTrue) =>
  waitUntil(isTrue, 10_000).catch((error) => {
    throw new Error(`${error.message}:\n${screen()}`);
  });

function start(width, height) {
  const top = `LOCKWORD_REGION=${join(folder, 'region')} ${program} top; echo "ended: $?"; sleep 100`;
  tmux('-f', '/dev/null', 'new-session', '-d', '-x', `${width}`, '-y', `${height}`, top);
}

describe('lockword top', function () {
  this.timeout(30_000);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lockword-top-'));
  });

  afterEach(() => {
    spawnSync('tmux', ['-S', join(folder, 'tmux'), 'kill-server']); // if there is one
    for (const holder of running) holder.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  it('shows locks as they come, the most wanted first', async () => {
    start(100, 12);
    await until(() => /0 locks, 0 held, 0 waiting/.test(screen()));
    run('calm', 'sleep', '100');
    const wanted = run('wanted', 'sleep', '100');
    await until(() => /2 locks, 2 held, 0 waiting/.test(screen()));
    run('wanted', 'true');
    await until(() => /2 locks, 2 held, 1 waiting/.test(screen()));
    const rows = screen().split('\n');
    const row = new RegExp(
      `^wanted +1 +\\d+\\.\\d +0\\.0 +0 +${wanted.pid}  lockword run wanted sleep 100$`,
    );
    assert.match(rows[2], row);
    assert.match(rows[3], /^calm +0 +0\.0 +0 +\d+ {2}lockword run calm sleep 100$/);
    wanted.kill('SIGKILL');
    await until(() =>
      /^wanted +0 +0\.\d +1 +\(its holder died\)|^wanted +0 +\d\.\d +1\b/m.test(screen()),
    );
  });

  it('follows the size of the terminal, and the keys', async () => {
    for (let i = 0; i < 9; i++) run(`lock-${i}`, 'sleep', '100');
    start(100, 8);
    const shown = () => [...screen().matchAll(/^lock-(\d)/gm)].map(([, number]) => number).join('');
    await until(() => screen().includes('9 locks') && shown() === '01234');
    tmux('send-keys', 'Down');
    await until(() => shown() === '12345');
    tmux('send-keys', 'NPage');
    await until(() => shown() === '45678');
    tmux('resize-window', '-x', '40', '-y', '6');
    await until(() => shown() === '456' && screen().split('\n')[5].startsWith('q: quit'));
    tmux('resize-window', '-x', '10', '-y', '2');
    await sleep(200);
    tmux('resize-window', '-x', '100', '-y', '20');
    await until(() => shown() === '012345678');
    tmux('send-keys', 'q');
    await until(() => screen().includes('ended: 0'));
  });

  it('looks at sixty-five thousand locks in an instant', async () => {
    writeFileSync(join(folder, 'region'), regionOf(65536));
    start(100, 12);
    await until(() => /65536 locks/.test(screen()));
    const clock = () => screen().slice(0, 8);
    for (let i = 0; i < 3; i++) {
      const before = clock();
      await until(() => clock() !== before);
    }
    tmux('send-keys', 'q');
    await until(() => screen().includes('ended: 0'));
  });

  it('ends where there is no terminal that it can use', async () => {
    const environment = { LOCKWORD_REGION: join(folder, 'region') };
    for (const [words, message] of [
      [`TERM=none ${program} top`, /no such terminal: TERM is 'none'/],
      [`${program} top </dev/null`, /top needs a terminal/],
    ]) {
      const script = startIn(environment, 'script', '-qec', words, '/dev/null');
      const { status, stdout } = await script.ended;
      assert.equal(status, 125);
      assert.match(stdout, message);
    }
  });

  it('ends with its terminal, though it ignores SIGHUP', async () => {
    const open =
      'import os, pty, signal, sys; os.dup2(2, 9); ' +
      'signal.signal(signal.SIGHUP, signal.SIG_IGN); pty.spawn(["sh", "-c", sys.argv[1]])';
    const terminal = startIn(
      { LOCKWORD_REGION: join(folder, 'region') },
      'python3',
      ...['-c', open, `echo $$ >&9; exec ${program} top 9>&-`],
    );
    const [pid] = await once(terminal.stderr, 'data');
    await once(terminal.stdout, 'data');
    terminal.kill('SIGKILL');
    const hasEnded = () => !existsSync(`/proc/${Number(pid)}`);
    await waitUntil(hasEnded).finally(() => hasEnded() || process.kill(Number(pid), 'SIGKILL'));
  });
});
