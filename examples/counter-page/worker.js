/** A worker. It is told its memory and its place once, then with each click how to add, and how much. */

import { attach, turnsOf } from './shared.js';
import { IDLE, WAITING } from './strip.js';
import * as ways from './ways.js';

let shared;
let agent;

function run({ way, step, origin }) {
  const { turn } = ways[way];
  const { finish, start, strips } = shared;
  const strip = strips[agent];
  strip.begin(origin);
  start.wait();
  strip.mark(WAITING);
  for (let i = 1; i <= turnsOf(agent); i++) {
    turn(shared, strip, step);
    strip.turns = i;
  }
  strip.mark(IDLE);
  finish.done();
}

onmessage = ({ data }) => {
  if (data.memory) {
    shared = attach(data.memory);
    agent = data.agent;
  } else run(data);
};
