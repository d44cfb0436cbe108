/**
 * server.js TABLE TURNS: two workers of a cluster, which add to the table. Each opens the region:
 * its file is beside the table.
 */
import cluster from 'node:cluster';
import { openSync, readSync, writeSync } from 'node:fs';

import { open } from 'lockword-region';

const [table, turns] = process.argv.slice(2);

if (cluster.isPrimary) {
  for (let i = 0; i < 2; i++) cluster.fork();
} else {
  const mutex = open(`${table}.region`).mutex('table');
  const file = openSync(table, 'r+');
  const row = new BigUint64Array(2); // how many rows were added, and their sum
  for (let i = 1; i <= turns; i++) {
    await mutex.runExclusive(({ ownerDied }) => {
      readSync(file, row, 0, 16, 0);
      if (ownerDied) console.log('a holder died: the table would have to be checked');
      row[0]++;
      row[1] += BigInt(i);
      writeSync(file, row, 0, 16, 0);
    });
  }
  process.exit();
}
