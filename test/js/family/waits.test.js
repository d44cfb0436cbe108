/**
 * What holds for every call that may wait: it waits until it is let through, its time is up or it
 * is aborted, and refuses bad options.
 */
import { expect } from 'chai';

import { LockError } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { mode } from '../modes.js';
import { failure, itCalling, sleep, until, within } from '../support.js';
import {
  ask,
  askElsewhere,
  FORMS,
  lateBy,
  loopsWait,
  shapeOf,
  stateOf,
  threadsWait,
  WAITS,
  wonBy,
  wordsOf,
} from './waits.js';

const bad = {
  'a NaN timeout': [RangeError, NaN],
  'a string timeout': [TypeError, '100'],
  'a bigint timeout': [TypeError, 100n],
  'a boolean timeout': [TypeError, true],
  'a function': [TypeError, () => {}],
  'a symbol': [TypeError, Symbol('timeout')],
  'a NaN timeout in options': [RangeError, { timeout: NaN }],
  'a string timeout in options': [TypeError, { timeout: '100' }],
  'a misspelt timeout': [TypeError, { timout: 5 }],
  'a misspelt signal': [TypeError, { timeout: 5, sginal: undefined }],
  'a null timeout in options': [TypeError, { timeout: null }],
  'a signal that is an object': [TypeError, { signal: {} }],
  'a signal that is an AbortController': [TypeError, { signal: new AbortController() }],
  'a signal that is a string': [TypeError, { signal: 'abort' }],
  'a signal that cannot be listened to': [TypeError, { signal: { aborted: false } }],
};

/** What a semaphore is not asked: there, options are made of a copy of these. */
const badObjects = {
  null: [TypeError, null],
  'an option that is inherited and unknown': [TypeError, Object.create({ timeoutMs: 5 })],
  'a signal instead of options': [TypeError, new AbortController().signal],
};

/** Looks like a signal, but throws when one listens to it. */
const deaf = {
  aborted: false,
  addEventListener() {
    throw new EvalError('deaf');
  },
  removeEventListener() {},
};

/** Counts the listeners that a signal has. */
function listenersOf(signal) {
  const listeners = { count: 0 };
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...listen) => (
    listeners.count++,
    addEventListener.apply(signal, listen)
  );
  signal.removeEventListener = (...listen) => (
    listeners.count--,
    removeEventListener.apply(signal, listen)
  );
  return listeners;
}

/** A primitive that keeps the row's call waiting, and that this agent may call it on. */
function makeFor(row) {
  const primitive = row.make();
  if (row.before) expect(primitive[row.before]()).to.equal(true);
  return primitive;
}

/** One that keeps the row's call waiting, and one that no longer does. */
function heldAndFree(row) {
  const [held, free] = [makeFor(row), makeFor(row)];
  row.end(free);
  return row.returnsFirst ? [held] : [held, free];
}

/**
 * What is left of a wait that has given up: nothing, but that a barrier is broken, and that a latch
 * was counted down.
 */
function expectNoTrace(row, primitive, before) {
  if (row.breaks) expect(primitive.isBroken).to.equal(true);
  else
    expect([...stateOf(primitive)]).to.deep.equal([
      before[0] - (row.counts ?? 0),
      ...before.slice(1),
    ]);
}

