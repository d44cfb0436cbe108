/** What primitives say of themselves once 'lockword/inspect' is imported. */
import { expect } from 'chai';

import * as lockword from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { PRIMITIVES } from '../primitives.js';
import { failure, itBlocks, until } from '../support.js';
import { askElsewhere, loopsWait, threadsWait, wordsOf } from './waits.js';

/** Where there is no util.inspect, nothing else calls what it would. */
const { inspect = String } = globalThis.process ? await import('node:util') : {};

const THREADS = 0x80000000 | 0;
const LOOPS = 0x40000000;

const { Event, Mutex, Once, RecursiveMutex, RWLock, self } = lockword;

/** The type's name, with which a description begins. */
const typeOf = (description) => description.split(' ', 1)[0];

/** A primitive whose words are these. */
function withWords(Class, ...words) {
  const primitive = new Class();
  wordsOf(primitive).set(words);
  return primitive;
}

/** Words, and what a primitive of this type says of itself. */
const said = [
  [[], 'Mutex { free }'],
  [[5], 'Mutex { held by thread 5 }'],
  [[0x1a2b3c4d], 'Mutex { held by agent 1a2b3c4d }'],
  [[0x1a2b3c4d | THREADS], 'Mutex { held by agent 1a2b3c4d, threads wait }'],
  [[0x1a2b3c4d | LOOPS], 'Mutex { held by agent 1a2b3c4d, event loops wait }'],
  [
    [0xe0000000 | 5],
    'Mutex { held by thread 5, reserved for a waiter, threads wait, event loops wait }',
  ],
  [[0x20000000], 'Mutex { free, reserved for a waiter }'],
  [[], 'RecursiveMutex { free }'],
  [[0, 0, 7], 'RecursiveMutex { free }'],
  [[5, 0, 0], 'RecursiveMutex { held by thread 5 }'],
  [[5 | LOOPS, 0, 2], 'RecursiveMutex { held by thread 5, 3 times, event loops wait }'],
  [[5, 0, 1, 0x80000005 | 0], 'RecursiveMutex { held by thread 5, in a task, 2 times }'],
  [[5, 0, 0x7fffffff], 'RecursiveMutex { held by thread 5, 2147483648 times }'],
  [[7, 0], 'Condition { nobody waits }'],
  [[7, 1], 'Condition { 1 waiting }'],
  [[-1, 2], 'Condition { 2 waiting }'],
  [[0, -1], 'Condition { 2147483647 waiting }'],
  [[], 'Semaphore { 0 permits }'],
  [[1], 'Semaphore { 1 permit }'],
  [[0x30000002], 'Semaphore { 2 permits, claimed by a waiter, reserved for a waiter }'],
  [[0x0fffffff | THREADS], 'Semaphore { 268435455 permits, threads wait }'],
  [[], 'Permits { no permits }'],
  [[0, 0, 4], 'Permits { 4 free, permits: 4 }'],
  [[7 | LOOPS, 0, 2, 0, 5], 'Permits { 1 free, permits: 2, event loops wait }'],
  [
    [0x20000000 | THREADS, 0, 2, 0, 5, 6],
    'Permits { none free, permits: 2, reserved for a waiter, threads wait }',
  ],
  [[], 'RWLock { free }'],
  [[3], 'RWLock { read by 3 }'],
  [[0x1000002, 0, 5], 'RWLock { read by 2, read by thread 5, who may upgrade }'],
  [[0x1000000, 0, 5], 'RWLock { read by thread 5, who may upgrade }'],
  [[0x2000000, 0, 5], 'RWLock { written by thread 5 }'],
  [[0x2000000], 'RWLock { written by somebody }'],
  [[0x4000001 | THREADS], 'RWLock { read by 1, a writer is next, threads wait }'],
  [[0x8000000 | LOOPS], 'RWLock { free, readers are next, event loops wait }'],
  [
    [0x14000001 | LOOPS],
    'RWLock { read by 1, a writer is next, reserved for a waiter, event loops wait }',
  ],
  [[], 'Barrier { without parties }'],
  [[2, 0, 3], 'Barrier { 2 missing, parties: 3 }'],
  [[3, 0, 2], 'Barrier { 3 missing, parties: 2 }'],
  [[0x20000002 | LOOPS, 0, 3], 'Barrier { broken, parties: 3, event loops wait }'],
  [[], 'WaitGroup { done }'],
  [[4 | 0x00400000 | THREADS], 'WaitGroup { 4 to do, threads wait }'],
  [[], 'Latch { open }'],
  [[0x3fffffff | THREADS], 'Latch { 1073741823 to go, threads wait }'],
  [[], 'Event { not set, stays set }'],
  [[1], 'Event { set, stays set }'],
  [[6 | LOOPS], 'Event { not set, resets itself, event loops wait }'],
  [[], 'Once { not run yet }'],
  [[0x1a2b3c4d | THREADS], 'Once { run by agent 1a2b3c4d, threads wait }'],
  [[0x20000000], 'Once { done }'],
  [[42 | LOOPS], 'Counter { 42, event loops wait }'],
];

