/** Chromium and Firefox, headless, by Puppeteer: over DevTools' protocol and WebDriver BiDi. */
import puppeteer from 'puppeteer-core';

import { Page } from './page.js';

/**
 * Root may not use the sandbox; the rest keeps Chromium from calling home, which takes seconds
 * where there is no network.
 */
const CHROMIUM = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const LONGEST_JOB_MS = 60_000;

class PuppeteerPage extends Page {
  #browser;
  #page;

  constructor(browser, page, version) {
    super();
    this.#browser = browser;
    this.#page = page;
    this.version = version;
    page.on(
      'console',
      (message) => message.type() === 'error' && this.problems.push(message.text()),
    );
    page.on('pageerror', (error) => this.problems.push(`${error}`));
  }

  goto = (url) => this.#page.goto(`${url}`, { timeout: LONGEST_JOB_MS });
  evaluate = (job, ...args) => this.#page.evaluate(job, ...args);
  click = (selector) => this.#page.click(selector);
  press = (key) => this.#page.keyboard.press(key);
  resize = (width, height) => this.#page.setViewport({ width, height });
  screenshot = (path) => this.#page.screenshot({ path });
  close = () => this.#browser.close();
}

async function open({ width, height, ...options }) {
  const browser = await puppeteer.launch({
    ...options,
    timeout: LONGEST_JOB_MS,
    protocolTimeout: LONGEST_JOB_MS,
  });
  const [page = await browser.newPage()] = await browser.pages();
  await page.setViewport({ width, height });
  const [version] = (await browser.version()).match(/[\d.]+/);
  return { browser, page, opened: new PuppeteerPage(browser, page, version) };
}

export async function openChromium({ path, dark, ...size }) {
  const { page, opened } = await open({ ...size, executablePath: path, args: CHROMIUM });
  await page.emulateMediaFeatures([
    { name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' },
  ]);
  return opened;
}

export async function openFirefox({ path, dark, ...size }) {
  const extraPrefsFirefox = { 'layout.css.prefers-color-scheme.content-override': dark ? 0 : 1 };
  const { opened } = await open({
    ...size,
    executablePath: path,
    browser: 'firefox',
    extraPrefsFirefox,
  });
  return opened;
}
