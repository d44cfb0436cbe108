/** Permits: that each has a number and an owner. */
import { expect } from 'chai';

import { BlockingError, OwnershipError, Permits, TimeoutError } from '../../../js/src/index.js';
import { spawn } from '../agents.js';
import { failure, itCalling, until, within } from '../support.js';
import { FORMS, loopsWait, threadsWait, wordsOf } from './waits.js';

const numbersOf = (permits) => permits.map(({ number }) => number);

describe('Permits', () => {
  for (const form of FORMS) {
    itCalling(form)(
      `give each caller the lowest number that is free: acquire${form}()`,
      async () => {
        const pool = Permits.create(3);
        const held = [];
        for (let i = 0; i < 3; i++) {
          expect([pool.count, pool.available]).to.deep.equal([3, 3 - i]);
          held.push(await pool[`acquire${form}`]());
        }
        expect(numbersOf(held)).to.deep.equal([0, 1, 2]);
        expect([pool.available, pool.tryAcquire()]).to.deep.equal([0, undefined]);
        held[1].release();
        expect(pool.tryAcquire().number).to.equal(1);
        held[2].release();
        held[0].release();
        expect((await pool[`acquire${form}`](0)).number).to.equal(0);
      },
    );

    it(`hand a waiter in a worker the one that is given back: acquire${form}()`, async () => {
      const pool = Permits.create(2);
      const [first, second] = [pool.tryAcquire(), pool.tryAcquire()];
      const agent = spawn(
        async ({ data: { handle, call }, Permits }) => {
          const permit = await Permits.from(handle)[call](20_000);
          const { number } = permit;
          permit.release();
          return number;
        },
        { handle: pool.handle, call: `acquire${form}` },
      );
      await until(() => (form ? loopsWait : threadsWait)(pool));
      second.release();
      expect(await within(10_000, agent.result)).to.equal(1);
      expect(pool.available).to.equal(1);
      first.release();
    });

    itCalling(form)(`that are none are an error: acquire${form}()`, async () => {
      const none = new Permits();
      const error = await failure(async () => none[`acquire${form}`](5));
      expect(error).to.be.instanceOf(RangeError);
      expect(error.message).to.contain('Permits.create');
      expect([none.count, none.available, none.tryAcquire()]).to.deep.equal([0, 0, undefined]);
    });
  }

  it('are had by a guard, which gives back once', async () => {
    const pool = Permits.create(1);
    const permit = await pool.acquireAsync();
    permit.release();
    permit.release();
    expect(pool.available).to.equal(1);
    const again = pool.tryAcquire();
    permit.release();
    expect(pool.available).to.equal(0);
    again[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
    expect(pool.available).to.equal(1);
  });

  it('are lent to a function, and given back if it throws', async () => {
    const pool = Permits.create(2);
    const taken = pool.tryAcquire();
    expect(await pool.runExclusive((number) => [number, pool.available])).to.deep.equal([1, 0]);
    const oops = new Error('oops');
    const thrown = failure(() =>
      pool.runExclusive(() => {
        throw oops;
      }),
    );
    expect(await thrown).to.equal(oops);
    expect(pool.available).to.equal(1);
    const other = pool.tryAcquire();
    let called = false;
    const late = await failure(() => pool.runExclusive(() => (called = true), { timeout: 5 }));
    expect([late instanceof TimeoutError, called]).to.deep.equal([true, false]);
    for (const permit of [taken, other]) permit.release();
  });

  it('have owners: no other thread gives one back', async () => {
    const pool = Permits.create(1);
    const permit = pool.tryAcquire();
    wordsOf(pool)[4] = 5; // as if another thread had it
    expect(await failure(() => permit.release())).to.be.instanceOf(OwnershipError);
    expect([wordsOf(pool)[4], pool.available]).to.deep.equal([5, 0]);
  });

  it('number a pool that workers and this thread use: no two use the same at once', async () => {
    const [POOL, TURNS] = [3, 300];
    const pool = Permits.create(POOL);
    const users = new Int32Array(new SharedArrayBuffer(4 * (POOL + 1)));
    const agents = [0, 1, 2].map(() =>
      spawn(
        ({ data: { handle, users, turns }, Permits }) => {
          const pool = Permits.from(handle);
          for (let i = 0; i < turns; i++) {
            const permit = pool.acquire();
            if (Atomics.add(users, permit.number, 1) !== 0) Atomics.add(users, users.length - 1, 1);
            Atomics.sub(users, permit.number, 1);
            permit.release();
          }
        },
        { handle: pool.handle, users, turns: TURNS },
      ),
    );
    for (let i = 0; i < TURNS / 3; i++) {
      await pool.runExclusive((number) => {
        if (Atomics.add(users, number, 1) !== 0) Atomics.add(users, POOL, 1);
        Atomics.sub(users, number, 1);
      });
    }
    await within(20_000, Promise.all(agents.map(({ result }) => result)));
    expect([...users]).to.deep.equal([0, 0, 0, 0]);
    expect(pool.available).to.equal(POOL);
  });

  it('refuse to block a thread that may not', async () => {
    const pool = Permits.create(1);
    const agent = spawn(
      ({ data, Permits }) => {
        try {
          Permits.from(data).acquire();
        } catch (error) {
          return error.name;
        }
      },
      pool.handle,
      'page',
    );
    expect(await agent.result).to.equal(BlockingError.name);
    expect(pool.available).to.equal(1);
  });
});
