/** The workers of one peer, all on one lock. */

import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { COUNTER, LOCK_BYTES } from './peers.js';
import { CONTROL_WORDS } from './protocol.js';

/**
 * Pins a thread, where there is a taskset: this kernel and others like to keep threads that wake
 * each other on one CPU.
 */
export function pin(thread, k) {
  return (
    spawnSync('taskset', ['-cp', String(k % availableParallelism()), String(thread)]).status === 0
  );
}

export class Crew {
  workers = [];
  pinned = true;
  buffers = { lock: new SharedArrayBuffer(2 * LOCK_BYTES) };
  heap = new Int32Array(this.buffers.lock);
  control = new Int32Array(new SharedArrayBuffer(4 * CONTROL_WORDS));
  stamps = new Float64Array(new SharedArrayBuffer(8));

  constructor(peer) {
    this.peer = peer;
  }

  /** Starts the workers. Throws if the peer does not run here. */
  async start(size) {
    for (let k = 0; k < size; k++) {
      const { buffers, control, stamps } = this;
      const worker = new Worker(new URL('./agent.js', import.meta.url), {
        workerData: { buffers, control, stamps, peerName: this.peer.name, spin: this.peer.spin },
      });
      this.workers.push(worker);
      const [{ ready }] = await once(worker, 'message');
      this.pinned = pin(ready, k) && this.pinned;
    }
  }

  /** Resolves to what the k-th worker replies to a task. */
  async ask(k, task) {
    const worker = this.workers[k];
    worker.postMessage(task);
    for (;;) {
      const [answer] = await once(worker, 'message');
      if ('done' in answer) return answer.done;
    }
  }

  get count() {
    return this.heap[COUNTER];
  }

  set count(value) {
    this.heap[COUNTER] = value;
  }

  stop() {
    return Promise.all(this.workers.map((worker) => worker.terminate()));
  }
}
