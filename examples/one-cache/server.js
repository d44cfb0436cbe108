/**
 * server.js REGION: three workers of a cluster look up ten pages, three times each, at once. A
 * fourth one was making the first page when they came, and is killed.
 */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

import { open } from 'lockword-region';
import { Cache } from './cache.js';

const [path] = process.argv.slice(2);
const PAGES = Array.from({ length: 10 }, (_, i) => `page ${i}`);
const WORKERS = 3;
const TIMES = 3;

if (cluster.isPrimary) {
  const fork = async (role) => {
    const worker = cluster.fork({ ROLE: role });
    await once(worker, 'message');
    return worker;
  };
  const exited = (worker) => new Promise((resolve) => worker.on('exit', resolve));
  const victim = await fork('victim');
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => fork('worker')));
  const ends = workers.map(exited);
  victim.process.kill('SIGKILL');
  await Promise.all(ends);
  const made = open(path).counter('made').value;
  console.log(`${WORKERS * TIMES * PAGES.length} look-ups, ${made} pages made`);
} else {
  const cache = new Cache(path);
  if (process.env.ROLE === 'victim') {
    await cache.get(PAGES[0], () => {
      process.send('makes it');
      return sleep(60_000);
    });
  }
  const made = open(path).counter('made');
  const render = async (page) => {
    await sleep(20); // a query, say
    made.increment();
    return `<h1>${page}</h1>`;
  };
  const answers = Array.from({ length: TIMES }, () => PAGES)
    .flat()
    .map(async (page) => (await cache.get(page, render)) === `<h1>${page}</h1>`);
  process.send('asks');
  const isRight = (await Promise.all(answers)).every(Boolean);
  process.exit(isRight ? 0 : 1);
}
