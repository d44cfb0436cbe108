/**
 * waits.js: every call of the family that may wait, as a row: how a primitive comes to keep it
 * waiting, and what ends that. One body of a test runs over all rows, in the form that blocks and
 * in the one that does not.
 */
import {
  Barrier,
  Counter,
  Event,
  Latch,
  Mutex,
  Once,
  Permits,
  RecursiveMutex,
  RWLock,
  Semaphore,
  WaitGroup,
} from '../../../js/src/index.js';
import {
  LW_ASYNC_WAITERS,
  LW_BLOCKED_WAITERS,
  LW_MUTEX_RESERVED,
  LW_PERMITS_RESERVED,
  LW_PERMITS_SEQUENCE,
  LW_RWLOCK_BLOCKED_READERS,
  LW_RWLOCK_GENERATION,
  LW_RWLOCK_MIXED,
  LW_RWLOCK_READER,
  LW_RWLOCK_RESERVED,
  LW_RWLOCK_UPGRADABLE,
  LW_RWLOCK_WRITER,
  LW_SEM_TICKET,
  LW_START,
} from '../../../js/src/core/constants.js';
import { mutexTryStep, mutexUnlockStep } from '../../../js/src/core/mutex.js';
import { onceBeginStep, onceEndStep } from '../../../js/src/core/once.js';
import { permitsReleaseStep, permitsTryStep } from '../../../js/src/core/permits.js';
import { rwlockBecomeStep, rwlockTryStep } from '../../../js/src/core/rwlock.js';
import { spawn } from '../agents.js';
import { STRANGER } from '../support.js';

/** The words of any primitive. */
export const wordsOf = (primitive) => {
  const { buffer, byteOffset } = primitive.handle;
  return new Int32Array(buffer, byteOffset, primitive.constructor.BYTE_LENGTH / 4);
};

const LW_WAITERS = LW_ASYNC_WAITERS | LW_BLOCKED_WAITERS;
const RWLOCK_MARKS = LW_WAITERS | LW_RWLOCK_BLOCKED_READERS | LW_RWLOCK_MIXED;

/** The words less what only says that somebody may wait. */
export const stateOf = (primitive) =>
  wordsOf(primitive).map((word, i) =>
    i === 0
      ? word &
        ~(primitive instanceof RWLock
          ? RWLOCK_MARKS
          : primitive instanceof Permits
            ? LW_WAITERS | LW_PERMITS_SEQUENCE
            : LW_WAITERS)
      : primitive instanceof Semaphore
        ? word & ~LW_SEM_TICKET
        : i === LW_RWLOCK_GENERATION
          ? 0
          : word,
  );

/** Whether threads, or event loops, may wait. */
export const threadsWait = (primitive) => {
  const marks = primitive instanceof RWLock ? RWLOCK_MARKS & ~LW_ASYNC_WAITERS : LW_BLOCKED_WAITERS;
  return (wordsOf(primitive)[0] & marks) !== 0;
};
export const loopsWait = (primitive) => (wordsOf(primitive)[0] & LW_ASYNC_WAITERS) !== 0;

/** Another agent without a worker: it runs the steps that never wait under an id of its own. */
const stranger = {
  lock: (mutex) => mutexTryStep(wordsOf(mutex), STRANGER),
  unlock: (mutex) => mutexUnlockStep(wordsOf(mutex), STRANGER),
  take: (rwlock, way) => rwlockTryStep(wordsOf(rwlock), 0, way, STRANGER),
  give: (rwlock, way) => rwlockBecomeStep(wordsOf(rwlock), way, 0, STRANGER),
  use: (permits) => permitsTryStep(wordsOf(permits), STRANGER),
  giveBack: (permits) => permitsReleaseStep(wordsOf(permits), 0, STRANGER),
  begin: (once) => onceBeginStep(wordsOf(once), STRANGER, LW_START, 0),
  finish: (once, ran) => onceEndStep(wordsOf(once), STRANGER, ran),
};

