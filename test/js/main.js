/**
 * main.js: the suite on the runtime that executes this file.
 *
 *     node test/js/main.js [--mode normal|polling|unhealed] [--grep PATTERN] [--lines]
 *
 * --lines reports one JSON object a line, for run.js. The modes are those of modes.js.
 */
import { parseArgs } from 'node:util';

import Mocha from 'mocha';

import { testFiles } from './files.js';
import { engine, reporterTo, runSuite } from './suite.js';

const { values: options } = parseArgs({
  options: {
    mode: { type: 'string', default: 'normal' },
    grep: { type: 'string' },
    lines: { type: 'boolean', default: false },
  },
});

const tell = (report) => console.log(JSON.stringify(report));
if (options.lines) tell({ engine });

const tests = testFiles().map(
  ({ href }) =>
    () =>
      import(href),
);
const failed = await runSuite(Mocha, tests, {
  ...options,
  reporter: options.lines ? reporterTo(tell) : 'spec',
});
if (options.lines) tell({ end: failed });
process.exit(failed > 0 ? 1 : 0);
