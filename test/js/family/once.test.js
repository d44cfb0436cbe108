/** The once: exactly one runner at a time, until one succeeds. */
import { expect } from 'chai';

import { LW_ONCE_RUNNER, LW_START } from '../../../js/src/core/constants.js';
import { onceBeginStep, onceEndStep } from '../../../js/src/core/once.js';
import { DeadlockError, Once, OwnershipError } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, itBlocks, itCalling, sleep, STRANGER, until, within } from '../support.js';
import { askElsewhere, FORMS, loopsWait, threadsWait, wordsOf } from './waits.js';

const never = () => expect.fail('ran again');

describe('Once', () => {
  for (const form of FORMS) {
    const run = `run${form}`;

    itBlocks(`is run once, and then is done: ${run}()`, async () => {
      const once = new Once();
      expect([once.done, once.runner]).to.deep.equal([false, 0]);
      let runs = 0;
      const ran = await once[run](() => {
        runs++;
        expect([once.done, once.runner]).to.deep.equal([false, wordsOf(once)[0] & LW_ONCE_RUNNER]);
        expect(once.runner).to.not.equal(0);
      });
      expect([ran, runs, once.done, once.runner]).to.deep.equal([true, 1, true, 0]);
      for (const again of ['run', 'runAsync']) expect(await once[again](never)).to.equal(false);
    });

    itCalling(form)(`refuses wrong options, whether or not it is done: ${run}()`, async () => {
      const done = new Once();
      await done.runAsync(() => {});
      for (const once of [new Once(), done]) {
        const failed = (options) => failure(async () => once[run](never, options));
        expect(await failed({ timout: 5 })).to.be.instanceOf(TypeError);
        expect(await failed(NaN)).to.be.instanceOf(RangeError);
        expect(await failed({ signal: AbortSignal.abort('enough') })).to.equal('enough');
        expect(once.runner).to.equal(0);
      }
    });

    itCalling(form)(`leaves it to the next when it throws: ${run}()`, async () => {
      const once = new Once();
      const error = new Error('mine');
      const thrown = await failure(async () =>
        once[run](() => {
          throw error;
        }),
      );
      expect([thrown, once.done, once.runner]).to.deep.equal([error, false, 0]);
      expect(await once[run](() => {})).to.equal(true);
      expect(once.done).to.equal(true);
    });

    it(`a runner that throws wakes one who waits, who runs it: ${run}()`, async () => {
      const once = new Once();
      let fail;
      const mine = failure(() => once.runAsync(() => new Promise((_, reject) => (fail = reject))));
      await until(() => fail);
      const agent = askElsewhere({ call: 'run', args: ['fn'] }, form, once);
      await until(() => (form ? loopsWait : threadsWait)(once));
      fail('enough');
      expect(await mine).to.equal('enough');
      expect((await within(10_000, agent.result)).value).to.equal(true);
      expect(once.done).to.equal(true);
    });

    it(`a runner that was terminated is abandoned by an agent that knows: ${run}()`, async () => {
      const once = new Once();
      const runner = spawn(({ Once, data, say }) => {
        Once.from(data).run(() => {
          say('running');
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
        });
      }, once.handle);
      await runner.said('running');
      const id = once.runner;
      expect(id).to.not.equal(0);
      const agent = askElsewhere({ call: 'run', args: ['fn'] }, form, once);
      await until(() => (form ? loopsWait : threadsWait)(once));
      for (const other of [id ^ 1, 0]) {
        const error = await failure(() => once.abandon(other));
        expect([error instanceof OwnershipError, error.code]).to.deep.equal([
          true,
          'ERR_NOT_OWNER',
        ]);
      }
      await runner.terminate();
      once.abandon(id);
      expect((await within(10_000, agent.result)).value).to.equal(true);
      expect(once.done).to.equal(true);
      expect(await failure(() => once.abandon(id))).to.be.instanceOf(OwnershipError);
    });

    it(`runs it in one of many threads and tasks: ${run}()`, async () => {
      for (let round = 0; round < 3; round++) {
        const once = new Once();
        const runs = new Int32Array(new SharedArrayBuffer(4));
        const job = async ({ Once, data }) => {
          const once = Once.from(data.handle);
          const ran = await once[data.run](() => void Atomics.add(data.runs, 0, 1));
          // A caller that returns sees what was run.
          return [ran, data.runs[0]];
        };
        const data = { handle: once.handle, runs, run };
        const agents = [0, 1].map(() => spawn(job, data));
        const mine = [0, 1, 2].map(() => job({ Once, data: { ...data, run: 'runAsync' } }));
        const answers = await within(
          10_000,
          Promise.all([...mine, ...agents.map((agent) => agent.result)]),
        );
        expect(answers.filter(([ran]) => ran)).to.have.length(1);
        expect(answers.every(([, seen]) => seen === 1)).to.equal(true);
      }
    });
  }

  itBlocks('run() refuses what is async, and leaves it to the next', async () => {
    const once = new Once();
    const error = await failure(() => once.run(async () => {}));
    expect(error).to.be.instanceOf(TypeError);
    expect(error.message).to.contain('runAsync');
    expect([once.done, once.runner]).to.deep.equal([false, 0]);
    // Nobody else hears of what the dropped promise is rejected with.
    const fails = async () => {
      throw new EvalError('on purpose');
    };
    const unhandled = [];
    const hear = (reason) => unhandled.push(reason);
    globalThis.process?.on?.('unhandledRejection', hear);
    expect(await failure(() => once.run(fails))).to.be.instanceOf(TypeError);
    await sleep(5);
    globalThis.process?.off?.('unhandledRejection', hear);
    expect(unhandled).to.deep.equal([]);
    expect(await once.runAsync(async () => {})).to.equal(true);
  });

  it('runAsync() waits for what is async, and others wait for it', async () => {
    const once = new Once();
    let finish;
    const first = once.runAsync(() => new Promise((resolve) => (finish = resolve)));
    const second = once.runAsync(never);
    await until(() => finish);
    await sleep(2);
    expect(once.done).to.equal(false);
    expect((await failure(() => once.runAsync(never, 5))).code).to.equal('ERR_TIMEOUT');
    finish();
    expect(await within(10_000, Promise.all([first, second]))).to.deep.equal([true, false]);
  });

  // As if it had been taken for dead.
  for (const form of FORMS) {
    const run = `run${form}`;

    itCalling(form)(
      `a run that was abandoned meanwhile has not been the one: ${run}()`,
      async () => {
        const once = new Once();
        const error = await failure(async () => once[run](() => once.abandon(once.runner)));
        expect([error instanceof OwnershipError, error.code, once.done]).to.deep.equal([
          true,
          'ERR_NOT_OWNER',
          false,
        ]);
        const thrown = await failure(async () =>
          once[run](() => {
            once.abandon(once.runner);
            throw 'mine';
          }),
        );
        expect(thrown).to.equal('mine');
        expect(await once[run](() => {})).to.equal(true);
      },
    );
  }

  itBlocks('tells a thread that would wait for itself', async () => {
    const once = new Once();
    let error;
    const again = () => (error = catchFrom(() => once.run(never)));
    expect(once.run(again)).to.equal(true);
    expect([error instanceof DeadlockError, error.code]).to.deep.equal([true, 'ERR_DEADLOCK']);
    const other = new Once();
    await other.runAsync(async () => (error = await failure(() => other.run(never))));
    expect(error).to.be.instanceOf(DeadlockError);
  });

  it('a wait that is aborted when its turn may have come keeps nobody waiting', async () => {
    for (let i = 0; i < 20; i++) {
      const once = new Once();
      onceBeginStep(wordsOf(once), STRANGER, LW_START, 0);
      const controller = new AbortController();
      const mine = once.runAsync(() => {}, { signal: controller.signal }).catch((reason) => reason);
      await sleep(0);
      onceEndStep(wordsOf(once), STRANGER, false);
      if (i % 2) await null;
      controller.abort('enough');
      const outcome = await within(10_000, mine);
      expect([true, 'enough']).to.include(outcome);
      expect(
        await within(
          10_000,
          once.runAsync(() => {}),
        ),
      ).to.equal(outcome === 'enough');
      expect(once.done).to.equal(true);
    }
  });
});

/** The error that a call throws at once. */
function catchFrom(call) {
  try {
    return call();
  } catch (error) {
    return error;
  }
}
