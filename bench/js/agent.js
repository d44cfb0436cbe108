/**
 * One worker, one peer: an isolate of its own, so that the engine compiles each peer's loops for
 * that peer alone. Does what the main thread asks, one message a measurement, and answers with one.
 */

import { readlinkSync } from 'node:fs';
import { createHistogram, performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { nap } from '../../js/src/wait.js';
import { COUNTER, peers, spinning } from './peers.js';
import { primitives } from './primitives.js';
import {
  ARRIVED,
  ASKED,
  HELD,
  KINDS,
  NEXT,
  now,
  release,
  SERVED,
  SPIN_MS,
  STOP,
} from './protocol.js';

const { control, stamps, peerName, spin, buffers } = workerData;
const lock = spin
  ? spinning(buffers.lock, spin)
  : await [...peers, ...primitives].find(({ name }) => name === peerName).attach(buffers.lock);
const heap = new Int32Array(buffers.lock);

/** ns for one uncontended lock and unlock. */
function pairs({ n }) {
  const before = performance.now();
  for (let i = 0; i < n; i++) {
    lock.lock();
    lock.unlock();
  }
  return ((performance.now() - before) * 1e6) / n;
}

/** Keeps a CPU busy, but for memory. */
function work(steps) {
  let x = steps;
  for (let i = 0; i < steps; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0;
  return x;
}

/**
 * ns that a step of it takes: of the fastest call, which nothing interrupted. The first ones
 * compile it.
 */
function nsAStep() {
  let fastest = Infinity;
  for (let i = 0; i < 400; i++) {
    const before = performance.now();
    sink = work(10_000);
    fastest = Math.min(fastest, performance.now() - before);
  }
  return (fastest * 1e6) / 10_000;
}

/** How long a worker sleeps in a section. */
const SECTION_MS = 0.1;

/** What work has come to, so that it must be done. */
let sink = 0;

const STEP_NS = nsAStep();

function waitForStart({ start }) {
  while (performance.timeOrigin + performance.now() < start);
}

/** Takes turns until told to stop, and counts them. `away`: ns between them. */
function turns(task) {
  const steps = Math.round(task.section / STEP_NS);
  const away = Math.round((task.away ?? task.section) / STEP_NS);
  waitForStart(task);
  let n = 0;
  while (Atomics.load(control, STOP) === 0) {
    lock.lock();
    heap[COUNTER]++;
    sink = work(steps);
    lock.unlock();
    sink = work(away);
    n++;
  }
  return { turns: n };
}

/**
 * The same, with every wait timed: ns, as percentiles of a histogram. Two clock readings a turn
 * cost more than the lock does.
 */
function timedTurns(task) {
  const waits = createHistogram();
  const steps = Math.round(task.section / STEP_NS);
  waitForStart(task);
  let n = 0;
  while (Atomics.load(control, STOP) === 0) {
    const asked = performance.now();
    lock.lock();
    const got = performance.now();
    heap[COUNTER]++;
    sink = work(steps);
    lock.unlock();
    sink = work(steps);
    n++;
    waits.record(Math.max(1, Math.round((got - asked) * 1e6)));
  }
  return { turns: n, longest: waits.max, p99: waits.percentile(99) };
}

/** Turns in which the worker sleeps, so that all others are blocked. */
function sleepingTurns(task) {
  waitForStart(task);
  let n = 0;
  for (; Atomics.load(control, STOP) === 0; n++) {
    lock.lock();
    heap[COUNTER]++;
    nap(SECTION_MS);
    lock.unlock();
  }
  return { turns: n };
}

/**
 * Blocks whenever NEXT moves, until released; then passes the lock on, or keeps the permit and
 * comes back.
 */
function blocked({ keeps }) {
  for (let round = 0; ;) {
    Atomics.wait(control, NEXT, round);
    round = Atomics.load(control, NEXT);
    if (Atomics.load(control, STOP) !== 0) return {};
    Atomics.add(control, ARRIVED, 1);
    Atomics.notify(control, ARRIVED);
    do {
      lock.lock();
      if (!keeps) lock.unlock();
      Atomics.add(control, SERVED, 1);
      Atomics.notify(control, SERVED);
    } while (keeps && Atomics.load(control, STOP) === 0);
  }
}

/**
 * The longest wait so far, in ms, in turns that the loops below take until told to stop, or that a
 * thread takes until it is time.
 */
let longest = 0;

function got(asked) {
  longest = Math.max(longest, performance.now() - asked);
  heap[COUNTER]++;
  lock.unlock();
}

/** An event loop, which turns after each turn at the lock, or never. */
async function loop(task) {
  waitForStart(task);
  longest = 0;
  let n = 0;
  for (; Atomics.load(control, STOP) === 0; n++) {
    const asked = performance.now();
    await lock.lockAsync();
    got(asked);
    if (task.role === 'turns') await nextTurn();
  }
  return { turns: n, longest };
}

function blockedTurns(task) {
  waitForStart(task);
  longest = 0;
  let n = 0;
  for (; now() < task.end; n++) {
    const asked = performance.now();
    lock.lock();
    got(asked);
  }
  return { turns: n, longest };
}

/** The waking side of protocol.js, for so many wakes. */
function handOff({ n, kind }) {
  for (let i = 0; i < n; i++) {
    Atomics.wait(control, NEXT, 0);
    Atomics.store(control, NEXT, 0);
    if (kind === KINDS.lock) lock.lock();
    Atomics.store(control, HELD, 1);
    Atomics.wait(control, ASKED, 0);
    Atomics.store(control, ASKED, 0);
    const until = performance.now() + SPIN_MS;
    while (performance.now() < until);
    stamps[0] = now();
    release(kind, control, lock, parentPort);
  }
}

const tasks = { pairs, turns, timedTurns, sleepingTurns, blocked, loop, blockedTurns, handOff };
parentPort.on('message', async ({ task, ...details }) =>
  parentPort.postMessage({ done: await tasks[task](details) }),
);
/* '123/task/456': Node has no name for a thread that taskset would know. */
parentPort.postMessage({ ready: Number(readlinkSync('/proc/thread-self').split('/').pop()) });
