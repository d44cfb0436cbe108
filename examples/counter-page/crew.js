/** The page's part of a run: it starts the workers, adds as they do, and never blocks. */

import { Region } from 'lockword/region';
import { attach, create, PAGE_TURNS, THREADS, turnsOf } from './shared.js';
import { IDLE, WAITING } from './strip.js';
import * as ways from './ways.js';

/** After so many turns the page handles its events, whether it had to wait or not. */
const TURNS_AT_ONCE = 100;
const PAGE = 0;

const eventsHandled = () => new Promise((resolve) => setTimeout(resolve));

export class Crew {
  #memory = create();
  /** @type {Region} */
  #region;
  /** By thread; the page's place is empty. */
  #workers = [];
  /** When the present run began, ms. */
  #origin = 0;
  /** Those that were terminated in this run: which, and how often each had added. */
  #dead = [];
  #fail;
  /** Rejects if a worker fails, whenever that is. */
  failed = new Promise((_, reject) => (this.#fail = reject));

  /** @param {Region} region that the page has joined */
  constructor(region) {
    this.#region = region;
    this.shared = attach(this.#memory, region);
    for (let thread = 1; thread < THREADS.length; thread++) this.#start(thread);
  }

  static async gather() {
    return new Crew(await Region.create().join('page'));
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

  /** How often they are to add in this run. The dead add no more. */
  get turns() {
    const dead = new Map(this.#dead.map(({ thread, turns }) => [thread, turns]));
    return THREADS.reduce((sum, _, thread) => sum + (dead.get(thread) ?? turnsOf(thread)), 0);
  }

  /** Terminates the next worker that takes the lock, while it holds it: of a guarded run. */
  terminate() {
    Atomics.add(this.shared.doom, 0, 1);
  }

  /**
   * Has every thread add `step`, each as often as `turnsOf` says.
   *
   * @param {keyof typeof ways} way
   * @param {number} step
   * @returns {Promise<{ count: number, expected: number, lost: number, ms: number, turns: number,
   *   dead: { thread: number, turns: number }[], told: number }>} when all are done; `dead`: the
   *   workers that were terminated; `told`: how often the next holder learned of it
   */
  async run(way, step) {
    const { shared } = this;
    const { finish } = shared;
    const before = this.count;
    const start = performance.now();
    this.#origin = performance.timeOrigin + start;
    this.#dead = [];
    shared.doom.fill(0);
    for (const strip of shared.strips) strip.clear();

    finish.add(THREADS.length);
    for (const worker of this.#workers.slice(1))
      worker.postMessage({ way, step, origin: this.#origin });
    await Promise.race([this.#add(way, step), this.failed]);
    await Promise.race([finish.waitAsync(), this.failed]);
    // No thread may have come after the one that died last.
    if (this.#dead.length) await shared.mutex.runExclusive(() => ways.heed(shared));

    const { count, turns } = this;
    const expected = before + step * turns;
    const ms = performance.now() - start;
    const [, told] = shared.doom;
    return { count, expected, lost: Math.abs(expected - count), ms, turns, dead: this.#dead, told };
  }

  /** Starts a worker. If it ends, what it held becomes free: the region watches it. */
  #start(thread) {
    const worker = new Worker(new URL('./worker.js', import.meta.url), {
      type: 'module',
      name: THREADS[thread],
    });
    worker.onerror = ({ message }) => this.#fail(new Error(message ?? 'worker.js does not load'));
    // It has stopped, with the lock held.
    worker.onmessage = () => this.#end(thread);
    this.#workers[thread] = worker;
    const place = this.#region.watch(worker);
    worker.postMessage({ memory: this.#memory, place, thread });
  }

  /** Terminates a worker. Another one takes its place, from the next run on. */
  #end(thread) {
    this.#workers[thread].terminate();
    const strip = this.shared.strips[thread];
    this.#dead.push({ thread, turns: strip.turns });
    strip.begin(this.#origin);
    strip.mark(IDLE);
    this.#start(thread);
    this.shared.finish.done();
  }

  async #add(way, step) {
    const { turn, turnAsync = turn } = ways[way];
    const { finish, start, strips } = this.shared;
    const strip = strips[PAGE];
    strip.begin(this.#origin);
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
