/**
 * What every primitive says of itself, in words, which are also those of lockword/describe.h in C:
 *
 *     import 'lockword/inspect';
 *     console.log(`${mutex}`);                     // Mutex { held by agent 1a2b3c4d (this one), threads wait, event loops wait }
 *
 * From then on all primitives of this agent say their states with toString(), and in Node, Deno and Bun to console.log and
 * util.inspect.
 * A name says more than an id. A worker posts its id, `self`, to those who want to name it:
 *
 *     import { nameAgent } from 'lockword/inspect';
 *     nameAgent(id, 'parser');
 *     console.log(`${mutex}`);                     // Mutex { held by parser (agent 1a2b3c4d), threads wait }
 *
 * It is imported for its effect, and for itself alone, so that bundles that do not want it do not carry it.
 *
 * The state is that of one moment, and may be old when you read it; reading it changes nothing. An agent is called by its id in
 * hexadecimal, and a native thread by the system's id of it. Since when it is held, nothing tells: every lock would have to read a
 * clock and write it down. Only a condition counts those who wait; the others know in which way:
 * where one
 * says that threads or event loops wait, they may all have given up since.
 */

import { self, shared } from './agent.js';
import { Barrier, Condition, Counter, Event, Mutex, Once, RecursiveMutex, RWLock, Semaphore, WaitGroup } from './index.js';
import * as core from './core.js';

/** Ids with this bit are those of agents in an engine; others are threads of the operating system. */
const IN_AN_ENGINE = 0x10000000;

/** @type {Map<number, string>} */
const names = (shared.names ??= new Map());

/**
 * Has this agent call another, or itself, by a name when it says who holds a lock. Others do not see the name.
 *
 * @param {number} id what that agent's `self` is, or the kernel's id of a native thread
 * @param {string | undefined} name undefined: forgets it
 * @throws {TypeError} id is not an integer
 */
export function nameAgent(id, name) {
  if (!Number.isInteger(id)) throw new TypeError('id must be an integer');
  if (name === undefined) names.delete(id);
  else names.set(id, name);
}

/** @param {number} id */
function agent(id) {
  const plain = id & IN_AN_ENGINE ? `agent ${id.toString(16)}` : `thread ${id}`;
  const name = names.get(id);
  if (name === undefined) return id === self ? `${plain} (this one)` : plain;
  return `${name} (${plain}${id === self ? ', this one' : ''})`;
}

/**
 * @param {number} n
 * @param {string} thing
 */
const count = (n, thing) => `${n} ${thing}${n === 1 ? '' : 's'}`;

/** @param {number} state of any primitive but a condition */
function waiters(state) {
  const threads = state & core.LW_BLOCKED_WAITERS ? ['threads wait'] : [];
  return state & core.LW_ASYNC_WAITERS ? [...threads, 'event loops wait'] : threads;
}

/** @param {number} state */
function holder(state) {
  const owner = state & core.LW_MUTEX_OWNER;
  return owner ? `held by ${agent(owner)}` : 'free';
}

/**
 * @param {number} state
 * @param {number} bit
 */
const reserved = (state, bit = core.LW_MUTEX_RESERVED) => (state & bit ? ['reserved for a waiter'] : []);

/**
 * What the words of each mean, first word first.
 *
 * @type {[{ prototype: object, type: string }, (...words: number[]) => string[]][]}
 */
const meanings = [
  [Mutex, (state) => [holder(state), ...reserved(state), ...waiters(state)]],
  [
    RecursiveMutex,
    (state, _, depth) => {
      const times = (depth & core.LW_RMUTEX_AGAIN) + 1;
      const way = `${depth & core.LW_RMUTEX_TASK ? ' in a task' : ''}${times > 1 ? `, ${times} times` : ''}`;
      return [holder(state) + (state & core.LW_MUTEX_OWNER ? way : ''), ...reserved(state), ...waiters(state)];
    },
  ],
  [
    Condition,
    (_, word) => {
      const waiting = word & ~core.LW_COND_LEFT_BEHIND;
      return [waiting === 0 ? 'nobody waits' : waiting === 1 ? '1 waits' : `${waiting} wait`];
    },
  ],
  [Semaphore, (state) => [count(state & core.LW_SEM_MAX, 'permit'), ...waiters(state)]],
  [
    RWLock,
    (state, _, owner) => [...users(state, owner), ...turns(state), ...reserved(state, core.LW_RWLOCK_RESERVED), ...waiters(state)],
  ],
  [Barrier, (state, _, parties) => [meeting(state, parties), ...waiters(state)]],
  [WaitGroup, (state) => [state & core.LW_WAITGROUP_MAX ? `${state & core.LW_WAITGROUP_MAX} to do` : 'done', ...waiters(state)]],
  [
    Event,
    (state) => [
      state & core.LW_EVENT_SET ? 'set' : 'not set',
      state & core.LW_EVENT_AUTO ? 'resets itself' : 'stays set',
      ...waiters(state),
    ],
  ],
  [
    Once,
    (state) => {
      const runner = state & core.LW_ONCE_RUNNER;
      return [runner ? `run by ${agent(runner)}` : state & core.LW_ONCE_RAN ? 'done' : 'not run yet', ...waiters(state)];
    },
  ],
  [Counter, (state) => [`${state & core.LW_COUNTER_MAX}`, ...waiters(state)]],
];

/**
 * @param {number} state
 * @param {number} owner which is written a moment after the state
 */
function users(state, owner) {
  const who = owner ? agent(owner) : 'somebody';
  const readers = state & core.LW_RWLOCK_READERS;
  if (state & core.LW_RWLOCK_WRITER) return [`written by ${who}`];
  const upgradable = state & core.LW_RWLOCK_UPGRADABLE ? [`read by ${who}, who may upgrade`] : [];
  if (readers) return [`read by ${readers}`, ...upgradable];
  return upgradable.length ? upgradable : ['free'];
}

/** @param {number} state */
function turns(state) {
  if (state & core.LW_RWLOCK_READERS_TURN) return ['readers are next'];
  return state & core.LW_RWLOCK_WRITERS_TURN ? ['a writer is next'] : [];
}

/**
 * @param {number} state
 * @param {number} parties
 */
function meeting(state, parties) {
  if (state & core.LW_BARRIER_BROKEN) return 'broken';
  const missing = state & core.LW_BARRIER_MISSING;
  return missing ? `${missing} of ${Math.max(parties, missing)} missing` : 'without parties';
}

for (const [{ prototype, type }, meaning] of meanings) {
  /** @this {{ words: import('./wait.js').Words }} */
  const describe = function () {
    return `${type} { ${meaning(...Array.from(this.words, (_, i) => Atomics.load(this.words, i))).join(', ')} }`;
  };
  for (const name of ['toString', Symbol.for('nodejs.util.inspect.custom')])
    Object.defineProperty(prototype, name, { value: describe, configurable: true, writable: true });
}