/** A primitive that a stranger has done something to. */
const done = (primitive, what, ...args) => {
  stranger[what](primitive, ...args);
  return primitive;
};

const kept = (way) => ({
  make: () => done(new RWLock(), 'take', way),
  end: (lock) => stranger.give(lock, way),
});

/** The call returns a guard, or throws. */
const GUARD = { won: 'guard', throws: 'TimeoutError' };

/**
 * `make` makes a primitive that keeps `call` waiting, with `args` before its options; `end` lets
 * one through. Then it answers `won`, in its async form `wonAsync`; when the time is up, `late`, or
 * `lateAsync`, or it throws what `throws` names. `before` is what the caller calls first, `counts`
 * what the call takes off the state, though it gives up; one that `returnsFirst` reads no options
 * when it need not wait. `reserves` is the bit that keeps newcomers from the next turn.
 */
export const WAITS = [
  {
    type: 'Mutex',
    call: 'lock',
    reserves: LW_MUTEX_RESERVED,
    make: () => done(new Mutex(), 'lock'),
    end: stranger.unlock,
  },
  {
    type: 'Mutex',
    call: 'acquire',
    make: () => done(new Mutex(), 'lock'),
    end: stranger.unlock,
    ...GUARD,
  },
  {
    type: 'RecursiveMutex',
    call: 'lock',
    make: () => done(new RecursiveMutex(), 'lock'),
    end: stranger.unlock,
    wonAsync: 'guard',
    lateAsync: undefined,
  },
  {
    type: 'RecursiveMutex',
    call: 'acquire',
    make: () => done(new RecursiveMutex(), 'lock'),
    end: stranger.unlock,
    ...GUARD,
  },
  {
    type: 'Semaphore',
    call: 'wait',
    permits: 1,
    make: () => Semaphore.create(0),
    end: (it) => it.release(),
  },
  {
    type: 'Semaphore',
    call: 'wait',
    permits: 3,
    make: () => Semaphore.create(2),
    end: (it) => it.release(),
  },
  {
    type: 'Semaphore',
    call: 'acquire',
    permits: 2,
    make: () => Semaphore.create(1),
    end: (it) => it.release(),
    ...GUARD,
  },
  {
    type: 'Permits',
    call: 'acquire',
    reserves: LW_PERMITS_RESERVED,
    make: () => done(Permits.create(1), 'use'),
    end: stranger.giveBack,
    ...GUARD,
  },
  { type: 'RWLock', call: 'readLock', ...kept(LW_RWLOCK_WRITER) },
  {
    type: 'RWLock',
    call: 'writeLock',
    reserves: LW_RWLOCK_RESERVED,
    ...kept(LW_RWLOCK_WRITER),
  },
  { type: 'RWLock', call: 'writeLock', ...kept(LW_RWLOCK_UPGRADABLE) },
  {
    type: 'RWLock',
    call: 'writeLock',
    make: () => done(new RWLock(), 'take', LW_RWLOCK_READER),
    end: (it) => it.readUnlock(),
  },
  { type: 'RWLock', call: 'upgradableLock', ...kept(LW_RWLOCK_WRITER) },
  { type: 'RWLock', call: 'upgradableLock', ...kept(LW_RWLOCK_UPGRADABLE) },
  {
    type: 'RWLock',
    call: 'upgrade',
    before: 'tryUpgradableLock',
    make: () => done(new RWLock(), 'take', LW_RWLOCK_READER),
    end: (it) => it.readUnlock(),
  },
  { type: 'RWLock', call: 'acquireRead', ...kept(LW_RWLOCK_WRITER), ...GUARD },
  { type: 'RWLock', call: 'acquireWrite', ...kept(LW_RWLOCK_WRITER), ...GUARD },
  { type: 'RWLock', call: 'acquireUpgradable', ...kept(LW_RWLOCK_WRITER), ...GUARD },
  {
    type: 'Barrier',
    call: 'wait',
    make: () => Barrier.create(2),
    end: (it) => it.arriveAndDrop(),
    won: false,
    throws: 'TimeoutError',
    breaks: true,
  },
  {
    type: 'WaitGroup',
    call: 'wait',
    make: () => {
      const group = new WaitGroup();
      group.add();
      return group;
    },
    end: (it) => it.done(),
  },
  { type: 'Latch', call: 'wait', make: () => Latch.create(2), end: (it) => it.countDown(2) },
  {
    type: 'Latch',
    call: 'arriveAndWait',
    counts: 1,
    make: () => Latch.create(3),
    end: (it) => it.countDown(2),
  },
  { type: 'Event', call: 'wait', make: () => new Event(), end: (it) => it.set() },
  {
    type: 'Event',
    call: 'wait',
    make: () => Event.create({ autoReset: true }),
    end: (it) => it.set(),
  },
  {
    type: 'Once',
    call: 'run',
    args: ['fn'],
    make: () => done(new Once(), 'begin'),
    end: (it) => stranger.finish(it, true),
    won: false,
    throws: 'TimeoutError',
    returnsFirst: true,
  },
  {
    type: 'Once',
    call: 'run',
    args: ['fn'],
    make: () => done(new Once(), 'begin'),
    end: (it) => stranger.finish(it, false),
    throws: 'TimeoutError',
  },
  {
    type: 'Counter',
    call: 'waitUntil',
    args: [3],
    make: () => Counter.create(2),
    end: (it) => it.increment(2),
  },
  {
    type: 'Counter',
    call: 'waitUntil',
    args: ['fn'],
    make: () => Counter.create(2),
    end: (it) => it.decrement(2),
  },
].map((row, i) => ({
  args: [],
  won: true,
  late: false,
  ...row,
  title: `${row.type}: ${row.call} #${i}`,
}));

