/**
 * A worker. Its first message has the memory and the worker's number. Each further one starts a
 * run.
 */

import { attach, turnsOf } from './shared.js';
import { IDLE, WAITING } from './strip.js';
import * as ways from './ways.js';

let shared;
let thread;

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

onmessage = ({ data }) => {
  if (data.memory) {
    shared = attach(data.memory);
    thread = data.thread;
  } else run(data);
};
