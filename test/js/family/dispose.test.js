/**
 * What releases by itself. `using` ends a guard at Symbol.dispose; where an engine has none, at the
 * symbol that transpilers put in its place. runExclusive releases whatever its function returns.
 */
import { expect } from 'chai';

import { Mutex, Permits, RecursiveMutex, RWLock, Semaphore } from '../../../js/src/index.js';
import { spawn } from '../agents.js';

/**
 * Ends a guard of each kind at the symbol with this name; returns whether anything is still held.
 */
const endAll = async ({ data, Mutex, RecursiveMutex, RWLock }) => {
  const key = data.registered ? Symbol.for('Symbol.dispose') : Symbol.dispose;
  const [mutex, recursive, rwlock] = [new Mutex(), new RecursiveMutex(), new RWLock()];
  const guards = [mutex.acquire(), await recursive.lockAsync(), rwlock.acquireWrite()];
  const held = () => [mutex.isLocked, recursive.isLocked, rwlock.isWriteLocked];
  const before = held();
  for (const guard of guards) guard[key]();
  return [before, held()];
};

const ENDED = [
  [true, true, true],
  [false, false, false],
];

describe('guards', () => {
  it('end at the symbol of transpilers where the engine has no Symbol.dispose', async () => {
    expect(await spawn(endAll, { registered: true }, 'undisposed').result).to.deep.equal(ENDED);
  });

  if (Symbol.dispose) {
    it('end at Symbol.dispose', async () => {
      expect(await spawn(endAll, { registered: false }).result).to.deep.equal(ENDED);
    });
  }
});

/** What has runExclusive, or the like; and whether it is held. */
const RUNS = {
  Mutex: () => {
    const mutex = new Mutex();
    return [(fn) => mutex.runExclusive(fn), () => mutex.isLocked];
  },
  RecursiveMutex: () => {
    const mutex = new RecursiveMutex();
    return [(fn) => mutex.runExclusive(fn), () => mutex.isLocked];
  },
  Semaphore: () => {
    const semaphore = Semaphore.create(1);
    return [(fn) => semaphore.runExclusive(fn), () => semaphore.permits === 0];
  },
  Permits: () => {
    const permits = Permits.create(1);
    return [(fn) => permits.runExclusive(fn), () => permits.available === 0];
  },
  'RWLock, reading': () => {
    const lock = new RWLock();
    return [(fn) => lock.runShared(fn), () => lock.readers > 0];
  },
  'RWLock, writing': () => {
    const lock = new RWLock();
    return [(fn) => lock.runExclusive(fn), () => lock.isWriteLocked];
  },
};

const fail = () => {
  throw new Error('as it should');
};

/** What `fn` may return or throw, and whether that is the value 7. */
const RETURNS = {
  'a value': [() => 7, true],
  'a promise': [async () => 7, true],
  'a promise that waits': [() => new Promise((resolve) => setTimeout(resolve, 5, 7)), true],
  'a thenable': [() => ({ then: (resolve) => resolve(7) }), true],
  'an error that is thrown': [fail, false],
  'a promise that is rejected': [async () => fail(), false],
  'a thenable that throws': [() => ({ then: fail }), false],
  'what throws when it is looked at': [
    () => Object.defineProperty({}, 'then', { get: fail }),
    false,
  ],
};

describe('runExclusive releases', () => {
  for (const [what, make] of Object.entries(RUNS)) {
    for (const [returned, [fn, isValue]] of Object.entries(RETURNS)) {
      it(`${what}: when its function has returned ${returned}`, async () => {
        const [run, isHeld] = make();
        const heldInside = [];
        const inside = () => {
          heldInside.push(isHeld());
          return fn();
        };
        const ends = [];
        for (let i = 0; i < 2; i++) ends.push(run(inside).catch(({ message }) => message));
        const end = isValue ? 7 : 'as it should';
        expect(await Promise.all(ends)).to.deep.equal([end, end]);
        expect([heldInside, isHeld()]).to.deep.equal([[true, true], false]);
      });
    }
  }
});
