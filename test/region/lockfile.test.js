/**
 * lockfile.test.js: lockword-region/lockfile, and proper-lockfile, whose calls it has: what both do
 * is one test for each of them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

import { open } from '../../build/node_modules/lockword-region/index.js';
import * as ours from '../../build/node_modules/lockword-region/lockfile.js';
import { failure, sleep, until, within } from '../js/support.js';

const PEER = fileURLToPath(new URL('./peer.js', import.meta.url));
const REGION = `/dev/shm/lockword-test-lockfile-${process.pid}`;
const packages = { 'lockword-region/lockfile': ours };
// The usual one polls, and writes lock files: once is enough.
if (!globalThis.Deno)
  packages['proper-lockfile'] = createRequire(import.meta.url)('proper-lockfile');

let folder;
let file;

before(() => (process.env.LOCKWORD_REGION = REGION));
after(() => rmSync(REGION, { force: true }));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lockword-'));
  file = join(folder, 'settings.json');
  writeFileSync(file, '{}');
});
afterEach(() => rmSync(folder, { recursive: true }));

const codeOf = async (call) => (await failure(call)).code;

for (const [name, { lock, unlock, check, lockSync, unlockSync, checkSync }] of Object.entries(
  packages,
)) {
  describe(name, () => {
    it('locks a file once', async () => {
      const release = await lock(file);
      expect(await check(file)).equal(true);
      expect(await codeOf(() => lock(file))).equal('ELOCKED');
      expect((await failure(() => lock(file))).file).equal(file);
      await release();
      expect(await check(file)).equal(false);
      expect(await codeOf(() => release())).equal('ERELEASED');
      await (
        await lock(file)
      )();
    });

    it('unlocks by the name', async () => {
      expect(await codeOf(() => unlock(file))).equal('ENOTACQUIRED');
      await lock(file);
      await unlock(file);
      expect(await check(file)).equal(false);
    });

    it('frees no later lock by an earlier release', async () => {
      const first = await lock(file);
      await first();
      const second = lockSync(file);
      expect(await codeOf(() => first())).equal('ERELEASED');
      expect(await check(file)).equal(true);
      await unlock(file);
      const third = await lock(file);
      expect(await codeOf(() => second())).equal('ERELEASED');
      expect(await codeOf(() => lock(file))).equal('ELOCKED');
      await third();
      expect(await check(file)).equal(false);
    });

    it('does all that at once', async () => {
      const release = lockSync(file);
      expect(checkSync(file)).equal(true);
      expect(await codeOf(() => lockSync(file))).equal('ELOCKED');
      release();
      expect(await codeOf(() => release())).equal('ERELEASED');
      lockSync(file);
      unlockSync(file);
      expect(await codeOf(() => unlockSync(file))).equal('ENOTACQUIRED');
      expect(await codeOf(() => lockSync(file, { retries: 1 }))).equal('ESYNC');
    });

    it('knows a file by its real path, unless told otherwise', async () => {
      const link = join(folder, 'link');
      symlinkSync(file, link);
      const release = await lock(file);
      expect(await check(link)).equal(true);
      expect(await check(link, { realpath: false })).equal(false);
      await release();
      const none = join(folder, 'none');
      expect(await codeOf(() => lock(none))).equal('ENOENT');
      await (
        await lock(none, { realpath: false })
      )();
      const other = await lock(file, { lockfilePath: join(folder, 'other') });
      expect(await check(file)).equal(false);
      expect(await check(file, { lockfilePath: join(folder, 'other') })).equal(true);
      await other();
    });

    it('waits as long as the retries take', async () => {
      const release = await lock(file);
      const retries = { retries: 40, factor: 1, minTimeout: 50 };
      const waits = lock(file, { retries });
      await sleep(60);
      await release();
      await (
        await within(5000, waits)
      )();
      const again = await lock(file);
      const few = { retries: 2, factor: 1, minTimeout: 20 };
      expect(await codeOf(() => lock(file, { retries: few }))).equal('ELOCKED');
      await again();
    });

    it('waits no longer than the retries may take', async () => {
      const release = await lock(file);
      const retries = { forever: true, factor: 1, minTimeout: 10, maxRetryTime: 50 };
      expect(await codeOf(() => within(5000, lock(file, { retries })))).equal('ELOCKED');
      await release();
    });

    it('waits at least a millisecond for each of the retries', async () => {
      const release = await lock(file);
      const waits = lock(file, { retries: { retries: 2000, factor: 1, minTimeout: 0 } });
      await sleep(20);
      await release();
      await (
        await within(5000, waits)
      )();
    });
  });
}

/** A process that has locked the file or, beside it, as many as there is room for. */
async function startHolder(many = '') {
  const run = globalThis.Deno ? ['run', '--allow-all', '--quiet'] : [];
  const args = [...run, PEER, 'lockFile', REGION, file, many];
  const peer = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  expect(`${(await once(peer.stdout, 'data'))[0]}`).equal('held\n');
  return peer;
}

