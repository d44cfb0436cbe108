// What a user writes in strict TypeScript, who knows neither the DOM nor Node's types. It is also
// run.
import {
  Barrier,
  BlockingError,
  BrokenBarrierError,
  Condition,
  Counter,
  DeadlockError,
  Event,
  Latch,
  layout,
  LockError,
  Mutex,
  Once,
  OwnershipError,
  Permits,
  RecursiveMutex,
  RWLock,
  self as me,
  Semaphore,
  TimeoutError,
  waitAny,
  WaitGroup,
} from 'lockword';
import type {
  Guard,
  Handle,
  PermitGuard,
  PermitOptions,
  SharedMemory,
  Signal,
  TaskGuard,
  WaitOptions,
  WaitSource,
} from 'lockword';
import { imports as emscripten } from 'lockword/emscripten';
import { nameAgent } from 'lockword/inspect';
import { imports } from 'lockword/wasm';
import { connect, type Cluster, type Lease, type LeaseInfo } from 'lockword/lease';
import { Region, type RegionGuard, type RegionMutex, type RWTable } from 'lockword/region';
import { WorkerMutex, WorkerMutexError } from 'lockword/worker-mutex';

function check(what: string, ok: boolean): void {
  if (!ok) throw new Error(`lockword does not work as a package: ${what}`);
}

// What the platform has, whose types this program does without.
const platform: any = globalThis;
const signal: Signal = new platform.AbortController().signal;
const memory: SharedMemory = new platform.WebAssembly.Memory({
  initial: 1,
  maximum: 1,
  shared: true,
});

const mutex: Mutex = new Mutex(new SharedArrayBuffer(Mutex.BYTE_LENGTH));
const handle: Handle<'Mutex'> = mutex.handle;
const same: Mutex = Mutex.from(handle);
const taken: boolean = mutex.tryLock() && !same.tryLock();
mutex.unlock();
const brief: WaitOptions = { timeout: 10, signal };
const timely: boolean = (await mutex.lockAsync(brief)) && mutex.isMine;
mutex.unlock();
const sum: number = await mutex.runExclusive(() => 2 + 2);
check('Mutex', taken && timely && sum === 4 && !mutex.isLocked);
(await mutex.acquireAsync()).unlock();

const placed = new Mutex(memory, 8);
check('new Mutex(memory)', placed.handle.byteOffset === 8 && handle.type === 'Mutex');

// Guards end with their block, whichever way it is written.
async function guards(): Promise<boolean[]> {
  const held: boolean[] = [];
  {
    using guard = await mutex.acquireAsync();
    held.push(mutex.isMine);
    guard.unlock();
  }
  {
    await using _ = await mutex.acquireAsync(5);
    held.push(mutex.isMine);
  }
  {
    using guard: TaskGuard = await new RecursiveMutex().acquireAsync();
    held.push(guard.isMine);
  }
  {
    const lock = new RWLock();
    using _read: Guard = await lock.acquireReadAsync();
    held.push(lock.readers === 1);
  }
  {
    const lock = new RWLock();
    await using _upgradable: Guard = await lock.acquireUpgradableAsync();
    held.push(lock.isMine && (await lock.upgradeAsync(5)) && lock.isWriteLocked);
  }
  {
    using _permits = await Semaphore.create(2).acquireAsync({ permits: 2 });
    held.push(!mutex.isLocked);
  }
  return held;
}
check('using', (await guards()).every(Boolean) && !mutex.isLocked);

async function inARegion(): Promise<boolean> {
  using region: Region = await Region.create(new SharedArrayBuffer(16384)).join('main');
  const jobs: RegionMutex = region.mutex('jobs');
  const died: boolean = await jobs.runExclusive(({ ownerDied }) => ownerDied, { timeout: 50 });
  const table: Uint8Array = region.bytes('table', 8);
  const gpu = region.permits('gpus', 1).when();
  if ((await waitAny([gpu], 50)) !== 0 || gpu.permit?.number !== 0) return false;
  gpu.permit.release();
  const lock: RWTable = region.rwtable('lock');
  const reads: number = await lock.runShared(() => lock.readers, 50);
  const guard: RegionGuard = await lock.acquireWriteAsync({ timeout: 50 });
  const wrote: boolean = lock.isWriteLocked && !guard.ownerDied;
  guard.unlock();
  if (!wrote || reads !== 1) return false;
  return !died && table.length === 8 && region.describe('jobs')?.state === 'sound';
}
check('a region', await inARegion());

