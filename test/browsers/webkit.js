/** WebKitGTK's MiniBrowser, on an X server without a screen, by WebDriver. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';

import { Builder, By, Key } from 'selenium-webdriver';
import { DriverService } from 'selenium-webdriver/remote/index.js';

import { Page } from './page.js';

const MINI_BROWSER = '/usr/lib/*/webkit*gtk-*/MiniBrowser';
const LONGEST_JOB_MS = 60_000;

/**
 * An X server of its own, which ends with its last client; returns its process, and its name for
 * others.
 */
async function startScreen() {
  const args = [
    '-displayfd',
    '3',
    '-screen',
    '0',
    '1920x1440x24',
    '-nolisten',
    'tcp',
    '-terminate',
  ];
  const screen = spawn('Xvfb', args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const failed = once(screen, 'exit').then(() => Promise.reject(new Error('Xvfb did not start')));
  const [number] = await Promise.race([once(screen.stdio[3], 'data'), failed]);
  return { screen, display: `:${`${number}`.trim()}` };
}

/** Where pages may have shared memory, WebKitGTK still wants to be told so. */
const environment = (display, dark) => ({
  ...process.env,
  DISPLAY: display,
  GDK_BACKEND: 'x11',
  GTK_THEME: dark ? 'Adwaita:dark' : 'Adwaita',
  JSC_useSharedArrayBuffer: '1',
  LIBGL_ALWAYS_SOFTWARE: '1',
  NO_AT_BRIDGE: '1',
  // Without a graphics card the other renderer paints some frames a second, or none.
  WEBKIT_DISABLE_DMABUF_RENDERER: '1',
});

/** Runs in the page: WebDriver's scripts answer by a callback, and cannot throw. */
function answerTo(job, args, done) {
  const run = (0, eval)(`(${job})`);
  new Promise((resolve) => resolve(run(...args))).then(
    (value) => done({ value }),
    (error) => done({ error: `${error?.stack ? `${error}\n${error.stack}` : error}` }),
  );
}

class WebKitPage extends Page {
  #driver;
  #end;

  constructor(driver, version, end) {
    super();
    this.#driver = driver;
    this.#end = end;
    this.version = version;
  }

  goto = (url) => this.#driver.get(`${url}`);
  click = (selector) => this.#driver.findElement(By.css(selector)).click();
  close = () => this.#end();

  async evaluate(job, ...args) {
    const { value, error } = await this.#driver.executeAsyncScript(answerTo, `${job}`, args);
    if (error) throw new Error(error);
    return value ?? undefined;
  }

  async press(key) {
    const named = Key[key.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()];
    await this.#driver
      .actions()
      .sendKeys(key.length > 1 ? named : key)
      .perform();
  }

  /** A window's size counts its frame: what is asked for is the page's. */
  async resize(width, height) {
    const window = this.#driver.manage().window();
    await window.setRect({ width, height });
    const inner = await this.evaluate(() => ({ width: innerWidth, height: innerHeight }));
    await window.setRect({ width: 2 * width - inner.width, height: 2 * height - inner.height });
  }

  async screenshot(path) {
    await writeFile(path, await this.#driver.takeScreenshot(), 'base64');
  }
}

export async function openWebKit({ path, width, height, dark }) {
  const { screen, display } = await startScreen();
  const service = new DriverService.Builder(path)
    .setLoopback(true)
    .setEnvironment(environment(display, dark))
    .build();
  let driver;
  const end = async () => {
    await driver?.quit().catch(() => {});
    await service.kill();
    screen.kill();
  };
  try {
    const [binary] = globSync(MINI_BROWSER);
    driver = await new Builder()
      .usingServer(await service.start())
      .withCapabilities({
        browserName: 'MiniBrowser',
        'webkitgtk:browserOptions': { binary, args: ['--automation'] },
      })
      .build();
    await driver.manage().setTimeouts({ script: LONGEST_JOB_MS });
    const page = new WebKitPage(driver, (await driver.getCapabilities()).getBrowserVersion(), end);
    await page.resize(width, height);
    return page;
  } catch (error) {
    await end();
    throw error;
  }
}
