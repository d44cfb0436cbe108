/** The page's part of a run: it starts the workers, adds as they do, and never blocks. */

import { attach, create, PAGE_TURNS, THREADS, TURNS } from './shared.js';
import { IDLE, WAITING } from './strip.js';
import * as ways from './ways.js';

/** After so many turns the page handles its events, whether it had to wait or not. */
const TURNS_AT_ONCE = 100;
const PAGE = 0;

const eventsHandled = () => new Promise((resolve) => setTimeout(resolve));

export class Crew {
  #workers;
  /** Rejects if a worker fails, whenever that is. */
  failed;

  constructor() {
    const memory = create();
    this.shared = attach(memory);
    this.#workers = THREADS.slice(1).map(
      (name) => new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name }),
    );
    this.#workers.forEach((worker, i) => worker.postMessage({ memory, thread: i + 1 }));
    this.failed = new Promise((_, reject) => {
      for (const worker of this.#workers)
        worker.onerror = (event) => reject(new Error(event.message ?? 'worker.js does not load'));
    });
  }

  get count() {
    return this.shared.count[0];
  }

  /** Not during a run. */
  set count(count) {
    this.shared.count[0] = count;
  }

  /** How often all threads together have added since the run began. */
  get done() {
    return this.shared.strips.reduce((sum, { turns }) => sum + turns, 0);
  }

  /**
   * Has every thread add `step`, each as often as `turnsOf` says.
   *
   * @param {keyof typeof ways} way
   * @param {number} step
   * @returns {Promise<{ count: number, expected: number, lost: number, ms: number }>} when all are
   *   done
   */
  async run(way, step) {
    const { shared } = this;
    const before = this.count;
    const start = performance.now();
    const origin = performance.timeOrigin + start;
    for (const strip of shared.strips) strip.clear();

    shared.finish.add(THREADS.length);
    for (const worker of this.#workers) worker.postMessage({ way, step, origin });
    await Promise.race([this.#add(way, step, origin), this.failed]);
    await Promise.race([shared.finish.waitAsync(), this.failed]);

    const { count } = this;
    const expected = before + step * TURNS;
    return { count, expected, lost: Math.abs(expected - count), ms: performance.now() - start };
  }

  async #add(way, step, origin) {
    const { turn, turnAsync = turn } = ways[way];
    const { finish, start, strips } = this.shared;
    const strip = strips[PAGE];
    strip.begin(origin);
    await start.waitAsync();
    strip.mark(WAITING);
    for (let i = 1; i <= PAGE_TURNS; i++) {
      await turnAsync(this.shared, strip, step);
      strip.turns = i;
      if (i % TURNS_AT_ONCE) continue;
      strip.mark(IDLE);
      await eventsHandled();
      strip.mark(WAITING);
    }
    strip.mark(IDLE);
    finish.done();
  }
}
