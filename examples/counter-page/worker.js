/**
 * A worker. Its first message has the memory, its place in the region and the worker's number. Each
 * further one starts a run.
 */

import { Region } from 'lockword/region';
import { attach, turnsOf } from './shared.js';
import { IDLE, WAITING } from './strip.js';
import * as ways from './ways.js';

let shared;
let thread;

/** Tells the page that this worker has stopped, for the page to terminate it. */
function stop() {
  postMessage('stopped');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

async function join({ memory, place, thread: number }) {
  const region = await Region.from(place).join(`worker ${number}`);
  thread = number;
  shared = { ...attach(memory, region), stop };
}

function run({ way, step, origin }) {
  const { turn } = ways[way];
  const { finish, start, strips } = shared;
  const strip = strips[thread];
  strip.begin(origin);
  start.wait();
  strip.mark(WAITING);
  for (let i = 1; i <= turnsOf(thread); i++) {
    turn(shared, strip, step);
    strip.turns = i;
  }
  strip.mark(IDLE);
  finish.done();
}

let joined;
onmessage = ({ data }) => {
  if (data.memory) joined = join(data);
  else joined.then(() => run(data)).catch(reportError);
};
