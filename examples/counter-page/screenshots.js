/** Takes the pictures that the READMEs show, light and dark, on a desktop and on a phone: node examples/counter-page/screenshots.js. */

import { join } from 'node:path';
import { createServer } from 'vite';
import { openBrowser } from '../../test/browsers/index.js';

const IMAGES = join(import.meta.dirname, '../../docs/img');
const RUN = { timeout: 60_000 };

const isIn = (browser, state) =>
  browser.until((state) => document.querySelector('main').dataset.state === state, { ...RUN, args: [state] });

async function run(browser, way) {
  await browser.click(`input[value=${way}]`);
  await browser.click('button[value="1"]');
  await isIn(browser, 'done');
}

/** A part of the run in which the page takes part, too: so much of it, in ms. */
const lookInside = (browser, span) =>
  browser.evaluate((span) => {
    document.querySelector(`.spans [value="${span}"]`).click();
    const slider = document.querySelector('#timeline [type=range]');
    slider.value = slider.max / 8;
    slider.dispatchEvent(new Event('input', { bubbles: true }));
  }, span);

async function take(url, name, { width, span, ways, dark }) {
  const browser = await openBrowser('chromium', { width, height: 800, dark });
  try {
    await browser.goto(url);
    await isIn(browser, 'ready');
    for (const way of ways) await run(browser, way);
    await browser.resize(width, await browser.evaluate(() => document.documentElement.scrollHeight));
    await lookInside(browser, span);
    await browser.evaluate(() => document.activeElement.blur());
    await browser.screenshot(join(IMAGES, `counter-page-${name}-${dark ? 'dark' : 'light'}.png`));
  } finally {
    await browser.close();
  }
}

const server = await createServer({ root: import.meta.dirname, server: { port: 0 }, logLevel: 'error' });
await server.listen();
const [url] = server.resolvedUrls.local;
for (const dark of [false, true]) {
  await take(url, 'desktop', { width: 960, span: 100, ways: ['unsynchronised', 'atomic', 'guarded'], dark });
  await take(url, 'phone', { width: 320, span: 1000, ways: ['guarded', 'unsynchronised'], dark });
}
await server.close();
