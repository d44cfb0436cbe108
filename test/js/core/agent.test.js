/** js/src/agent.js: what importing it costs in Node, and the ids that it gives. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

const LIBRARY = JSON.stringify(new URL('../../../js/src/index.js', import.meta.url).href);
const SELF = JSON.stringify(new URL('../../../js/src/agent.js', import.meta.url).href);

const run = (script, ...options) =>
  JSON.parse(execFileSync(process.execPath, [...options, '--input-type=module', '-e', script]));

describe('importing lockword in Node', function () {
  this.timeout(60_000); // it starts processes, which takes long beside others

  it('does not load its crypto, which takes milliseconds', () => {
    const script = `await import(${LIBRARY});
      console.log(JSON.stringify(process.moduleLoadList.filter((name) => /crypto/.test(name))));`;
    assert.deepEqual(run(script), run(script.replace(/.*;/, '')));
  });

  it('gives each thread another id, also if Math.random is seeded for all', () => {
    const script = `import { Worker } from 'node:worker_threads';
      const thread = 'import(${SELF}).then(({ self }) => process.getBuiltinModule("worker_threads").parentPort.postMessage(self))';
      const ids = Array.from({ length: 4 }, () => new Promise((resolve) =>
        new Worker(thread, { eval: true }).once('message', resolve)));
      console.log(JSON.stringify(await Promise.all([...ids, import(${SELF}).then(({ self }) => self)])));`;
    const ids = run(script, '--random-seed=5');
    assert.equal(new Set(ids).size, 5, `${ids}`);
    for (const id of ids) assert.equal(id >>> 28, 1);
  });
});
