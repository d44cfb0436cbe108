/** A or B of program.js: wants the mutex. */
import { serve } from '../worker.js';
import { ASLEEP, BEGIN, GO_ON, GOT, MUTEX, READY, WOKEN } from './cells.js';

serve(async ({ library, memory, name, timeout }) => {
  const { wait } = Atomics;
  let first = true;

  // A's first sleep on the mutex goes on until A is let go. B's ends only by a wake: lockword would
  // look again after a second.
  Atomics.wait = (words, index, value, ms) => {
    if (words.buffer !== memory.buffer) return wait(words, index, value, ms);
    if (first) Atomics.add(memory, ASLEEP, 1);
    const woken = wait(words, index, value, name === 'A' ? ms : Infinity);
    if (first && name === 'A' && woken === 'ok') {
      Atomics.store(memory, WOKEN, 1);
      wait(memory, GO_ON, 0);
    }
    first = false;
    return woken;
  };

  const { BetterMutex } = await import(library);
  const mutex = new BetterMutex(memory, MUTEX);
  Atomics.add(memory, READY, 1);
  wait(memory, BEGIN, 0);
  if (name === 'B') wait(memory, BEGIN, 1);

  const got = mutex.lock(timeout);
  if (name === 'B') Atomics.store(memory, GOT, 1);
  if (got) mutex.unlock();
  return got;
});
