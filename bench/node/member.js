/**
 * One of those that share a lock: a process, or a worker of one, with an IPC channel or a port to
 * main.js. It connects, says 'ready', and then does what each message asks it to: [ROLE, argument].
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { median } from '../js/statistics.js';
import { PEERS } from './peers.js';

const { name, place } = workerData ?? JSON.parse(process.argv[2]);
const port = parentPort ?? process;
/** Resolves when the message is on its way, since what comes next may block this thread. */
const say = (message) =>
  parentPort ? parentPort.postMessage(message) : new Promise((sent) => process.send(message, sent));

/** ns, of a clock that all processes share */
const now = () => Number(process.hrtime.bigint());
/** µs of this member */
const cpuTime = () => {
  const { user, system } = parentPort ? process.threadCpuUsage() : process.cpuUsage();
  return user + system;
};

process.emitWarning = () => {}; // that a main thread blocks is what is measured
const { lock, unlock } = await PEERS.find((peer) => peer.name === name).connect(place);

async function turns(n) {
  for (let i = 0; i < n; i++) {
    let key = lock();
    if (key?.then) key = await key;
    const unlocked = unlock(key);
    if (unlocked?.then) await unlocked;
  }
}

/** Of the handoff: longer than the pause after it, so that the other one waits at each unlock. */
const [HELD_MS, PAUSE_MS] = [4, 3];

const roles = {
  /** Turns that nobody else wants, for this long. Returns the median of a turn, ns. */
  async alone(ms) {
    const samples = [];
    const end = now() + ms * 1e6;
    for (let n = 1; now() < end || samples.length === 0;) {
      const began = now();
      await turns(n);
      const ns = now() - began;
      if (ns < 1e6) n *= 2;
      else samples.push(ns / n);
    }
    return median(samples);
  },

  /** Turns of two. Returns when each began and ended. */
  async handoff(ms) {
    const times = [];
    for (const end = now() + ms * 1e6; now() < end;) {
      const key = await lock();
      const began = now();
      await sleep(HELD_MS);
      times.push([began, now()]);
      await unlock(key);
      await sleep(PAUSE_MS);
    }
    return times;
  },

  /** Turns among many, from a moment on, of 50 µs each. Returns how many, and the longest wait. */
  async fair({ from, until }) {
    await sleep(Math.max(0, (from - now()) / 1e6 - 5));
    while (now() < from);
    let [count, longest] = [0, 0];
    for (;;) {
      const asked = now();
      let key = lock();
      if (key?.then) key = await key;
      const began = now();
      longest = Math.max(longest, Math.min(began, until) - asked);
      while (began < until && now() < began + 50_000);
      const unlocked = unlock(key);
      if (unlocked?.then) await unlocked;
      if (began >= until) return { count, longest };
      count++;
    }
  },

  /** Holds the lock until it is killed, or told to release it. */
  async hold() {
    const key = await lock();
    await say('held');
    await new Promise((told) => port.once('message', told));
    await unlock(key);
    return now();
  },

  /** Waits for the lock that another one holds. Returns when it has it, and its CPU meanwhile. */
  async next() {
    await say('asks');
    const [asked, used] = [now(), cpuTime()];
    const key = await lock();
    const [at, cpu] = [now(), (cpuTime() - used) * 1e3];
    await unlock(key);
    return { at, cpu: cpu / (at - asked) };
  },
};

let isBusy = false;
port.on('message', async (message) => {
  if (isBusy) return; // for `hold`
  isBusy = true;
  const [role, argument] = message;
  const result = await roles[role](argument);
  isBusy = false;
  await say({ result });
});
await say('ready');
