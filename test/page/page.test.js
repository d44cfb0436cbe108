/**
 * The counter page, clicked and read: as `make page` serves it, and as it is built. In
 * BROWSER=chromium, firefox or webkit.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';
import { createServer } from 'vite';

import { openBrowser, serve } from '../browsers/index.js';

const pathOf = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const configFile = pathOf('examples/counter-page/vite.config.js');

/** In a run: 100,000 by each of four workers, 1,000 by the page. */
const TURNS = 401_000;
/** A run takes a second or two, and more on a busy machine. */
const RUN = { timeout: 60_000 };
/**
 * No single frame takes longer than this, in ms, or than half of the run: a page that blocks shows
 * none until the run is over.
 */
const LONGEST_FRAME = 500;

describe(`The counter page in ${process.env.BROWSER}`, function () {
  this.timeout(120_000);
  let browser;

  before(async () => {
    browser = await openBrowser(process.env.BROWSER, { width: 900, height: 1200 });
  });
  // The browser goes first: after a second it looks for a new version of a service worker, and a
  // server that is gone by then is a problem on the page.
  const servers = [];
  after(async () => {
    await browser?.close();
    for (const server of servers) await server.close();
  });
  afterEach(() => expect(browser.problems.splice(0)).to.deep.equal([]));

  const isIn = (state, options) =>
    browser.until((state) => document.querySelector('main').dataset.state === state, {
      ...options,
      args: [state],
    });

  /** What the page says. */
  const read = () =>
    browser.evaluate(() => {
      const text = (selector) => document.querySelector(selector).textContent;
      const number = (selector) => Number(text(selector).replaceAll(',', ''));
      return {
        count: number('#count'),
        expected: number('#expected'),
        lost: number('#lost'),
        verdict: text('#verdict'),
        longestFrame: number('#longest'),
        ways: [...document.querySelectorAll('.ways b')].map((way) => way.textContent),
        rows: [...document.querySelectorAll('.rows canvas')].map((canvas) =>
          canvas.getAttribute('aria-label'),
        ),
      };
    });

  /**
   * Has the page run, by a click or otherwise. Returns what is expected then, and what the page
   * says.
   */
  async function run(start, step = 1) {
    const before = await read();
    await start();
    const expected = before.count + step * TURNS;
    await browser.until(
      (expected) =>
        document.querySelector('main').dataset.state === 'done' &&
        document.querySelector('#expected').textContent === expected.toLocaleString('en'),
      { ...RUN, args: [expected] },
    );
    return { expected, after: await read() };
  }

  /**
   * Has the page increment in this way until no frame was long, at most three times: a busy machine
   * may hold up one, but a page that blocks holds up one in each run.
   */
  async function increment(way) {
    let outcome;
    await browser.click(`input[value=${way}]`);
    for (let i = 0; i < 3; i++) {
      outcome = await run(() => browser.click('button[value="1"]'));
      if (way !== 'unsynchronised') expectExact(outcome);
      if (outcome.after.longestFrame <= longestAllowed(outcome.after)) break;
    }
    expectSmooth(outcome.after);
    return outcome;
  }

  function expectExact({ expected, after }) {
    expect([after.count, after.expected, after.lost]).to.deep.equal([expected, expected, 0]);
  }

  function longestAllowed({ verdict }) {
    const [, seconds] = verdict.match(/It took ([\d.]+) s\./);
    return Math.max(LONGEST_FRAME, (1000 * seconds) / 2);
  }

  function expectSmooth(after) {
    expect(after.longestFrame).to.be.greaterThan(0);
    expect(after.longestFrame).to.be.at.most(longestAllowed(after));
  }

  /** From 0 to 1, by thread. */
  const shares = ({ rows }, what) =>
    rows.map((row) => Number(row.match(`${what} ([\\d.]+) %`)[1]) / 100);
  const sum = (numbers) => numbers.reduce((a, b) => a + b);

  /**
   * Repeats a run until no two threads seem to have held the lock at once, at most three times. If
   * the wall clock is set, the times of a worker that starts after that are shifted, and two
   * threads seem to hold the lock that did not.
   */
  async function untilExclusive(run) {
    let after;
    for (let i = 0; i < 3; i++) {
      after = await run();
      if (sum(shares(after, 'inside')) <= 1.02) return after;
    }
    throw new Error(`held at once: ${shares(after, 'inside')}`);
  }

  /** How many colours the timeline has: the first part of the run need not have more than one. */
  const coloursOfTimeline = () =>
    browser.evaluate(() => {
      const seen = new Set();
      for (const canvas of document.querySelectorAll('.rows canvas')) {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        for (const pixel of new Uint32Array(data.buffer)) if (pixel) seen.add(pixel);
      }
      return seen.size;
    });

  /** The page's links to its sources lead there. */
  async function expectSources() {
    const sources = await browser.evaluate(async () => {
      const texts = [...document.querySelectorAll('#code a')].map(async ({ href }) =>
        (await fetch(href)).text(),
      );
      return Promise.all(texts);
    });
    expect(sources).to.have.length(3);
    const marks = ['export const guarded', 'onmessage =', 'export class Crew'];
    for (const [i, mark] of marks.entries()) expect(sources[i]).to.include(mark);
  }

  describe('as `make page` serves it', () => {
    before(async () => {
      const server = await createServer({
        configFile,
        server: { port: 0, host: '127.0.0.1' },
        logLevel: 'error',
      });
      servers.push(server);
      await server.listen();
      await browser.goto(server.resolvedUrls.local[0]);
    });

    it('opens with the three ways compared, and a picture in which something is to be seen', async () => {
      await isIn('done', RUN);
      const { ways, verdict, count } = await read();
      expect(ways[0]).to.match(/lost$|^exact/);
      expect(ways[1]).to.match(/^exact/);
      expect(ways[2]).to.match(/^exact/);
      expect(verdict).to.match(
        /^Unsynchronised, .* lost.* Atomic and guarded by a mutex, all of them arrived\.$/,
      );
      expect(count).to.equal(TURNS);
      expect(await coloursOfTimeline()).to.be.at.least(2);
    });

    it('shows the run of a way again when that is chosen, and speaks of lockAsync only where it is used', async () => {
      for (const way of ['unsynchronised', 'atomic', 'guarded']) {
        await browser.click(`input[value=${way}]`);
        const { verdict, expected } = await read();
        expect(verdict).to.match(/It took [\d.]+ s\.$/);
        expect(expected).to.equal(TURNS);
        const figures = await browser.evaluate(
          () =>
            document.querySelector('#timeline').innerText +
            document.querySelector('#frames').innerText,
        );
        expect(figures.includes('lockAsync')).to.equal(way === 'guarded');
      }
    });

    it('has its code: links to the sources, and a program to copy', async () => {
      await expectSources();
      await browser.click('#copy');
      await browser.until(() => document.querySelector('#copied').textContent);
      const selected = await browser.evaluate(() => `${getSelection()}`);
      const snippet = readFileSync(pathOf('examples/counter-page/snippet.js'), 'utf8');
      expect(selected.trim()).to.equal(snippet.trim());
      // There test/docs runs it.
      expect(readFileSync(pathOf('README.md'), 'utf8')).to.include(snippet);
    });

    it('unsynchronised: it says how much was lost, if anything', async () => {
      const { after } = await increment('unsynchronised');
      expect(after.lost).to.equal(after.expected - after.count);
      expect(after.verdict).to.match(after.lost > 0 ? /were lost/ : /which was luck/);
    });

    it('atomic: it ends exactly at what is expected', async () => {
      await increment('atomic');
    });

    it('guarded: it ends exactly at what is expected, the page takes part, and no two hold the lock at once', async () => {
      const after = await untilExclusive(async () => (await increment('guarded')).after);
      const held = shares(after, 'inside');
      expect(held).to.have.length(5);
      // The page's rounds to nothing where the run takes long.
      for (const share of held.slice(1)) expect(share).to.be.greaterThan(0);
      expect(sum(shares(after, 'waiting'))).to.be.greaterThan(1);
    });

    /** Terminates as many workers as `deaths`, in one run. Returns what is expected after it. */
    async function terminate(deaths) {
      const before = await read();
      // Clicks of a driver may be further apart than a run is long.
      if (deaths === 1) await browser.click('button[value=terminate]');
      else
        await browser.evaluate((deaths) => {
          for (let i = 0; i < deaths; i++)
            document.querySelector('button[value=terminate]').click();
        }, deaths);
      await browser.until(
        () =>
          document.querySelector('main').dataset.state === 'done' &&
          document.querySelector('#verdict').textContent.includes('terminated'),
        RUN,
      );
      const after = await read();
      expectExact({ expected: after.expected, after });
      expect(after.expected - before.count).to.be.lessThan(TURNS);
      // The page, and those workers that are left.
      expect(after.expected - before.count).to.be.at.least(1_000 + (4 - deaths) * 100_000);
      return after;
    }

    it('terminates a worker while it holds the lock: the next holder is told, and the others go on', async () => {
      const after = await untilExclusive(() => terminate(1));
      expect(after.verdict).to.match(
        /^Worker \d was terminated while holding the lock: the next holder was told, the others went on, and all [\d,]+ additions arrived\. It took [\d.]+ s\.$/,
      );
      expect(after.ways[2]).to.match(/^exact/);
    });

    it('terminates another one during a run, and others take their places in the next', async () => {
      const { verdict } = await terminate(2);
      expect(verdict).to.match(
        /^Workers (\d), (?!\1)\d were terminated while holding the lock: 2 times the next holder/,
      );
      await increment('guarded');
    });

    it('the timeline shows any part of a run, in two colours', async () => {
      await browser.click('.spans label:nth-of-type(2)');
      let colours = 0;
      // Where a busy machine stood still, nothing changes for a while.
      for (let part = 0.1; part < 1 && colours < 2; part += 0.1) {
        await browser.evaluate((part) => {
          const slider = document.querySelector('#timeline input[type=range]');
          slider.value = slider.max * part;
          slider.dispatchEvent(new Event('input', { bubbles: true }));
        }, part);
        colours = await coloursOfTimeline();
      }
      expect(colours).to.be.at.least(2);
    });

    it('by keyboard alone: a decrement takes an increment back, and one sees where one is', async () => {
      await browser.evaluate(() => document.querySelector('[value=atomic]').focus());
      await browser.press('ArrowRight');
      await browser.press('Tab');
      await browser.press('Tab');
      const focus = await browser.evaluate(() => {
        const { activeElement: element } = document;
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        const { value: way } = document.querySelector('[name=way]:checked');
        return { value: element.value, way, ring: `${outlineWidth} ${outlineStyle}` };
      });
      expect([focus.value, focus.way]).to.deep.equal(['-1', 'guarded']);
      // Firefox and WebKitGTK draw none in a window that is not active, and here there is nobody to
      // activate it.
      if (process.env.BROWSER === 'chromium') expect(focus.ring).to.equal('3px solid');
      // Nor does a button of Firefox's heed keys there.
      const isFirefox = process.env.BROWSER === 'firefox';
      expectExact(
        await run(
          () =>
            isFirefox
              ? browser.evaluate(() => document.activeElement.click())
              : browser.press('Enter'),
          -1,
        ),
      );
    });

    it('fits a phone', async () => {
      await terminate(1); // its verdict is the longest
      await browser.resize(320, 640);
      const overhang = await browser.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      await browser.resize(900, 1200);
      expect(overhang).to.equal(0);
    });
  });

  it('by a server that sends no headers: it says which ones are missing', async () => {
    const server = await createServer({
      configFile,
      mode: 'bare',
      server: { port: 0, host: '127.0.0.1' },
      logLevel: 'error',
    });
    servers.push(server);
    await server.listen();
    await browser.goto(server.resolvedUrls.local[0]);
    await isIn('unavailable');
    const { text, enabled } = await browser.evaluate(() => ({
      text: document.querySelector('#missing').innerText,
      enabled: document.querySelectorAll('#controls :is(input, button):enabled').length,
    }));
    expect(text).to.include('Cross-Origin-Opener-Policy: same-origin');
    expect(text).to.include('Cross-Origin-Embedder-Policy: require-corp');
    expect(enabled).to.equal(0);
  });

  it('built, on a host that sends no headers: its service worker isolates it', async () => {
    // A server of Vite's in this process would make it a development build.
    const env = { ...process.env, NODE_ENV: 'production' };
    execFileSync(
      process.execPath,
      [pathOf('node_modules/vite/bin/vite.js'), 'build', '--config', configFile],
      { env },
    );
    const server = await serve(pathOf('build/counter-page'), { isolated: false });
    servers.push(server);
    await browser.goto(server.url);
    await isIn('done', RUN);
    await increment('guarded');
    await expectSources();
  });
});