describe('lockword-region/lockfile, unlike proper-lockfile', () => {
  it('serves those that wait in the order in which they came', async () => {
    const order = [];
    const release = await ours.lock(file);
    const calls = [1, 2, 3].map(async (i) => {
      const end = await ours.lock(file, { retries: { forever: true } });
      order.push(i);
      await end();
    });
    await release();
    await within(5000, Promise.all(calls));
    expect(order).eql([1, 2, 3]);
  });

  it('is free as soon as its holder is killed', async () => {
    const peer = await startHolder();
    expect(await codeOf(() => ours.lock(file))).equal('ELOCKED');
    const waits = ours.lock(file, { retries: { forever: true } });
    peer.kill('SIGKILL');
    await (
      await within(5000, waits)
    )();
  });

  it('says what has no meaning', async () => {
    expect(await failure(() => ours.lock(file, { fs: {} }))).instanceOf(TypeError);
    expect(await failure(() => ours.lock(file, { retry: 1 }))).instanceOf(TypeError);
    await (
      await ours.lock(file, { stale: 5000, update: 1000, onCompromised() {} })
    )();
  });

  it('has names that people can read, in the region of the command', async () => {
    const long = join(folder, 'x'.repeat(60));
    writeFileSync(long, '');
    const release = await ours.lock(long);
    await (
      await ours.lock(file)
    )();
    const region = open(REGION);
    const names = region.list().map(({ name }) => name);
    for (const name of names) expect(Buffer.byteLength(name)).below(56);
    expect(names).include(ours.lockName(`${file}.lock`));
    expect(names.find((name) => region.mutex(name).isMine)).equal(ours.lockName(`${long}.lock`));
    expect(ours.lockName('/etc/fstab.lock')).equal('/etc/fstab.lock');
    expect(ours.lockName(`/${'y'.repeat(60)}/a.lock`)).match(/^[\w-]{22}:a\.lock$/);
    region.close();
    await release();
  });

  it('makes room for new files where old ones were locked', async () => {
    const region = open(REGION);
    const release = await ours.lock(file);
    const asked = ours.lock(file, { retries: { forever: true } });
    let names = region.list().length;
    for (const end = names + 3000; names < end; names++)
      ours.lockSync(`/none/${names}`, { realpath: false })();
    expect(region.list().length).below(2049);
    expect(await ours.check(file)).equal(true);
    expect(await ours.check('/none/other', { realpath: false })).equal(false);
    expect(region.describe('/none/other.lock')).equal(undefined);
    await release();
    await (
      await within(5000, asked)
    )();
    region.close();
  });

  it('forgets no death, and nothing that was abandoned, to make room', async () => {
    const region = open(REGION);
    const name = ours.lockName(`${file}.lock`);
    const lost = region.mutex('/none/lost');
    expect(lost.tryLock()).equal(true);
    lost.abandon();
    (await startHolder()).kill('SIGKILL');
    await until(() => region.describe(name).state === 'owner died');
    for (let i = 0; i < 3000; i++) ours.lockSync(`/none/${i}`, { realpath: false })();
    expect(region.describe(name)?.state).equal('owner died');
    expect(region.describe('/none/lost')?.state).equal('abandoned');
    region.remove('/none/lost');
    region.close();
  });

  it('forgets deaths if there is no other room', async () => {
    (await startHolder('all')).kill('SIGKILL');
    const region = open(REGION);
    await until(() => region.list().every(({ holder }) => !holder));
    expect(region.list().length).equal(2048);
    await (
      await ours.lock(file)
    )();
    region.close();
  });

  it('is that of all copies of the module in a thread', async () => {
    const copy = await import('../../build/node_modules/lockword-region/lockfile.js?copy');
    const release = await ours.lock(file);
    await copy.unlock(file);
    expect(await codeOf(() => release())).equal('ERELEASED');
  });

  it('waits without a limit after infinitely many retries', async () => {
    const release = await ours.lock(file);
    const waits = ours.lock(file, { retries: Infinity });
    await release();
    await (
      await within(5000, waits)
    )();
  });
});
