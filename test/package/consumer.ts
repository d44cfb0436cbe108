// What a user writes in strict TypeScript.
import {
  Barrier,
  BlockingError,
  BrokenBarrierError,
  Condition,
  Counter,
  DeadlockError,
  Event,
  layout,
  LockError,
  Mutex,
  Once,
  OwnershipError,
  RecursiveMutex,
  RWLock,
  Semaphore,
  TimeoutError,
  waitAny,
  WaitGroup,
} from 'lockword';
import { imports as emscripten } from 'lockword/emscripten';
import 'lockword/inspect';
import { imports } from 'lockword/wasm';
import { WorkerMutex, WorkerMutexError } from 'lockword/worker-mutex';

function check(what: string, ok: boolean): void {
  if (!ok) throw new Error(`lockword does not work as a package: ${what}`);
}

const mutex: Mutex = new Mutex(new SharedArrayBuffer(Mutex.BYTE_LENGTH));
const same: Mutex = Mutex.from(mutex.handle);
const taken: boolean = mutex.tryLock() && !same.tryLock();
mutex.unlock();
const timely: boolean = await mutex.lockAsync({ timeout: 10, signal: new AbortController().signal });
mutex.unlock();
const sum: number = await mutex.runExclusive(() => 2 + 2);
check('Mutex', taken && timely && sum === 4 && !mutex.isLocked);
(await mutex.acquireAsync()).unlock();

const recursive: RecursiveMutex = new RecursiveMutex();
const depth: number = await recursive.runExclusive((guard) => {
  guard.lock();
  return guard.depth;
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
const acquired: boolean = (await semaphore.acquireAsync()) && semaphore.tryAcquire(1);
semaphore.release(2);
check('Semaphore', acquired && semaphore.permits === 2);

const lock: RWLock = new RWLock();
const reads: boolean = await lock.readLockAsync();
const readers: number = lock.readers;
lock.readUnlock();
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

const event: Event = Event.create({ autoReset: true });
event.set();
const counter: Counter = Counter.create(3);
const first: number = await waitAny([counter.whenAtLeast(9), event.when(), semaphore.when(2), group.when()], { timeout: 10 });
check('waitAny', first === 1 && !event.isSet && semaphore.permits === 2);
check('Counter', (await counter.waitUntilAsync((value: number) => value > 2)) && counter.increment() === 3);

const once: Once = new Once();
const ran: boolean = await once.runAsync(async () => {});
check('Once', ran && once.done);

const shared = layout({ lock: Mutex, ready: Event });
const { lock: inner, ready }: { lock: Mutex; ready: Event } = shared.on(new SharedArrayBuffer(shared.byteLength));
const offset: number = shared.offsets.ready;
check('layout', offset === 8 && !inner.isLocked && !ready.isSet);

const errors: LockError[] = [TimeoutError, DeadlockError, OwnershipError, BlockingError, BrokenBarrierError].map(
  (E) => new E('late'),
);
check(
  'errors',
  errors.every(({ code }) => code.startsWith('ERR_')),
);
check('inspect', `${semaphore}` === 'Semaphore { 2 permits }');
check('wasm', typeof imports().lockword.self() === 'number');

const buffer: SharedArrayBuffer = WorkerMutex.createSharedBuffer(2);
const workerMutex: WorkerMutex = new WorkerMutex({ handle: buffer, index: 1 });
await workerMutex.lockAsync();
workerMutex.unlock();
const { index, sharedBuffer }: { index: number; sharedBuffer: SharedArrayBuffer } = workerMutex;
const code: string = new WorkerMutexError('A_CODE').code;
check('WorkerMutex', index === 1 && sharedBuffer === buffer && code === 'A_CODE');

const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });
const table = new WebAssembly.Table({ initial: 1, element: 'anyfunc' });
check('emscripten', typeof emscripten(memory, () => table).lockword.self() === 'number');
