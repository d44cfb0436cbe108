/**
 * index.js: Debian's Chromium, Firefox and WebKitGTK, driven alike.
 *
 *     const server = await serve('build/page');
 *     const browser = await openBrowser('firefox', { width: 390, height: 844, dark: true });
 *     await browser.goto(server.url);
 *     await browser.click('#increment');
 *     await browser.until(() => document.querySelector('output').value !== '');
 *     const text = await browser.evaluate((id) => document.getElementById(id).textContent, 'count');
 *     await browser.screenshot('build/page.png');
 *     await browser.close();
 *     await server.close();
 *
 * A browser has one page. Functions given to evaluate() and until() run in that page: they see
 * nothing of the test but their arguments, and return JSON. press() takes a character or a key by
 * its name in KeyboardEvent.key, as ' ', 'Tab' or 'ArrowLeft'.
 */
import { existsSync } from 'node:fs';

import { openChromium, openFirefox } from './puppeteer.js';
import { openWebKit } from './webkit.js';

export { serve } from './serve.js';

/**
 * `package` is Debian's; setup.sh installs it, and with it the `files`, of which the first is what
 * is started.
 */
export const BROWSERS = [
  {
    name: 'chromium',
    title: 'Chromium',
    package: 'chromium',
    files: ['/usr/bin/chromium'],
    open: openChromium,
  },
  {
    name: 'firefox',
    title: 'Firefox',
    package: 'firefox-esr',
    files: ['/usr/bin/firefox-esr'],
    open: openFirefox,
  },
  {
    name: 'webkit',
    title: 'WebKitGTK',
    package: 'webkit2gtk-driver xvfb',
    files: ['/usr/bin/WebKitWebDriver', '/usr/bin/Xvfb'],
    open: openWebKit,
  },
];

export const isInstalled = ({ files }) => files.every((file) => existsSync(file));

/**
 * Opens a page of this size, in CSS pixels, in the light or the dark. WebKitGTK's is never narrower
 * than 447 pixels: its window has a toolbar.
 *
 * @param {'chromium' | 'firefox' | 'webkit'} name
 */
export async function openBrowser(name, { width = 1280, height = 800, dark = false } = {}) {
  const browser = BROWSERS.find((browser) => browser.name === name);
  if (!browser)
    throw new RangeError(
      `no such browser: ${name} (there are ${BROWSERS.map(({ name }) => name).join(', ')})`,
    );
  if (!isInstalled(browser))
    throw new Error(`${browser.title} is not installed: install ${browser.package}`);
  return browser.open({ path: browser.files[0], width, height, dark });
}
