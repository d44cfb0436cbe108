/** Aborting: before, while and after waiting. */
import { expect } from 'chai';

import { Mutex } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, itBlocks, sleep, stateOf, Stranger, until, within, wordsOf } from '../support.js';

const free = [0, 0];
const reasons = {
  'an error': new Error('enough'),
  'a string': 'enough',
  'the default reason': undefined,
  null: null,
  'a number': 0,
};

for (const how of ['lock', 'lockAsync', 'acquire', 'acquireAsync', 'runExclusive']) {
  const call = (mutex, options) =>
    how === 'runExclusive' ? mutex.runExclusive(() => 'ran', options) : mutex[how](options);

  describe(`Mutex: ${how}() with a signal`, () => {
    for (const [what, reason] of Object.entries(reasons)) {
      it(`that has been aborted with ${what} fails with it and touches nothing`, async () => {
        const mutex = new Mutex();
        const signal = AbortSignal.abort(reason);
        expect(await failure(async () => call(mutex, { signal }))).to.equal(signal.reason);
        expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
        new Stranger(mutex).lock();
        expect(await failure(async () => call(mutex, { signal, timeout: 5 }))).to.equal(
          signal.reason,
        );
        expect([...wordsOf(mutex.handle)]).to.deep.equal([5, 0]);
      });
    }

    (['lock', 'acquire'].includes(how) ? itBlocks : it)(
      'that is never aborted works as without',
      async () => {
        const mutex = new Mutex();
        const { signal } = new AbortController();
        expect(Boolean(await call(mutex, { signal, timeout: 10 }))).to.equal(true);
        expect(mutex.isMine).to.equal(how !== 'runExclusive');
      },
    );
  });
}

for (const how of ['lockAsync', 'acquireAsync', 'runExclusive']) {
  const call = (mutex, options) =>
    how === 'runExclusive' ? mutex.runExclusive(() => 'ran', options) : mutex[how](options);

  describe(`Mutex: ${how}() aborted while it waits`, () => {
    for (const [what, reason] of Object.entries(reasons)) {
      it(`rejects with ${what}`, async () => {
        const mutex = new Mutex();
        const stranger = new Stranger(mutex).lock();
        const controller = new AbortController();
        const waiting = call(mutex, { signal: controller.signal });
        expect(await stateOf(waiting)).to.equal('pending');
        controller.abort(reason);
        expect(
          await within(
            1_000,
            failure(() => waiting),
          ),
        ).to.equal(controller.signal.reason);
        stranger.unlock();
        await sleep(5);
        expect(mutex.isLocked).to.equal(false);
        expect(await mutex.lockAsync()).to.equal(true);
      });
    }

    it('rejects before its timeout, once', async () => {
      const mutex = new Mutex();
      new Stranger(mutex).lock();
      const controller = new AbortController();
      const start = performance.now();
      const waiting = call(mutex, { signal: controller.signal, timeout: 20_000 });
      await sleep(1);
      controller.abort(new Error('first'));
      expect((await failure(() => waiting)).message).to.equal('first');
      expect(performance.now() - start).to.be.below(10_000);
    });

    it('that times out first is left alone by the abort', async () => {
      const mutex = new Mutex();
      new Stranger(mutex).lock();
      const controller = new AbortController();
      const waiting = call(mutex, { signal: controller.signal, timeout: 10 }).catch(
        (error) => error,
      );
      const outcome = await waiting;
      controller.abort(new Error('too late'));
      await sleep(1);
      expect(outcome?.message).to.not.equal('too late');
    });
  });
}

describe('Mutex: aborting', () => {
  it('after the grant is a no-op', async () => {
    const mutex = new Mutex();
    const controller = new AbortController();
    expect(await mutex.lockAsync({ signal: controller.signal })).to.equal(true);
    controller.abort();
    await sleep(5);
    expect(mutex.isMine).to.equal(true);
    mutex.unlock();
  });

  it('after the grant of a call that has waited is a no-op', async () => {
    const mutex = new Mutex();
    const stranger = new Stranger(mutex).lock();
    const controller = new AbortController();
    const waiting = mutex.lockAsync({ signal: controller.signal });
    await sleep(5);
    stranger.unlock();
    await until(() => mutex.isMine);
    controller.abort();
    expect(await waiting).to.equal(true);
    expect(mutex.isMine).to.equal(true);
    mutex.unlock();
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
  });

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

  it('however often leaves no listener on a signal that outlives the calls, and one while several wait', async () => {
    const mutex = new Mutex();
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...listen) => (listeners++, addEventListener.apply(signal, listen));
    signal.removeEventListener = (...listen) => (
      listeners--,
      removeEventListener.apply(signal, listen)
    );
    for (let i = 0; i < 20; i++) {
      const stranger = new Stranger(mutex).lock();
      expect(
        await Promise.all([1, 2].map((timeout) => mutex.lockAsync({ signal, timeout }))),
      ).to.deep.equal([false, false]);
      expect(listeners).to.equal(0);
      const waiting = mutex.lockAsync({ signal });
      const late = mutex.lockAsync({ signal, timeout: 1 });
      expect(listeners).to.equal(1);
      expect(await late).to.equal(false);
      expect(listeners).to.equal(1);
      stranger.unlock();
      expect(await waiting).to.equal(true);
      mutex.unlock();
    }
    expect(listeners).to.equal(0);
  });

  it('refuses a signal that throws when it is listened to, and leaves nobody in line', async () => {
    const mutex = new Mutex();
    const { signal } = new AbortController();
    signal.addEventListener = () => {
      throw new EvalError('deaf');
    };
    const stranger = new Stranger(mutex).lock();
    const before = [...wordsOf(mutex.handle)];
    expect(await failure(() => mutex.lockAsync({ signal }))).to.be.instanceOf(EvalError);
    expect([...wordsOf(mutex.handle)]).to.deep.equal(before);
    stranger.unlock();
    expect(await mutex.lockAsync(1_000)).to.equal(true);
    mutex.unlock();
    expect([...wordsOf(mutex.handle)]).to.deep.equal(free);
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
