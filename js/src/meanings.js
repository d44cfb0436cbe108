/**
 * What the words of each primitive say. `lockword/inspect` reads this table, and `make core` prints
 * it as src/meanings.h, which lockword/describe.h reads in C.
 *
 * @typedef {readonly [word: number, mask: number]} Field
 *
 * @typedef {readonly [text: string, when?: Field, value?: Field, also?: Field]} Phrase
 *   It applies if the field `when` is not 0, and neither is `also`; without them, always. In its
 *   text %d is the value (of `when`, unless there is a `value`), %n is one more, %s is the plural's
 *   s, and %a is the agent of that id.
 *
 * @typedef {readonly Phrase[]} Choice of whose phrases the first that applies is said
 */
import * as core from './core/constants.js';

/** @type {Field} */
const HELD = [core.LW_MUTEX_STATE, core.LW_MUTEX_OWNER];
/** @type {Field} The writer's or upgradable reader's id. It is written a moment after the state. */
const OWNER = [core.LW_RWLOCK_OWNER, -1];

/**
 * @param {number} mask
 * @returns {Field}
 */
const state = (mask) => [0, mask];

/** @type {Choice} */
const HOLDER = [['held by %a', HELD], ['free']];
/** @type {Choice} */
const RESERVED = [['reserved for a waiter', state(core.LW_MUTEX_RESERVED)]];
/** @type {readonly Choice[]} */
const WAITERS = [
  [['threads wait', state(core.LW_BLOCKED_WAITERS)]],
  [['event loops wait', state(core.LW_ASYNC_WAITERS)]],
];

/** @type {Record<string, readonly Choice[]>} */
export const meanings = {
  Mutex: [HOLDER, RESERVED, ...WAITERS],
  RecursiveMutex: [
    HOLDER,
    [['in a task', [core.LW_RMUTEX_HOLDER, core.LW_RMUTEX_TASK], undefined, HELD]],
    [['%n times', [core.LW_RMUTEX_DEPTH, core.LW_RMUTEX_AGAIN], undefined, HELD]],
    RESERVED,
    ...WAITERS,
  ],
  Condition: [
    [['%d waiting', [core.LW_COND_WAITERS, ~core.LW_COND_LEFT_BEHIND]], ['nobody waits']],
  ],
  Semaphore: [
    [['%d permit%s', state(core.LW_SEM_MAX)], ['0 permits']],
    [['claimed by a waiter', state(core.LW_SEM_CLAIMED)]],
    RESERVED,
    ...WAITERS,
  ],
  Permits: [
    // The gate is always 0: whoever describes permits puts there how many are free.
    [
      ['%d free', [core.LW_PERMITS_GATE, -1]],
      ['none free', [core.LW_PERMITS_COUNT, -1]],
      ['no permits'],
    ],
    [['permits: %d', [core.LW_PERMITS_COUNT, -1]]],
    [['reserved for a waiter', state(core.LW_PERMITS_RESERVED)]],
    ...WAITERS,
  ],
  RWLock: [
    [
      ['written by %a', state(core.LW_RWLOCK_WRITER), OWNER],
      ['read by %d', state(core.LW_RWLOCK_READERS)],
      ['read by %a, who may upgrade', state(core.LW_RWLOCK_UPGRADABLE), OWNER],
      ['free'],
    ],
    [
      [
        'read by %a, who may upgrade',
        state(core.LW_RWLOCK_UPGRADABLE),
        OWNER,
        state(core.LW_RWLOCK_READERS),
      ],
    ],
    [
      ['readers are next', state(core.LW_RWLOCK_READERS_TURN)],
      ['a writer is next', state(core.LW_RWLOCK_WRITERS_TURN)],
    ],
    [['reserved for a waiter', state(core.LW_RWLOCK_RESERVED)]],
    [
      ['threads wait', state(core.LW_BLOCKED_WAITERS)],
      ['threads wait', state(core.LW_RWLOCK_BLOCKED_READERS)],
    ],
    WAITERS[1],
  ],
  Barrier: [
    [
      ['broken', state(core.LW_BARRIER_BROKEN)],
      ['%d missing', state(core.LW_BARRIER_MISSING)],
      ['without parties'],
    ],
    [['parties: %d', [core.LW_BARRIER_PARTIES, -1]]],
    ...WAITERS,
  ],
  WaitGroup: [[['%d to do', state(core.LW_WAITGROUP_MAX)], ['done']], ...WAITERS],
  Latch: [[['%d to go', state(core.LW_LATCH_MAX)], ['open']], ...WAITERS],
  Event: [
    [['set', state(core.LW_EVENT_SET)], ['not set']],
    [['resets itself', state(core.LW_EVENT_AUTO)], ['stays set']],
    ...WAITERS,
  ],
  Once: [
    [['run by %a', state(core.LW_ONCE_RUNNER)], ['done', state(core.LW_ONCE_RAN)], ['not run yet']],
    ...WAITERS,
  ],
  Counter: [[['%d', state(core.LW_COUNTER_MAX)], ['0']], ...WAITERS],
  Cancel: [[['fired', state(core.LW_EVENT_SET)], ['not fired']], ...WAITERS],
};
