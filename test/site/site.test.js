/**
 * The site as `make site` builds it: on a host that sends no headers, in a folder of that host, in
 * Chromium on a phone and in the dark.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { check } from '../../tools/site/check.js';
import { openBrowser, serve } from '../browsers/index.js';
import { ROOT } from '../docs/pages.js';

const HOST = join(ROOT, 'build/test-site');
const SITE = join(HOST, 'lockword');
const RUN = { timeout: 60_000 };
const PHONE = { width: 390, height: 844 };
/** Some of each kind. */
const LOOKED_AT = [
  'index.html',
  'CONTRIBUTING.html',
  'docs/benchmarks.html',
  'docs/bundlers.html',
  'docs/cross-origin-isolation.html',
  'docs/layout.html',
  'docs/runtimes.html',
  'examples/counter-page/index.html',
  'manual/c.html',
  'manual/javascript.html',
  'manual/lockword.1.html',
  'manual/lockword.hpp.html',
  'manual/mutex.js.html',
  'manual/region.h.html',
  'manual/region.hpp.html',
  'source/src/wait/linux.c.html',
];

describe('The site', function () {
  this.timeout(120_000);
  let server;
  let pages;

  before(async () => {
    rmSync(HOST, { recursive: true, force: true });
    mkdirSync(HOST, { recursive: true });
    // A host has no repository around the site.
    execFileSync(process.execPath, ['tools/site/build.js', SITE], {
      cwd: ROOT,
      env: { ...process.env, NODE_ENV: 'production' },
    });
    pages = readdirSync(SITE, { recursive: true }).filter((path) => path.endsWith('.html'));
    server = await serve(HOST, { isolated: false });
  });
  // The browser goes first: it looks for a new version of a service worker.
  let browser;
  afterEach(async () => {
    await browser?.close();
    browser = undefined;
  });
  after(() => server?.close());

  /** Opens Chromium on the first page, and waits for the end of its first runs. */
  async function openHome(options) {
    browser = await openBrowser('chromium', options);
    await browser.goto(`${server.url}lockword/index.html`);
    await browser.until(() => document.querySelector('main').dataset.state === 'done', RUN);
  }

  it('has the pages that README links to, and every link leads somewhere', () => {
    const { links, broken } = check(SITE);
    expect(broken).to.deep.equal([]);
    expect(links).to.be.greaterThan(1000);
    expect(pages).to.include.members(LOOKED_AT);
  });

  it('is told of links that lead nowhere', () => {
    const broken = join(HOST, 'broken');
    cpSync(join(SITE, 'docs'), broken, { recursive: true });
    writeFileSync(
      join(broken, 'a.html'),
      '<a href="b.html">b</a> <a href="#no">no</a><p id="yes">',
    );
    const problems = check(broken).broken.filter((problem) => problem.startsWith('a.html'));
    expect(problems).to.deep.equal(['a.html: b.html: no such file', 'a.html: #no: no such anchor']);
    rmSync(broken, { recursive: true });
  });

  it('answers 200 for each page', async () => {
    for (const path of pages) {
      const response = await fetch(`${server.url}lockword/${path}`);
      await response.text();
      expect(response.status, path).to.equal(200);
    }
  });

  it('has all functions of a header and all methods of a class, with what is said of them', () => {
    const read = (path) =>
      readFileSync(join(SITE, path), 'utf8')
        .replace(/<[^>]*>/g, '')
        .replace(/&lt;/g, '<')
        .replace(/&gt;/g, '>')
        .replace(/&amp;/g, '&');
    const header = read('manual/mutex.h.html');
    expect(header).to.include('int lw_mutex_lock_until(lw_mutex *mutex, lw_deadline deadline);');
    expect(header).to.include('Takes the mutex, waiting until the deadline. Returns 0, EDEADLK or');
    // The library's own, and bodies.
    expect(header).not.to.include('_slow').and.not.to.include('__builtin');
    const c = readFileSync(join(ROOT, 'include/lockword/rwlock.h'), 'utf8');
    const shown = read('manual/rwlock.h.html');
    for (const [, name] of c.matchAll(/^LW_API \w+ (\w+)\(/gm)) expect(shown).to.include(name);
    const linked = readFileSync(join(SITE, 'manual/mutex.js.html'), 'utf8');
    expect(linked).to.include(
      '<a href="errors.js.html#deadlockerror"><code>DeadlockError</code></a>',
    );
    const cpp = read('manual/lockword.hpp.html');
    expect(cpp).to.include('bool try_lock_for(const std::chrono::duration<Rep, Period> &time);');
    expect(cpp).not.to.include('private:').and.not.to.include('native_)');
    const js = read('manual/mutex.js.html');
    expect(js).to.include('lockAsync(options?: number | WaitOptions): Promise<boolean>;');
    expect(js).to.include('Throws DeadlockError: this agent holds it already');
  });

  for (const dark of [false, true]) {
    it(`fits a phone in the ${dark ? 'dark' : 'light'}, and has nothing to report`, async () => {
      await openHome({ ...PHONE, dark });
      // All in the light; what is dark takes as long again.
      for (const path of dark ? LOOKED_AT : pages) {
        await browser.goto(`${server.url}lockword/${path}`);
        const { overhang, paper, ink, code } = await browser.evaluate(() => {
          const { scrollWidth, clientWidth } = document.documentElement;
          // From 0 to 1: how light a colour is.
          const lightness = (colour) =>
            colour
              .match(/\d+/g)
              .slice(0, 3)
              .reduce((sum, n) => sum + Number(n), 0) / 765;
          const of = (element, property) => lightness(getComputedStyle(element)[property]);
          const block = document.querySelector('article pre');
          return {
            overhang: scrollWidth - clientWidth,
            paper: of(document.documentElement, 'backgroundColor'),
            ink: of(document.body, 'color'),
            code: block && of(block, 'backgroundColor'),
          };
        });
        expect(overhang, path).to.equal(0);
        expect(ink > paper, path).to.equal(dark);
        if (code !== null) expect(code < 0.5, path).to.equal(dark);
      }
      expect(browser.problems).to.deep.equal([]);
    });
  }

  it('says what is missing where it cannot be isolated', async () => {
    cpSync(SITE, join(HOST, 'bare'), { recursive: true });
    rmSync(join(HOST, 'bare/service-worker.js'));
    browser = await openBrowser('chromium', PHONE);
    await browser.goto(`${server.url}bare/index.html`);
    await browser.until(() => document.querySelector('main').dataset.state === 'unavailable', RUN);
    const text = await browser.evaluate(() => document.querySelector('#missing').innerText);
    expect(text).to.include('Cross-Origin-Opener-Policy: same-origin');
    expect(text).to.include('could not be installed');
  });

  it('opens its menu on a phone, which leads to another page', async () => {
    await openHome(PHONE);
    await browser.click('[popovertarget=menu]');
    await browser.click('#menu a[href$="docs/benchmarks.html"]');
    await browser.until(() => document.querySelector('h1')?.textContent === 'Benchmarks');
    await browser.click('[popovertarget=contents]');
    await browser.click('#contents a[href="#limits"]');
    const { open, top } = await browser.evaluate(() => ({
      open: document.querySelectorAll(':popover-open').length,
      top: document.querySelector('#limits').getBoundingClientRect().top,
    }));
    expect(open).to.equal(0);
    expect(top).to.be.within(0, 844);
    expect(browser.problems).to.deep.equal([]);
  });

  it('counts exactly, on its first screen', async () => {
    await openHome({ width: 1280, height: 800 });
    const read = () =>
      browser.evaluate(() => {
        const number = (id) => Number(document.getElementById(id).textContent.replaceAll(',', ''));
        return {
          count: number('count'),
          expected: number('expected'),
          bottom: document.querySelector('.result').getBoundingClientRect().bottom,
        };
      });
    const first = await read();
    expect(first.bottom).to.be.at.most(800);
    await browser.click('input[value=guarded]');
    await browser.click('button[value="1"]');
    const expected = (first.expected + 401_000).toLocaleString('en');
    await browser.until(
      (expected) =>
        document.querySelector('main').dataset.state === 'done' &&
        document.querySelector('#expected').textContent === expected,
      { ...RUN, args: [expected] },
    );
    const { count } = await read();
    expect(count).to.equal(first.expected + 401_000);
    expect(browser.problems).to.deep.equal([]);
  });
});