for (const row of WAITS) {
  for (const form of FORMS) {
    describe(`${row.title}${form}()`, () => {
      it('waits in a worker until it is let through', async () => {
        const primitive = row.make();
        const agent = askElsewhere(row, form, primitive, { timeout: 20_000 });
        await agent.said('calling');
        await until(() => (form ? loopsWait : threadsWait)(primitive));
        row.end(primitive);
        const { value, error } = await within(10_000, agent.result);
        expect([value, error]).to.deep.equal([wonBy(row, form), undefined]);
      });

      itCalling(form)('gives up in time, not before, and leaves nothing behind', async () => {
        for (const options of [
          25,
          { timeout: 8.5 },
          0,
          { timeout: 0 },
          -1,
          -Infinity,
          { timeout: -0.5 },
        ]) {
          const primitive = makeFor(row);
          const before = stateOf(primitive);
          const start = performance.now();
          if (row.throws) {
            const error = await failure(async () => ask(row, form, primitive, options));
            expect([error.name, error instanceof LockError]).to.deep.equal([row.throws, true]);
          } else {
            expect(await ask(row, form, primitive, options)).to.equal(lateBy(row, form));
          }
          expect(performance.now() - start).to.be.at.least(options.timeout ?? options);
          expectNoTrace(row, primitive, before);
        }
      });

      it('fails with the reason of a signal that has been aborted, and touches nothing', async () => {
        for (const primitive of heldAndFree(row)) {
          const before = [...wordsOf(primitive)];
          for (const reason of [undefined, 'enough', new Error('enough'), null, 0]) {
            const signal = AbortSignal.abort(reason);
            expect(
              await failure(async () => ask(row, form, primitive, { signal, timeout: 5 })),
            ).to.equal(signal.reason);
            expect([...wordsOf(primitive)]).to.deep.equal(before);
          }
        }
      });

      it('refuses bad options before it touches memory', async () => {
        const all = row.permits ? bad : { ...bad, ...badObjects };
        for (const primitive of heldAndFree(row)) {
          const before = [...wordsOf(primitive)];
          for (const [what, [kind, options]] of Object.entries(all)) {
            expect(
              await failure(async () => ask(row, form, primitive, options)),
              what,
            ).to.be.instanceOf(kind);
            expect([...wordsOf(primitive)], what).to.deep.equal(before);
          }
        }
      });
    });
  }

  describe(`${row.title}Async()`, () => {
    it('is let through on the thread that must not block', async () => {
      const primitive = makeFor(row);
      const waiting = ask(row, 'Async', primitive, {
        timeout: 20_000,
        signal: new AbortController().signal,
      });
      await sleep(2);
      row.end(primitive);
      expect(shapeOf(await within(10_000, waiting))).to.equal(wonBy(row, 'Async'));
    });

    it('refuses a signal that throws when it is listened to, and leaves nobody in line', async () => {
      const primitive = makeFor(row);
      const before = [...wordsOf(primitive)];
      expect(await failure(() => ask(row, 'Async', primitive, { signal: deaf }))).to.be.instanceOf(
        EvalError,
      );
      expect([...wordsOf(primitive)]).to.deep.equal(before);
      const waiting = ask(row, 'Async', primitive, { timeout: 20_000 });
      row.end(primitive);
      expect(shapeOf(await within(10_000, waiting))).to.equal(wonBy(row, 'Async'));
    });

    it('stops listening to a signal when the last wait under it has ended', async () => {
      const controller = new AbortController();
      for (const signal of AbortSignal.any
        ? [AbortSignal.any([controller.signal]), controller.signal]
        : [controller.signal]) {
        const listeners = listenersOf(signal);
        const primitive = makeFor(row);
        const late = ask(row, 'Async', primitive, { signal, timeout: 1 }).catch(({ name }) => name);
        await late;
        expect(listeners.count).to.equal(0);
        if (row.breaks) primitive.reset();
        const waiting = [makeFor(row), makeFor(row)].map((primitive) => ({
          primitive,
          ended: ask(row, 'Async', primitive, { signal }),
        }));
        expect(listeners.count).to.equal(1);
        for (const { primitive, ended } of waiting) {
          expect(listeners.count).to.equal(1);
          row.end(primitive);
          await within(10_000, ended);
        }
        expect(listeners.count).to.equal(0);
      }
    });

    it('obeys a signal that cannot throw its reason, as those of old DOMs', async () => {
      const primitive = makeFor(row);
      const controller = new AbortController();
      controller.signal.throwIfAborted = undefined;
      const asks = () =>
        failure(() => ask(row, 'Async', primitive, { signal: controller.signal, timeout: 20_000 }));
      const waiting = asks();
      controller.abort('enough');
      expect(await within(10_000, waiting)).to.equal('enough');
      expect(await asks()).to.equal('enough');
    });

    it('returns a promise, whatever it is given', async () => {
      const promise = ask(row, 'Async', makeFor(row), NaN);
      expect(promise).to.be.instanceOf(Promise);
      expect(await failure(() => promise)).to.be.instanceOf(RangeError);
    });

    it('rejects when it is aborted while it waits, and leaves nothing behind', async () => {
      for (const ms of [0, 5]) {
        const primitive = makeFor(row);
        const before = stateOf(primitive);
        const controller = new AbortController();
        const waiting = failure(() =>
          ask(row, 'Async', primitive, { signal: controller.signal, timeout: 20_000 }),
        );
        await sleep(ms);
        controller.abort('enough');
        expect(await within(10_000, waiting)).to.equal('enough');
        expectNoTrace(row, primitive, before);
      }
    });

    it('aborted when it may just be let through, keeps what it took or takes nothing', async () => {
      const primitive = makeFor(row);
      const controller = new AbortController();
      const waiting = ask(row, 'Async', primitive, { signal: controller.signal }).then(
        shapeOf,
        (reason) => reason,
      );
      await sleep(2);
      row.end(primitive);
      // A claim of permits and a reservation stand until their caller has run.
      const grantedTo = () =>
        primitive.permits ?? primitive.available ?? primitive.isLocked ?? [...stateOf(primitive)];
      const granted = grantedTo();
      controller.abort('enough');
      const answer = await within(10_000, waiting);
      if (answer === 'enough') expect(grantedTo()).to.deep.equal(granted);
      else expect(answer).to.equal(wonBy(row, 'Async'));
    });

    it('is not undone by a later abort, of which it no longer hears', async () => {
      const primitive = makeFor(row);
      const controller = new AbortController();
      const waiting = ask(row, 'Async', primitive, { signal: controller.signal });
      row.end(primitive);
      expect(shapeOf(await within(10_000, waiting))).to.equal(wonBy(row, 'Async'));
      const after = [...wordsOf(primitive)];
      controller.abort();
      await sleep(2);
      expect([...wordsOf(primitive)]).to.deep.equal(after);
    });
  });
}

