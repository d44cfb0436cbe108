/**
 * main.js: the suite on the runtime that executes this file.
 *
 *     node test/js/main.js [--mode normal|polling|unhealed] [--grep PATTERN] [--lines]
 *
 * --lines reports one JSON object a line, for run.js. The modes are those of modes.js.
 */
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';

import Mocha from 'mocha';

import { finish, spawnIn } from './agents.js';
import { enter } from './modes.js';

const { values: options } = parseArgs({
  options: {
    mode: { type: 'string', default: 'normal' },
    grep: { type: 'string' },
    lines: { type: 'boolean', default: false },
  },
});

/** Every test file under a folder, in the order of their names. */
function testsIn(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const url = new URL(entry.isDirectory() ? `${entry.name}/` : entry.name, folder);
    if (entry.isDirectory()) return entry.name === 'core' || entry.name === 'node_modules' ? [] : testsIn(url);
    return entry.name.endsWith('.test.js') ? [url] : [];
  });
}

/** A mocha reporter: one JSON object a line. */
class Lines {
  constructor(runner) {
    const line = (fields) => console.log(JSON.stringify(fields));
    const title = (test) => test.fullTitle();
    runner.on('pass', (test) => line({ passed: title(test), ms: test.duration }));
    runner.on('fail', (test, error) => line({ failed: title(test), why: error.stack ?? String(error) }));
    runner.on('pending', (test) => line({ skipped: title(test) }));
  }
}

enter(options.mode);
spawnIn(options.mode);

const mocha = new Mocha({ reporter: options.lines ? Lines : 'spec', timeout: 30_000, slow: 3_000, grep: options.grep });
mocha.suite.emit('pre-require', globalThis, 'main.js', mocha);
mocha.suite.afterEach('end the agents that are left', () => finish());
for (const url of testsIn(new URL('./', import.meta.url))) await import(url.href);

const failed = await new Promise((resolve) => mocha.run(resolve));
if (options.lines) console.log(JSON.stringify({ end: failed }));
process.exit(failed > 0 ? 1 : 0);
