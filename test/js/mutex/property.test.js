/**
 * Any mixture of calls, in any agents, with timeouts and aborts: one holder at a time, and
 * everybody comes to an end.
 */
import { expect } from 'chai';
import fc from 'fast-check';

import { Mutex } from '../../../js/src/index.js';
import * as agents from '../agents.js';
import { mode } from '../modes.js';
import * as support from '../support.js';

const { within, wordsOf } = support;

const HOLD_NOTHING = 0;
const HOLD_A_TURN = 1;

/**
 * What a caller does: a list of operations, one after the other. Returns how often the mutex was
 * held by two, and how often taken. Crosses over to workers as source.
 */
async function play({ Mutex, sleep, spin }, { handle, inside }, operations) {
  const mutex = Mutex.from(handle);
  const outcome = { overlaps: 0, turns: 0, errors: [] };
  for (const { call, timeout, abort, hold } of operations) {
    const controller = new AbortController();
    if (abort === 0) queueMicrotask(() => controller.abort('aborted'));
    else if (abort !== undefined) sleep(abort).then(() => controller.abort('aborted'));
    let taken = false;
    try {
      taken = await mutex[call]({
        timeout: timeout ?? Infinity,
        signal: abort === undefined ? undefined : controller.signal,
      });
    } catch (error) {
      if (error !== 'aborted') outcome.errors.push(String(error));
    }
    if (!taken) continue;
    outcome.turns++;
    if (Atomics.add(inside, 0, 1) !== 0) outcome.overlaps++;
    if (hold === 1) await null;
    if (hold === 2) await sleep(1);
    if (hold === 3) spin(0.2);
    Atomics.sub(inside, 0, 1);
    mutex.unlock();
  }
  return outcome;
}

/** A worker that plays whatever it is sent, until it is sent nothing. */
const player = async (tools) => {
  const play = (0, eval)(`(${tools.data.play})`);
  for (let round = 0; ; round++) {
    const work = await tools.heard(`play ${round}`);
    if (!work) return;
    tools.say(
      `played ${round}`,
      await Promise.all(work.callers.map((operations) => play(tools, work, operations))),
    );
  }
};

const operation = (...calls) =>
  fc.record({
    call: fc.constantFrom(...calls),
    timeout: fc.option(fc.constantFrom(0, 0.3, 1, 3), { nil: undefined }),
    abort: fc.option(fc.constantFrom(0, 0, 1, 2), { nil: undefined }),
    hold: fc.constantFrom(HOLD_NOTHING, HOLD_NOTHING, HOLD_A_TURN, 2, 3),
  });
const callers = (n, ...calls) =>
  fc.array(fc.array(operation(...calls), { maxLength: 6 }), { minLength: 1, maxLength: n });

/** Callers of one agent block only if they are alone in it. */
const scenario = fc.record({
  here: callers(5, 'lockAsync', 'lockAsync', 'tryLock'),
  asynchronous: callers(4, 'lockAsync'),
  blocking: callers(1, 'lock', 'lock', 'tryLock', 'lockAsync'),
  blockingToo: callers(1, 'lock'),
});

describe('Mutex: property', () => {
  it('whatever is called, nobody overlaps and nobody is stranded', async function () {
    this.timeout(120_000);
    const workers = ['asynchronous', 'blocking', 'blockingToo'].map((name) => ({
      name,
      agent: agents.spawn(player, { play: `${play}` }),
    }));
    let round = 0;
    let turns = 0;
    const check = async (scenario) => {
      const mutex = new Mutex();
      const work = { handle: mutex.handle, inside: new Int32Array(new SharedArrayBuffer(4)) };
      const now = round++;
      const there = workers.map(({ name, agent }) => {
        agent.say(`play ${now}`, { ...work, callers: scenario[name] });
        return agent.said(`played ${now}`);
      });
      const here = scenario.here.map((operations) => play({ Mutex, ...support }, work, operations));
      const outcomes = (
        await within(20_000, Promise.all([...there, Promise.all(here)]), 'a caller')
      ).flat();
      for (const outcome of outcomes) {
        expect(outcome.errors).to.deep.equal([]);
        expect(outcome.overlaps).to.equal(0);
        turns += outcome.turns;
      }
      expect([...wordsOf(mutex.handle)]).to.deep.equal([0, 0]);
    };
    await fc.assert(fc.asyncProperty(scenario, check), {
      numRuns: mode === 'polling' ? 15 : 60,
      endOnFailure: true,
    });
    expect(turns).to.be.above(0);
    for (const { agent } of workers) agent.say(`play ${round}`, null);
    for (const { agent } of workers) await agent.result;
  });
});
