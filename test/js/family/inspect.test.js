/** What primitives say of themselves once 'lockword/inspect' is imported. */
import { expect } from 'chai';

import {
  Barrier,
  Condition,
  Counter,
  Event,
  Latch,
  Mutex,
  Once,
  Permits,
  RecursiveMutex,
  RWLock,
  self,
  Semaphore,
  WaitGroup,
} from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { PRIMITIVES } from '../primitives.js';
import { failure, itBlocks, until } from '../support.js';
import { askElsewhere, loopsWait, threadsWait, wordsOf } from './waits.js';

/** Where there is no util.inspect, nothing else calls what it would. */
const { inspect = String } = globalThis.process ? await import('node:util') : {};

const THREADS = 0x80000000 | 0;
const LOOPS = 0x40000000;

/** A primitive whose words are these. */
function withWords(Class, ...words) {
  const primitive = new Class();
  wordsOf(primitive).set(words);
  return primitive;
}

const said = [
  [Mutex, [], 'Mutex { free }'],
  [Mutex, [5], 'Mutex { held by thread 5 }'],
  [Mutex, [0x1a2b3c4d], 'Mutex { held by agent 1a2b3c4d }'],
  [Mutex, [0x1a2b3c4d | THREADS], 'Mutex { held by agent 1a2b3c4d, threads wait }'],
  [Mutex, [0x1a2b3c4d | LOOPS], 'Mutex { held by agent 1a2b3c4d, event loops wait }'],
  [
    Mutex,
    [0xe0000000 | 5],
    'Mutex { held by thread 5, reserved for a waiter, threads wait, event loops wait }',
  ],
  [Mutex, [0x20000000], 'Mutex { free, reserved for a waiter }'],
  [RecursiveMutex, [], 'RecursiveMutex { free }'],
  [RecursiveMutex, [0, 0, 7], 'RecursiveMutex { free }'],
  [RecursiveMutex, [5, 0, 0], 'RecursiveMutex { held by thread 5 }'],
  [
    RecursiveMutex,
    [5 | LOOPS, 0, 2],
    'RecursiveMutex { held by thread 5, 3 times, event loops wait }',
  ],
  [
    RecursiveMutex,
    [5, 0, 0x80000001 | 0],
    'RecursiveMutex { held by thread 5, in a task, 2 times }',
  ],
  [RecursiveMutex, [5, 0, 0x7fffffff], 'RecursiveMutex { held by thread 5, 2147483648 times }'],
  [Condition, [7, 0], 'Condition { nobody waits }'],
  [Condition, [7, 1], 'Condition { 1 waiting }'],
  [Condition, [-1, 2], 'Condition { 2 waiting }'],
  [Condition, [0, -1], 'Condition { 2147483647 waiting }'],
  [Semaphore, [], 'Semaphore { 0 permits }'],
  [Semaphore, [1], 'Semaphore { 1 permit }'],
  [Semaphore, [0x30000002], 'Semaphore { 2 permits, claimed by a waiter, reserved for a waiter }'],
  [Semaphore, [0x0fffffff | THREADS], 'Semaphore { 268435455 permits, threads wait }'],
  [Permits, [], 'Permits { no permits }'],
  [Permits, [0, 0, 4], 'Permits { 4 free, permits: 4 }'],
  [Permits, [7 | LOOPS, 0, 2, 0, 5], 'Permits { 1 free, permits: 2, event loops wait }'],
  [
    Permits,
    [0x20000000 | THREADS, 0, 2, 0, 5, 6],
    'Permits { none free, permits: 2, reserved for a waiter, threads wait }',
  ],
  [RWLock, [], 'RWLock { free }'],
  [RWLock, [3], 'RWLock { read by 3 }'],
  [RWLock, [0x1000002, 0, 5], 'RWLock { read by 2, read by thread 5, who may upgrade }'],
  [RWLock, [0x1000000, 0, 5], 'RWLock { read by thread 5, who may upgrade }'],
  [RWLock, [0x2000000, 0, 5], 'RWLock { written by thread 5 }'],
  [RWLock, [0x2000000], 'RWLock { written by somebody }'],
  [RWLock, [0x4000001 | THREADS], 'RWLock { read by 1, a writer is next, threads wait }'],
  [RWLock, [0x8000000 | LOOPS], 'RWLock { free, readers are next, event loops wait }'],
  [
    RWLock,
    [0x14000001 | LOOPS],
    'RWLock { read by 1, a writer is next, reserved for a waiter, event loops wait }',
  ],
  [Barrier, [], 'Barrier { without parties }'],
  [Barrier, [2, 0, 3], 'Barrier { 2 missing, parties: 3 }'],
  [Barrier, [3, 0, 2], 'Barrier { 3 missing, parties: 2 }'],
  [Barrier, [0x20000002 | LOOPS, 0, 3], 'Barrier { broken, parties: 3, event loops wait }'],
  [WaitGroup, [], 'WaitGroup { done }'],
  [WaitGroup, [4 | 0x00400000 | THREADS], 'WaitGroup { 4 to do, threads wait }'],
  [Latch, [], 'Latch { open }'],
  [Latch, [0x3fffffff | THREADS], 'Latch { 1073741823 to go, threads wait }'],
  [Event, [], 'Event { not set, stays set }'],
  [Event, [1], 'Event { set, stays set }'],
  [Event, [6 | LOOPS], 'Event { not set, resets itself, event loops wait }'],
  [Once, [], 'Once { not run yet }'],
  [Once, [0x1a2b3c4d | THREADS], 'Once { run by agent 1a2b3c4d, threads wait }'],
  [Once, [0x20000000], 'Once { done }'],
  [Counter, [42 | LOOPS], 'Counter { 42, event loops wait }'],
];

describe('lockword/inspect', () => {
  before(async () => {
    expect(`${new Mutex()}`).to.equal('[object Object]');
    await import('../../../js/src/inspect.js');
  });

  it('describes every primitive', () =>
    expect(new Set(said.map(([Class]) => Class))).to.deep.equal(new Set(PRIMITIVES)));

  for (const [Class, words, expected] of said) {
    it(`says ${expected}`, () => {
      const primitive = withWords(Class, ...words);
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