// It needs an etcd cluster. Compiled only.
export async function onMachines(): Promise<bigint> {
  const cluster: Cluster = connect('etcd://a:2379,b');
  await cluster.runExclusive('jobs', ({ lost, isHeld }) => lost.aborted !== isHeld, 100);
  const lease: Lease = await cluster.lock('jobs', { timeout: 100, ttl: 5000, holder: 'a test' });
  const line: LeaseInfo[] = await cluster.list('jobs');
  const broken: LeaseInfo | undefined = await cluster.break('jobs', line[0]?.token);
  await lease.unlock();
  return broken?.token ?? lease.token;
}

// What a worker does, where blocking is allowed. Compiled only.
export function inAWorker(rwlock: RWLock, semaphore: Semaphore, recursive: RecursiveMutex): void {
  using _mutex = mutex.acquire(50);
  using _read = rwlock.acquireRead({ timeout: 50 });
  using _write = rwlock.acquireWrite();
  using _upgradable = rwlock.acquireUpgradable(50);
  using _permits = semaphore.acquire({ permits: 3, timeout: 50 });
  using _again = recursive.acquire();
  if (semaphore.wait({ timeout: 5 })) semaphore.release();
}

export async function inAnAsyncFunction(): Promise<void> {
  await using _ = mutex.acquire();
}

// What a library exports without writing its type. Compiled only: a compiler has to name the type.
export const inferred = () => [
  [handle, mutex.lockAsync, mutex.acquireAsync(), Barrier.init, layout({ mutex: Mutex }).on],
  [recursive.lockAsync(), condition.waitForAsync, semaphore.acquireAsync, gpus.tryAcquire()],
  [event.when(), gpus.when(), connect('').lock('jobs'), connect('').list, connect('').runExclusive],
  [emscripten, imports, Region.create, WorkerMutex.bindWorkerExit, new WorkerMutexError('')],
];

// What a compiler has to refuse. Compiled only.
export async function mistakes(semaphore: Semaphore, buffer: Int32Array): Promise<void> {
  // @ts-expect-error: the handle of another primitive
  Mutex.from(semaphore.handle);
  // @ts-expect-error: the handle of another primitive
  RecursiveMutex.from(mutex.handle);
  // @ts-expect-error: a handle of one may be that of another
  Mutex.from(mutex.handle as Handle);
  // @ts-expect-error: the words are no user's business
  mutex.words;
  // @ts-expect-error: permits or milliseconds?
  await semaphore.acquireAsync(3);
  // @ts-expect-error: permits or milliseconds?
  semaphore.wait(3);
  // @ts-expect-error: a guard is no mutex
  (await mutex.acquireAsync()).lock();
  // @ts-expect-error: a guard is no semaphore
  (await semaphore.acquireAsync()).release();
  // @ts-expect-error: a guard is no mutex
  (await new RecursiveMutex().acquireAsync()).tryLock();
  // @ts-expect-error: a guard is no read-write lock
  (await new RWLock().acquireWriteAsync()).downgrade();
  // @ts-expect-error: the promise has to be awaited
  using _guard = mutex.acquireAsync();
  // @ts-expect-error: the promise has to be awaited, here, too
  await using _other = mutex.acquireAsync();
  // @ts-expect-error: true or false is nothing to dispose of
  using _held = mutex.lock();
  // @ts-expect-error: Semaphore.create(2)
  new Semaphore(2);
  // @ts-expect-error: Barrier.create(3)
  new Barrier(3);
  // @ts-expect-error: a view is not its buffer
  new Mutex(buffer);
  // @ts-expect-error: a time is no option of an event
  Event.create(5);
  // @ts-expect-error: event.when()
  await waitAny([new Event()]);
  // @ts-expect-error: a semaphore is not a mutex
  await new Condition().waitAsync(semaphore);
  // @ts-expect-error: a condition needs the guard of the task
  await new Condition().waitAsync(new RecursiveMutex());
  // @ts-expect-error: the time is a number
  await mutex.lockAsync('50');
  // @ts-expect-error: timeout
  await mutex.lockAsync({ timout: 50 });
}

const recursive: RecursiveMutex = new RecursiveMutex();
const depth: number = await recursive.runExclusive(async (guard: TaskGuard) => {
  const again: boolean = await guard.lockAsync(brief);
  return again ? guard.depth : 0;
});
const guard = await recursive.lockAsync(10);
// @ts-expect-error: undefined when the time was up
guard.unlock();
check('RecursiveMutex', depth === 2 && recursive.depth === 0);

