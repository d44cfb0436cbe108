/** The calls of this agent that wait, for a region that is closed. */

import { shared } from './agent.js';

/**
 * All that wait for words of this memory.
 *
 * @param {SharedArrayBuffer} buffer
 * @returns {import('./line.js').Caller[]}
 */
export function callersAt(buffer) {
  const callers = [];
  for (const { queues } of shared.lines?.get(buffer)?.values() ?? []) {
    for (const queue of queues.values()) {
      for (let caller = queue.after; caller !== queue; caller = caller.after) callers.push(caller);
    }
  }
  return callers;
}