describe('lockword/inspect', () => {
  before(async () => {
    expect(`${new Mutex()}`).to.equal('[object Object]');
    await import('../../../js/src/inspect.js');
  });

  it('describes every primitive', () =>
    expect(new Set(said.map(([, expected]) => typeOf(expected)))).to.deep.equal(
      new Set(PRIMITIVES.map(({ type }) => type)),
    ));

  for (const [words, expected] of said) {
    it(`says ${expected}`, () => {
      const primitive = withWords(lockword[typeOf(expected)], ...words);
      const before = [...wordsOf(primitive)];
      expect(`${primitive}`).to.equal(expected);
      expect(inspect(primitive)).to.equal(expected);
      if (inspect !== String)
        expect(inspect({ of: [primitive] }, { depth: 5 })).to.contain(expected);
      expect([...wordsOf(primitive)]).to.deep.equal(before);
    });
  }

  itBlocks('knows which agent this is', async () => {
    const mutex = new Mutex();
    mutex.tryLock();
    const id = wordsOf(mutex)[0].toString(16);
    expect(`${mutex}`).to.equal(`Mutex { held by agent ${id} (this one) }`);
    const recursive = new RecursiveMutex();
    const guard = await recursive.lockAsync();
    guard.lock();
    expect(`${recursive}`).to.equal(
      `RecursiveMutex { held by agent ${id} (this one), in a task, 2 times }`,
    );
    const once = new Once();
    once.run(() => expect(`${once}`).to.equal(`Once { run by agent ${id} (this one) }`));
    expect(`${once}`).to.equal('Once { done }');
  });

  it('calls an agent by the name that it was given', async () => {
    const { nameAgent } = await import('../../../js/src/inspect.js');
    const id = await spawn(({ self }) => self).result;
    expect(id).to.not.equal(self);
    const hex = id.toString(16);
    const mutex = withWords(Mutex, id | THREADS);
    nameAgent(id, 'parser');
    expect(`${mutex}`).to.equal(`Mutex { held by parser (agent ${hex}), threads wait }`);
    nameAgent(id, undefined);
    expect(`${mutex}`).to.equal(`Mutex { held by agent ${hex}, threads wait }`);

    nameAgent(self, 'main');
    nameAgent(5, 'loader');
    const lock = new RWLock();
    lock.tryWriteLock();
    expect(`${lock}`).to.equal(`RWLock { written by main (agent ${self.toString(16)}, this one) }`);
    expect(`${withWords(Mutex, 5)}`).to.equal('Mutex { held by loader (thread 5) }');
    for (const known of [self, 5]) nameAgent(known, undefined);
    expect(`${withWords(Mutex, 5)}`).to.equal('Mutex { held by thread 5 }');
    for (const id of ['5', 1.5, undefined])
      expect(await failure(() => nameAgent(id, 'x'))).to.be.instanceOf(TypeError);
  });

  it('tells in which way others wait', async () => {
    const event = new Event();
    const agents = ['', 'Async'].map((form) =>
      askElsewhere({ call: 'wait', args: [] }, form, event),
    );
    await until(() => threadsWait(event) && loopsWait(event));
    expect(`${event}`).to.equal('Event { not set, stays set, threads wait, event loops wait }');
    event.set();
    for (const agent of agents) expect((await agent.result).value).to.equal(true);
    expect(`${event}`).to.equal('Event { set, stays set }');
  });

  it('adds no property that can be enumerated', () => {
    const mutex = new Mutex();
    expect(Object.keys(mutex)).to.deep.equal(['words']);
    const names = [];
    for (const name in mutex) names.push(name);
    expect(names).to.deep.equal(['words']);
  });
});
