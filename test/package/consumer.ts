// What a user writes in strict TypeScript.
import { LockError, Mutex, TimeoutError } from 'lockword';
import { imports } from 'lockword/wasm';

const mutex: Mutex = new Mutex(new SharedArrayBuffer(Mutex.BYTE_LENGTH));
const same: Mutex = Mutex.from(mutex.handle);
const taken: boolean = mutex.tryLock() && !same.tryLock();
mutex.unlock();
const timely: boolean = await mutex.lockAsync({ timeout: 10, signal: new AbortController().signal });
mutex.unlock();
const sum: number = await mutex.runExclusive(() => 2 + 2);
const error: LockError = new TimeoutError('late');
const ok: boolean =
  taken && timely && sum === 4 && typeof error.code === 'string' && typeof imports() === 'object' && !mutex.isLocked;
if (!ok) throw new Error('lockword does not work as a package');
