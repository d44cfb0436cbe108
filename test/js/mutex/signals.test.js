/** Aborting some of those who wait; what holds for one call: test/js/family/waits.test.js. */
import { expect } from 'chai';

import { Mutex } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, sleep, Stranger, within, wordsOf } from '../support.js';

const free = [0, 0];

describe('Mutex: aborting', () => {
  it('one of several callers leaves the others in their places', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    const controllers = Array.from({ length: 5 }, () => new AbortController());
    const order = [];
    const waiting = controllers.map(({ signal }, i) =>
      mutex.lockAsync({ signal }).then(
        () => {
          order.push(i);
          mutex.unlock();
        },
        (reason) => order.push(reason),
      ),
    );
    await sleep(5);
    for (const i of [0, 2, 4]) controllers[i].abort(`abort ${i}`);
    await sleep(5);
    expect(order).to.deep.equal(['abort 0', 'abort 2', 'abort 4']);
    stranger.unlock();
    await within(10_000, Promise.all(waiting));
    expect(order.slice(3)).to.deep.equal([1, 3]);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

  it('all of many callers by one signal rejects them all', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    const controller = new AbortController();
    const waiting = Array.from({ length: 100 }, () =>
      mutex.lockAsync({ signal: controller.signal }),
    );
    await sleep(5);
    controller.abort('enough');
    const outcomes = await within(5_000, Promise.allSettled(waiting));
    expect(
      outcomes.every(({ status, reason }) => status === 'rejected' && reason === 'enough'),
    ).to.equal(true);
    stranger.unlock();
    expect(await mutex.lockAsync(1_000)).to.equal(true);
  });

  it('works with a signal that calls its listeners as functions', async () => {
    const mutex = new Mutex();
    new Stranger(mutex).lock();
    const listeners = [];
    const signal = {
      aborted: false,
      addEventListener: (_, listener) => listeners.push(listener),
      removeEventListener: (_, listener) => listeners.splice(listeners.indexOf(listener), 1),
    };
    const waiting = [1, 2].map(() => failure(() => mutex.lockAsync({ signal })));
    await sleep(5);
    expect(listeners).to.have.length(1);
    Object.assign(signal, { aborted: true, reason: 'enough' });
    for (const listener of [...listeners]) listener.call(undefined, {});
    expect(await within(5000, Promise.all(waiting))).to.deep.equal(['enough', 'enough']);
    expect(listeners).to.have.length(0);
  });

  it('works with AbortSignal.timeout', async function () {
    if (!AbortSignal.timeout) this.skip();
    const mutex = new Mutex();
    new Stranger(mutex).lock();
    const error = await within(
      10_000,
      failure(() => mutex.lockAsync({ signal: AbortSignal.timeout(20) })),
    );
    expect(error.name).to.equal('TimeoutError');
  });

  it('in a worker strands neither the worker nor anybody else', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    const agent = spawn(async ({ Mutex, data, say, sleep }) => {
      const mutex = Mutex.from(data);
      const controller = new AbortController();
      const aborted = mutex.lockAsync({ signal: controller.signal }).catch((reason) => reason);
      const kept = mutex.lockAsync();
      await sleep(5);
      controller.abort('enough');
      const reason = await aborted;
      say('aborted');
      await kept;
      mutex.unlock();
      return reason;
    }, mutex.handle);
    await agent.said('aborted');
    expect(stranger.state >>> 30).to.not.equal(0);
    stranger.unlock();
    expect(await within(10_000, agent.result)).to.equal('enough');
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });
});
