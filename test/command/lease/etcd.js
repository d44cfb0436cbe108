/** For the tests of locks on etcd: real servers on this machine, and programs that use them. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const build = resolve(import.meta.dirname, '../../../build/gcc');
export const program = join(build, 'command/lockword');
export const user = join(build, 'test/lease-user');

/** The cluster that this file's tests have: one server or several. */
export const etcd = {
  folder: '',
  /** The servers' processes, and their ports: one for clients and one for each other. */
  servers: [],
  ports: [],
  /** Whom the clients ask, and whom the tests do. */
  addresses: [],
  address: '',
};

/** What a test started and did not wait for. */
const running = new Set();

export const file = (name) => join(etcd.folder, name);

/** Starts a program; `ended` resolves to how it ended, and what it wrote. */
export function start(command, ...args) {
  const child = spawn(command, args, { env: { ...process.env, DIR: etcd.folder } });
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
export const run = (...args) =>
  start(program, 'run', '--at', `etcd://${etcd.addresses}`, '--ttl', '2', ...args);

/** Waits until it is true. */
export async function until(isTrue) {
  for (let i = 0; i < 2000; i++) {
    if (await isTrue()) return;
    await sleep(10);
  }
  throw new Error('it never happened');
}

/** What the server's gateway says. */
export async function ask(path, body) {
  const response = await fetch(`http://${etcd.address}/v3/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  return response.json();
}

export const base64 = (text) => Buffer.from(text).toString('base64');

/** The keys of the queue of this name, and who made them. */
export async function queue(name) {
  const { kvs = [] } = await ask('kv/range', {
    key: base64(`lockword/${name}/`),
    range_end: base64(`lockword/${name}0`),
    sort_target: 'CREATE',
  });
  return kvs;
}

/** A lock that is held, by a shell command that first writes its token. */
export async function hold(name, command = 'exec sleep 100', ttl = 2) {
  const out = file(`${name}.held`);
  rmSync(out, { force: true });
  const holder = run('--ttl', ttl, name, 'sh', '-c', `echo $LOCKWORD_TOKEN >${out}; ${command}`);
  await until(() => existsSync(out) && readFileSync(out, 'utf8').endsWith('\n'));
  holder.token = Number(readFileSync(out, 'utf8'));
  return holder;
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

export const isUp = () =>
  ask('kv/range', { key: base64('a') }).then(
    () => true,
    () => false,
  );

export async function startEtcd(i = 0) {
  const url = (port) => `http://127.0.0.1:${port}`;
  const [client, peer] = etcd.ports[i].map(url);
  etcd.servers[i] = spawn(
    'etcd',
    [
      ['--name', `s${i}`, '--data-dir', file(`etcd${i}`), '--log-level', 'error'],
      ['--listen-client-urls', client, '--advertise-client-urls', client],
      ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ['--initial-cluster', etcd.ports.map(([, peer], i) => `s${i}=${url(peer)}`).join()],
    ].flat(),
    { stdio: 'ignore' },
  );
}

export async function stopEtcd(i = 0) {
  const ended = once(etcd.servers[i], 'exit');
  etcd.servers[i].kill('SIGKILL');
  await ended;
}

export async function startCluster(count) {
  etcd.folder = mkdtempSync(join(tmpdir(), 'lockword-lease-'));
  etcd.servers = [];
  etcd.ports = [];
  for (let i = 0; i < count; i++) etcd.ports.push([await freePort(), await freePort()]);
  etcd.addresses = etcd.ports.map(([port]) => `127.0.0.1:${port}`);
  [etcd.address] = etcd.addresses;
  for (let i = 0; i < count; i++) await startEtcd(i);
  await until(isUp);
}

export async function stopCluster() {
  for (const i of etcd.servers.keys()) await stopEtcd(i);
  rmSync(etcd.folder, { recursive: true });
}

/** The number of the server that leads, which the tests ask from now on. */
export async function leader() {
  for (;;) {
    for (const i of etcd.servers.keys()) {
      etcd.address = etcd.addresses[i];
      const status = await ask('maintenance/status', {}).catch(() => null);
      if (status?.leader && status.leader === status.header.member_id) return i;
    }
    await sleep(50);
  }
}

/** Ends what the tests have started. */
export async function endAll() {
  for (const child of running) {
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    await child.ended;
  }
}