const condition: Condition = new Condition();
await mutex.lockAsync();
const notified: boolean = await condition.waitAsync(mutex, 1);
const held: boolean = await condition.waitForAsync(mutex, () => mutex.isMine, 1);
mutex.unlock();
const found: number = condition.notify(2) + condition.notifyAll();
check('Condition', !notified && held && found === 0);

const semaphore: Semaphore = Semaphore.create(2);
const two: PermitOptions = { permits: 2, timeout: 10 };
const acquired: boolean = (await semaphore.waitAsync()) && semaphore.tryAcquire(1);
semaphore.release(2);
const left: number = await semaphore.runExclusive(() => semaphore.permits, two);
check('Semaphore', acquired && left === 0 && semaphore.permits === 2);

const lock: RWLock = new RWLock();
const reads: boolean = await lock.readLockAsync();
const readers: number = lock.readers;
lock.readUnlock();
const counted: number = await lock.runShared(() => lock.readers);
const written: string = await lock.runExclusive(async () => `${lock.isWriteLocked}`, {
  timeout: 5,
});
check('RWLock: runShared, runExclusive', counted === 1 && written === 'true' && lock.readers === 0);
const upgraded: boolean = (await lock.upgradableLockAsync()) && (await lock.upgradeAsync(1));
lock.writeUnlock();
check('RWLock', reads && readers === 1 && upgraded && !lock.isWriteLocked);

const barrier: Barrier = Barrier.create(1);
const leads: boolean = await barrier.waitAsync();
check('Barrier', leads && !barrier.isBroken);

const group: WaitGroup = new WaitGroup();
group.add();
group.done();
check('WaitGroup', (await group.waitAsync()) && group.count === 0);

const gpus: Permits = Permits.create(2);
const gpu: PermitGuard = await gpus.acquireAsync({ timeout: 5 });
const numbers = await gpus.runExclusive((number) => [gpu.number, number, gpus.available]);
gpu.release();
check('Permits', numbers.join() === '0,1,0' && gpus.tryAcquire()?.number === 0);

const latch: Latch = Latch.create(2);
latch.countDown();
check(
  'Latch',
  (await latch.arriveAndWaitAsync({ timeout: 5 })) && latch.tryWait() && latch.count === 0,
);

const event: Event = Event.create({ autoReset: true });
event.set();
const counter: Counter = Counter.create(3);
const sources: readonly WaitSource[] = [
  counter.whenAtLeast(9),
  event.when(),
  semaphore.when(2),
  group.when(),
  latch.when(),
];
const first: number = await waitAny(sources, { timeout: 10 });
check('waitAny', first === 1 && !event.isSet && semaphore.permits === 2);
check(
  'Counter',
  (await counter.waitUntilAsync((value: number) => value > 2)) && counter.increment() === 3,
);

const once: Once = new Once();
const ran: boolean = await once.runAsync(async () => {});
check('Once', ran && once.done);

const shared = layout({ lock: Mutex, ready: Event });
const { lock: inner, ready }: { lock: Mutex; ready: Event } = shared.on(
  new SharedArrayBuffer(shared.byteLength),
);
const offset: number = shared.offsets.ready;
check('layout', offset === 8 && !inner.isLocked && !ready.isSet);

const errors: LockError[] = [
  TimeoutError,
  DeadlockError,
  OwnershipError,
  BlockingError,
  BrokenBarrierError,
].map((E) => new E('late'));
check(
  'errors',
  errors.every(({ code }) => code.startsWith('ERR_')),
);
check('inspect', `${semaphore}` === 'Semaphore { 2 permits }');
nameAgent(me, 'main');
mutex.tryLock();
check('nameAgent', `${mutex}`.includes('held by main'));
mutex.unlock();
check('wasm', imports().lockword.self() === me);

const buffer: SharedArrayBuffer = WorkerMutex.createSharedBuffer(2);
const workerMutex: WorkerMutex = new WorkerMutex({ handle: buffer, index: 1 });
await workerMutex.lockAsync();
workerMutex.unlock();
const { index, sharedBuffer }: { index: number; sharedBuffer: SharedArrayBuffer } = workerMutex;
const code: string = new WorkerMutexError('A_CODE').code;
check('WorkerMutex', index === 1 && sharedBuffer === buffer && code === 'A_CODE');

const table = { get: (_: number) => () => {} };
check('emscripten', typeof emscripten(memory as never, () => table).lockword.self() === 'number');
