/**
 * modes.js: what the suite takes away from an agent before the library is imported.
 *
 *     normal     nothing
 *     polling    Atomics.waitAsync: asynchronous calls must get along without it
 *     unhealed   re-checks: waits and timers of half a second to five seconds never end by
 *                themselves. A lost wake, which costs a second otherwise and passes for a slow
 *                machine, then is a hang, and the test that lost it fails
 *     page       Atomics.wait throws, as on a page's main thread
 *     undisposed Symbol.dispose, as in engines that have none
 *     wasmless   WebAssembly, as in engines that are locked down: no compiler, or --jitless
 *     brief      timers of 4 ms, as a brief wait has; `briefs` keeps them for the test to call
 *     counted    nothing; `counts` tells how many waitAsync calls were made and how many are
 *                pending, how many loads were made, and how many timers were set
 */
const isRecheck = (ms) => ms >= 500 && ms <= 5000;

/** The real timers, for the suite itself. */
export const timers = {
  setTimeout: globalThis.setTimeout.bind(globalThis),
  clearTimeout: globalThis.clearTimeout.bind(globalThis),
};

export const briefs = [];

export const counts = { calls: 0, pending: 0, mostPending: 0, loads: 0, timers: 0 };

const changes = {
  normal() {},

  polling() {
    delete Atomics.waitAsync;
  },

  unhealed() {
    const { wait } = Atomics;
    const { setTimeout, setInterval } = globalThis;
    Atomics.wait = (words, index, value, ms) =>
      wait(words, index, value, isRecheck(ms) ? Infinity : ms);
    const inert = () => {};
    globalThis.setTimeout = (callback, ms, ...rest) =>
      setTimeout(isRecheck(ms) ? inert : callback, ms, ...rest);
    globalThis.setInterval = (callback, ms, ...rest) =>
      setInterval(isRecheck(ms) ? inert : callback, ms, ...rest);
  },

  page() {
    Atomics.wait = () => {
      throw new TypeError('Atomics.wait cannot be called in this context');
    };
  },

  undisposed() {
    const { Symbol } = globalThis;
    const { dispose, ...others } = Object.getOwnPropertyDescriptors(Symbol);
    globalThis.Symbol = Object.defineProperties((description) => Symbol(description), others);
  },

  wasmless() {
    delete globalThis.WebAssembly;
  },

  brief() {
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (callback, ms, ...rest) =>
      ms === 4 && rest.length === 0 ? briefs.push(callback) : setTimeout(callback, ms, ...rest);
  },

  counted() {
    const { load, waitAsync } = Atomics;
    const { setTimeout } = globalThis;
    Atomics.load = (...place) => (counts.loads++, load(...place));
    globalThis.setTimeout = (...timer) => (counts.timers++, setTimeout(...timer));
    Atomics.waitAsync = (...wait) => {
      const answer = waitAsync(...wait);
      counts.calls++;
      if (answer.async) {
        counts.mostPending = Math.max(counts.mostPending, ++counts.pending);
        answer.value.then(() => counts.pending--);
      }
      return answer;
    };
  },
};

/** The mode of this agent. */
export let mode = 'normal';

/** Changes this agent for good. */
export function enter(name) {
  if (!Object.hasOwn(changes, name)) throw new RangeError(`no such mode: ${name}`);
  mode = name;
  changes[mode]();
}
