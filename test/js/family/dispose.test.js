/**
 * `using` ends a guard at Symbol.dispose; where an engine has none, at the symbol that transpilers
 * put in its place.
 */
import { expect } from 'chai';

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