// One that polls is woken by no notify.
if (Atomics.waitAsync) {
  describe('an event loop that was woken in vain', () => {
    for (const row of WAITS.filter(({ reserves }) => reserves)) {
      it(`keeps newcomers from the next turn: ${row.title}Async()`, async () => {
        const primitive = row.make();
        const words = wordsOf(primitive);
        const waiting = ask(row, 'Async', primitive, { timeout: 20_000 });
        // One that waits to write reserves at once.
        expect(words[0] & row.reserves).to.equal(row.type === 'RWLock' ? row.reserves : 0);
        // A second notify finds it in its second wait.
        for (let i = 0; i < 2; i++) await until(() => Atomics.notify(words, 1) === 1);
        expect(words[0] & row.reserves).to.equal(row.reserves);
        row.end(primitive);
        expect(shapeOf(await within(10_000, waiting))).to.equal(wonBy(row, 'Async'));
        expect(words[0] & row.reserves).to.equal(0);
      });
    }
  });
}

if (mode === 'normal') {
  describe('where Atomics.wait throws', () => {
    it('every blocking call throws before it touches the words, and names the one that does not block', async () => {
      const rows = WAITS.map((row) => ({
        ...row,
        primitive: makeFor(row),
        make: undefined,
        end: undefined,
      }));
      const before = rows.map(({ primitive }) => [...wordsOf(primitive)]);
      const mine = rows.filter(({ before }) => !before);
      const agent = spawn(
        ({ data, ...lockword }) =>
          data.map(({ handle, call, args }) =>
            [undefined, { timeout: 0 }, { timeout: 10 }].map((options) => {
              const primitive = lockword[handle.type].from(handle);
              const given = args.map((arg) => (arg === 'fn' ? () => true : arg));
              try {
                return { value: primitive[call](...given, options) };
              } catch ({ name, code, message }) {
                const names = [...message.matchAll(/\w+(?=\(\))/g)].flat();
                return { name, code, names: names.join() };
              }
            }),
          ),
        // An upgrade belongs to the agent that reads upgradably, which is this one.
        mine.map(({ primitive, call, args }) => ({ handle: primitive.handle, call, args })),
        'page',
      );
      for (const [i, outcome] of (await agent.result).entries()) {
        const { title, call } = mine[i];
        const expected = {
          name: 'BlockingError',
          code: 'ERR_CANNOT_BLOCK',
          names: `${call},${call}Async`,
        };
        expect(outcome, title).to.deep.equal([expected, expected, expected]);
      }
      expect(rows.map(({ primitive }) => [...wordsOf(primitive)])).to.deep.equal(before);
    });
  });
}
