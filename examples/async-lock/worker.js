/** A worker of program.js: adds to the cell, or takes the lock and keeps it. */
import { serve } from '../worker.js';

serve(async ({ library, buffer, cell, times, hold }) => {
  const { AsyncLock } = await import(library);
  const lock = new AsyncLock(buffer);
  if (hold) return lock.lock();
  for (let i = 0; i < times; i++) {
    lock.lock();
    cell[0]++;
    lock.unlock();
  }
});
