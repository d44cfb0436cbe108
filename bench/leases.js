/**
 * node bench/leases.js [--quick] [--json FILE]: starts etcd on this machine, once as one server and
 * once as three, and measures locks on them: native/leases.c. Nothing, where there is no etcd.
 */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const program = resolve(import.meta.dirname, '../build/release/bench/native/lockword-bench-leases');

/** What etcd says that it is; undefined: it is not installed. */
export const etcdVersion = () =>
  spawnSync('etcd', ['--version'], { encoding: 'utf8' }).stdout?.match(/etcd Version: (\S+)/)?.[1];

if (process.argv[1] === import.meta.filename) {
  if (!etcdVersion()) {
    console.error('bench/leases.js: etcd is not installed');
    process.exit(1);
  }
  // Each instance of the module has a cluster.
  const one = await import('../test/command/lease/etcd.js?one');
  const three = await import('../test/command/lease/etcd.js?three');
  await one.startCluster(1);
  await three.startCluster(3);
  const child = spawn(
    program,
    [
      ...process.argv.slice(2),
      `etcd, one server=etcd://${one.etcd.addresses}`,
      `etcd, three servers=etcd://${three.etcd.addresses}`,
    ],
    { stdio: 'inherit' },
  );
  const [status] = await once(child, 'exit');
  await one.stopCluster();
  await three.stopCluster();
  process.exitCode = status ?? 1;
}