/** The two forms of every call. */
export const FORMS = ['', 'Async'];

export const wonBy = (row, form) => (form && 'wonAsync' in row ? row.wonAsync : row.won);
export const lateBy = (row, form) => (form && 'lateAsync' in row ? row.lateAsync : row.late);

const isGuard = (value) => typeof (value?.unlock ?? value?.release) === 'function';

/** What a test makes of an answer, so that it can be posted and compared. */
export const shapeOf = (value) => (isGuard(value) ? 'guard' : value);

/** A function where a row says so: what a Once runs, what a Counter waits for. */
const argsOf = (row) => row.args.map((arg) => (arg === 'fn' ? (value) => value === 0 : arg));

/** A semaphore's options say how many permits, so that they are an object always. */
const optionsOf = ({ permits }, options) =>
  permits === undefined
    ? options
    : { permits, ...(typeof options === 'object' ? options : { timeout: options }) };

/** Calls in one of the forms, in this agent. */
export const ask = (row, form, primitive, options) =>
  primitive[row.call + form](...argsOf(row), optionsOf(row, options));

/**
 * Calls in one of the forms, in a worker, which says 'calling' before. Returns { value } or {
 * error, code }, and how long it took, in ms.
 */
export const askElsewhere = (row, form, primitive, options) =>
  spawn(
    async ({ data, say, ...lockword }) => {
      const { handle, before, call, args, options } = data;
      const primitive = lockword[handle.type].from(handle);
      if (before) primitive[before]();
      const given = args.map((arg) => (arg === 'fn' ? (value) => value === 0 : arg));
      say('calling');
      const start = performance.now();
      try {
        const value = await primitive[call](...given, options);
        return {
          value: typeof (value?.unlock ?? value?.release) === 'function' ? 'guard' : value,
          ms: performance.now() - start,
        };
      } catch ({ name, code, message }) {
        return { error: name, code, message, ms: performance.now() - start };
      }
    },
    {
      handle: primitive.handle,
      before: row.before,
      call: row.call + form,
      args: row.args,
      options: optionsOf(row, options),
    },
  );
