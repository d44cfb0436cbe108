/**
 * Takes the pictures that the READMEs show, light and dark, on a desktop and on a phone:
 *
 *     node examples/counter-page/screenshots.js
 */

import { join } from 'node:path';
import { createServer } from 'vite';
import { openBrowser } from '../../test/browsers/index.js';

const IMAGES = join(import.meta.dirname, '../../docs/img');
const RUN = { timeout: 60_000 };

const isIn = (browser, state) =>
  browser.until((state) => document.querySelector('main').dataset.state === state, {
    ...RUN,
    args: [state],
  });

async function take(url, name, { width, way, dark }) {
  const browser = await openBrowser('chromium', { width, height: 800, dark });
  try {
    await browser.goto(url);
    await isIn(browser, 'done');
    // The page opens with the three ways compared, and the last one shown.
    if (way) await browser.click(`input[value=${way}]`);
    const height = await browser.evaluate(() => document.querySelector('#frames').offsetTop);
    await browser.resize(width, height);
    await browser.evaluate(async () => {
      document.activeElement.blur();
      scrollTo(0, 0);
      await Promise.all(document.getAnimations().map(({ finished }) => finished));
    });
    await browser.screenshot(join(IMAGES, `counter-page-${name}-${dark ? 'dark' : 'light'}.png`));
  } finally {
    await browser.close();
  }
}

const server = await createServer({
  root: import.meta.dirname,
  server: { port: 0 },
  logLevel: 'error',
});
await server.listen();
const [url] = server.resolvedUrls.local;
for (const dark of [false, true]) {
  await take(url, 'desktop', { width: 960, dark });
  await take(url, 'phone', { width: 320, way: 'unsynchronised', dark });
}
await server.close();
