/** suite.js: the tests as mocha runs them, on every runtime alike. */
import { finish, spawnIn } from './agents.js';
import { enter } from './modes.js';

/** Whether the engine parses this; where a page's policy forbids to try, no. */
function parses(code) {
  try {
    return Boolean(new Function(code));
  } catch {
    return false;
  }
}

/** What some engines have and others do not: taken before a mode takes it away. */
export const engine = {
  waitAsync: typeof Atomics.waitAsync === 'function',
  pause: typeof Atomics.pause === 'function',
  dispose: typeof Symbol.dispose === 'symbol',
  using: parses('{ using nothing = null; }'),
};

/** The error's stack, with its message, which only some engines put there. */
export function whyOf(error) {
  const { message, stack = '' } = Object(error);
  return stack.includes(message) ? stack : `${error}\n${stack}`;
}

/**
 * A mocha reporter that tells of each test: { passed, ms }, { failed, why } or { skipped, why }.
 */
export const reporterTo = (tell) =>
  function Reporter(runner) {
    runner.on('pass', (test) => tell({ passed: test.fullTitle(), ms: test.duration }));
    runner.on('fail', (test, error) => tell({ failed: test.fullTitle(), why: whyOf(error) }));
    runner.on('pending', (test) => tell({ skipped: test.fullTitle(), why: test.why }));
  };

function keepOnly(suite, wanted) {
  suite.tests = suite.tests.filter(wanted);
  for (const inner of suite.suites) keepOnly(inner, wanted);
}

/**
 * Runs the suite in a mode of modes.js; returns how many failed.
 *
 * @param {typeof import('mocha')} Mocha
 * @param {(() => Promise<unknown>)[]} tests each imports a file of tests
 * @param {{ mode: string, reporter: unknown, grep?: string, wanted?: (test: { blocks?: boolean })
 *   => boolean }} options
 */
export async function runSuite(Mocha, tests, { mode, reporter, grep, wanted = () => true }) {
  enter(mode);
  spawnIn(mode);
  const mocha = new Mocha({ reporter, timeout: 30_000, slow: 3_000, grep });
  mocha.suite.emit('pre-require', globalThis, 'suite.js', mocha);
  mocha.suite.afterEach('end the agents that are left', () => finish());
  for (const load of tests) await load();
  keepOnly(mocha.suite, wanted);
  return new Promise((resolve) => mocha.run(resolve));
}
