/** For the tests of locks on etcd: real servers on this machine, and programs that use them. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { sleep, until } from '../../js/support.js';
import { build, program, running, startIn } from '../programs.js';

export { program, until };
export const user = join(build, 'test/lease-user');
export const calls = join(build, 'test/lease-calls');
export const crowd = join(build, 'test/lease-crowd');

/** The cluster that this file's tests have: one server or several. */
export const etcd = {
  folder: '',
  /** The servers' processes, and their ports: one for clients and one for each other. */
  servers: [],
  ports: [],
  /** Whom the clients ask, and whom the tests do. */
  addresses: [],
  address: '',
  /** Whether each server has a network of its own, which can be cut. */
  hasNetworks: false,
};

/** Of a server with a network of its own; the tests are at .254. */
const hostOf = (i) => (etcd.hasNetworks ? `10.77.0.${i + 1}` : '127.0.0.1');
const HERE = '10.77.0.254';

export const file = (name) => join(etcd.folder, name);

export const start = (...words) => startIn({ DIR: etcd.folder }, ...words);

/** `lockword run --at` this server; the last of several --ttl counts. */
export const run = (...args) =>
  start(program, 'run', '--at', `etcd://${etcd.addresses}`, '--ttl', '2', ...args);

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

/** The program `ip` of iproute2. */
function ip(...args) {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
}

/** What runs a program in a network's name space. */
export const inNetwork = (name) => ['ip', 'netns', 'exec', name];

/** A network of one machine, on the bridge that joins them. */
export function addNetwork(name, address) {
  ip('netns', 'add', name);
  ip('link', 'add', 'dev', `to-${name}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  ip('link', 'set', `to-${name}`, 'master', 'bridge0', 'up');
  ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0');
  ip('-n', name, 'link', 'set', 'eth0', 'up');
  ip('-n', name, 'link', 'set', 'lo', 'up');
}

/** The tests run in a name space of their own, as `unshare -rnm` makes it. */
function makeNetworks(count) {
  const { status } = spawnSync('mount', ['-t', 'tmpfs', 'none', '/run']);
  if (status) throw new Error('run this with unshare -rnm');
  ip('link', 'set', 'lo', 'up');
  ip('link', 'add', 'dev', 'bridge0', 'type', 'bridge');
  ip('address', 'add', `${HERE}/24`, 'dev', 'bridge0');
  ip('link', 'set', 'bridge0', 'up');
  for (let i = 0; i < count; i++) addNetwork(`s${i}`, hostOf(i));
}

/** What these servers send to those, and to the tests, gets lost from now on: nobody is told. */
export function cut(froms, tos) {
  for (const from of froms)
    for (const to of tos)
      ip('-n', `s${from}`, 'route', 'replace', 'blackhole', to === 'tests' ? HERE : hostOf(to));
}

/** Nothing gets lost any more. */
export function mend() {
  for (const i of etcd.servers.keys()) ip('-n', `s${i}`, 'route', 'flush', 'type', 'blackhole');
}

export async function startEtcd(i = 0) {
  const url = (port, k = i) => `http://${hostOf(k)}:${port}`;
  const [client, peer] = etcd.ports[i].map((port) => url(port));
  const [program, ...words] = [...(etcd.hasNetworks ? inNetwork(`s${i}`) : []), 'etcd'];
  etcd.servers[i] = spawn(
    program,
    [
      words,
      ['--name', `s${i}`, '--data-dir', file(`etcd${i}`), '--log-level', 'error'],
      ['--listen-client-urls', client, '--advertise-client-urls', client],
      ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ['--initial-cluster', etcd.ports.map(([, peer], i) => `s${i}=${url(peer, i)}`).join()],
    ].flat(),
    { stdio: 'ignore' },
  );
}

export async function stopEtcd(i = 0) {
  const ended = once(etcd.servers[i], 'exit');
  etcd.servers[i].kill('SIGKILL');
  await ended;
}

export async function startCluster(count, { hasNetworks = false } = {}) {
  etcd.folder = mkdtempSync(join(tmpdir(), 'lockword-lease-'));
  etcd.servers = [];
  etcd.ports = [];
  etcd.hasNetworks = hasNetworks;
  if (hasNetworks) makeNetworks(count);
  for (let i = 0; i < count; i++) etcd.ports.push([await freePort(), await freePort()]);
  etcd.addresses = etcd.ports.map(([port], i) => `${hostOf(i)}:${port}`);
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

/**
 * Waits until all servers have followed the same leader for a while: a server that was cut off
 * calls for another election when it is back.
 */
export async function settled() {
  for (let last, since = 0; performance.now() - since < 2000; await sleep(100)) {
    const all = await Promise.all(
      etcd.addresses.map(async (server) => {
        const response = await fetch(`http://${server}/v3/maintenance/status`, {
          method: 'POST',
          body: '{}',
          signal: AbortSignal.timeout(1000),
        }).catch(() => null);
        const status = await response?.json().catch(() => null);
        return `${status?.leader} ${status?.raftTerm}`;
      }),
    );
    const isOne = all.every((one) => one === all[0] && !one.includes('undefined'));
    if (isOne && all[0] === last) continue;
    last = isOne && all[0];
    since = performance.now();
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
