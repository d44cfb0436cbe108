/**
 * What a C function keeps across a wait is there after it. Node 20's baseline compiler zeroes a
 * local that lives across memory.atomic.wait32, which is why src/wait/wasm.c has the instruction
 * alone in a function, and why nothing may inline that.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { link } from '../../../tools/core/link.js';
import { install, RUNTIMES } from '../runtimes.js';

/** Runs in a worker of another Node; the module comes on stdin. */
const SCRIPT = `
  const { Worker } = require('node:worker_threads');
  const run = ({ workerData: wasm, parentPort }) => {
    const memory = new WebAssembly.Memory({ initial: 16, maximum: 16, shared: true });
    const imports = { env: { memory }, lockword: { self: () => 0x10000001, now: () => performance.now() } };
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm), imports);
    const word = exports.__heap_base.value;
    parentPort.postMessage({ apart: exports.apart(word, 6, 7), inlined: exports.inlined(word, 6, 7) });
  };
  const worker = new Worker('(' + run + ')(require("node:worker_threads"))', {
    eval: true,
    workerData: require('node:fs').readFileSync(0),
  });
  worker.on('message', (answers) => console.log(JSON.stringify(answers)));
`;

/** Both timed out. */
const RIGHT = 423;

describe('a local across a wait in WebAssembly', function () {
  this.timeout(120_000);
  const nodes = RUNTIMES.filter(({ name }) => ['node20', 'node24'].includes(name));
  const answers = {};

  before(async () => {
    const wasm = await link([fileURLToPath(new URL('wait32.c', import.meta.url))]);
    for (const { name, path } of install(nodes)) {
      answers[name] = JSON.parse(
        execFileSync(path, ['--liftoff-only', '-e', SCRIPT], { input: wasm, encoding: 'utf8' }),
      );
    }
  });

  for (const { name } of nodes)
    it(`survives on ${name}`, () => assert.equal(answers[name].apart, RIGHT));

  it('would not survive on node20 were the instruction inlined', () =>
    assert.notEqual(answers.node20.inlined, RIGHT));
});
