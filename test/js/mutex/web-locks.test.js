/** A signal means to a mutex what it means to the Web Locks API. */
import { expect } from 'chai';

import { Mutex } from '../../../js/src/index.js';
import { mode } from '../modes.js';
import { sleep, within } from '../support.js';

const { navigator } = globalThis;

/**
 * A lock of each kind: calls a function under it. Node, Deno and WebKit have the API, too, but lose
 * some reasons.
 */
const makers = {
  'the mutex': () => {
    const mutex = new Mutex();
    return (options, run) => mutex.runExclusive(run, options);
  },
  'the Web Locks API':
    /Chrome|Firefox/.test(navigator?.userAgent) &&
    (() => {
      const name = `lockword ${Math.random()}`;
      return (options, run) => navigator.locks.request(name, options, run);
    }),
};

const reasons = {
  'the default': undefined,
  'an error': new Error('enough'),
  'a string': 'enough',
  null: null,
  'a number': 0,
};

/** Takes the lock, and returns what gives it back. */
function hold(request) {
  return new Promise((held) => {
    const ended = request({}, () => new Promise((release) => held(() => (release(), ended))));
  });
}

/** How a request ended: with its value, or with its signal's reason. */
const outcomeOf = (request, signal) =>
  request({ signal }, () => 'ran').catch((reason) =>
    reason === signal.reason ? 'the reason' : `not the reason: ${reason}`,
  );

/** What happens, and with which outcome. */
const scenarios = {
  'aborted before, free': [
    (request, reason) => outcomeOf(request, AbortSignal.abort(reason)),
    'the reason',
  ],

  'aborted before, held': [
    async (request, reason) => {
      const release = await hold(request);
      const outcome = await outcomeOf(request, AbortSignal.abort(reason));
      await release();
      return outcome;
    },
    'the reason',
  ],

  'aborted while it waits, the others keep their places': [
    async (request, reason) => {
      const release = await hold(request);
      const controllers = [0, 1, 2, 3].map(() => new AbortController());
      const order = [];
      const all = controllers.map(async ({ signal }, i) => {
        const outcome = await outcomeOf(request, signal);
        order.push(`${i}: ${outcome}`);
      });
      await sleep(2);
      for (const i of [2, 0]) controllers[i].abort(reason);
      await sleep(2);
      await release();
      await Promise.all(all);
      return order;
    },
    ['2: the reason', '0: the reason', '1: ran', '3: ran'],
  ],

  'aborted in the midst of the function': [
    async (request, reason) => {
      const controller = new AbortController();
      const value = await request({ signal: controller.signal }, async () => {
        controller.abort(reason);
        await sleep(1);
        return 'ran on';
      });
      return [value, await outcomeOf(request, new AbortController().signal)];
    },
    ['ran on', 'ran'],
  ],

  'aborted after the function': [
    async (request, reason) => {
      const controller = new AbortController();
      const outcome = await outcomeOf(request, controller.signal);
      controller.abort(reason);
      return [outcome, await outcomeOf(request, new AbortController().signal)];
    },
    ['ran', 'ran'],
  ],

  'aborted when the holder has just let go': [
    async (request, reason) => {
      const release = await hold(request);
      const controller = new AbortController();
      const outcome = outcomeOf(request, controller.signal);
      await sleep(2);
      await release();
      await sleep(20);
      controller.abort(reason);
      return outcome;
    },
    'ran',
  ],
};

if (mode === 'normal') {
  for (const [name, make] of Object.entries(makers).filter(([, make]) => make)) {
    describe(`Mutex: a signal: ${name}`, () => {
      for (const [what, [scenario, expected]] of Object.entries(scenarios)) {
        for (const [which, reason] of Object.entries(reasons)) {
          it(`${what}, with ${which}`, async () => {
            expect(await within(10_000, scenario(make(), reason))).to.deep.equal(expected);
          });
        }
      }
    });
  }
}
