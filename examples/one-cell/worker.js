/** A worker in JavaScript: adds to the cell. */
import { Barrier, layout, Mutex } from 'lockword';

import { serve } from '../worker.js';

const NAP_MS = 0.05;
const napWord = new Int32Array(new SharedArrayBuffer(4));

serve(({ memory, at, times, guarded }) => {
  const shared = layout({ lock: Mutex, start: Barrier });
  const { lock, start } = shared.on(memory, at);
  const cell = new Int32Array(memory, at + shared.byteLength, 1);

  start.wait();
  for (let i = 0; i < times; i++) {
    if (guarded) lock.lock();
    const seen = cell[0];
    // Between reading and writing, anything may take its time on a busy machine. Here it always
    // does.
    Atomics.wait(napWord, 0, 0, NAP_MS);
    cell[0] = seen + 1;
    if (guarded) lock.unlock();
  }
});
