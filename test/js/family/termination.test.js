/**
 * Workers that are ended while they wait: the others are let through all the same, with no more
 * than a re-check. A mutex may lose its wake with one (mutex/termination.test.js). Where all are
 * woken at once there is none to lose, as the mode 'unhealed' shows.
 */
import { expect } from 'chai';

import { Barrier, RWLock, Semaphore } from '../../../js/src/index.js';
import { isNode } from '../agents.js';
import { until, within } from '../support.js';
import {
  ask,
  askElsewhere,
  FORMS,
  loopsWait,
  shapeOf,
  threadsWait,
  WAITS,
  wonBy,
} from './waits.js';

/** A re-check, and plenty for a slow machine. */
const LONGEST_MS = 1_000 + 4_000;

/** What a row has otherwise here: it lets all three through. */
const OTHERWISE = {
  Semaphore: { make: () => Semaphore.create(0), end: (it) => it.release(3) },
  Barrier: { make: () => Barrier.create(4) },
};

/**
 * The first row of each primitive in waits.js; the mutex has a test of its own. Those who are ended
 * make its call, and so does the one that is not, unless `mine` says another.
 */
const SCENES = WAITS.filter(
  ({ type }, i) => type !== 'Mutex' && WAITS.findIndex((row) => row.type === type) === i,
).map((row) => ({ row: { ...row, ...OTHERWISE[row.type] } }));

const rowOf = (type, call) => WAITS.find((row) => row.type === type && row.call === call);

const BEHIND_A_WRITER = {
  title: 'RWLock: a read behind the turn of a dead writer',
  row: {
    ...rowOf('RWLock', 'writeLock'),
    make: () => {
      const lock = new RWLock();
      lock.tryReadLock();
      return lock;
    },
    end: (it) => it.readUnlock(),
  },
  mine: rowOf('RWLock', 'readLock'),
};

/** Elsewhere a worker may run on after its end has been told, and take what only one can have. */
const scenes = isNode
  ? [...SCENES, BEHIND_A_WRITER]
  : SCENES.filter(({ row }) => !['RecursiveMutex', 'Permits'].includes(row.type));

describe('workers that are ended while they wait leave the others their turns', () => {
  for (const { row, mine = row, title = row.title } of scenes) {
    it(title, async () => {
      const primitive = row.make();
      const agents = FORMS.map((form) => askElsewhere(row, form, primitive, { timeout: 20_000 }));
      await until(() => threadsWait(primitive) && loopsWait(primitive));
      const answer = ask(mine, 'Async', primitive, { timeout: 20_000 });
      await Promise.all(agents.map((agent) => agent.terminate()));
      row.end(primitive);
      expect(shapeOf(await within(LONGEST_MS, answer))).to.equal(wonBy(mine, 'Async'));
    });
  }
});
