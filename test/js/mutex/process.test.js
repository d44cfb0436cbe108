/**
 * How long a process lives, and what its main thread may do: each in a process of its own
 * (process.js).
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { expect } from 'chai';

import { mode } from '../modes.js';

const script = fileURLToPath(new URL('./process.js', import.meta.url));
const { process } = globalThis;
const isNode = !process.versions.bun && !globalThis.Deno;
const options = globalThis.Deno ? ['run', '--allow-all', '--quiet'] : [];

/**
 * Runs a scenario; what it printed, and how it ended. One that does not end by itself is killed.
 */
function run(scenario) {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(process.execPath, [...options, script, scenario, mode], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'])
      child[name].on('data', (text) => (output[name] += text));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ ...output, code, signal, ms: performance.now() - start });
    });
  });
}

if (mode !== 'unhealed') {
  describe('Mutex: a process', () => {
    for (const [scenario, printed] of [
      ['timeout', 'false'],
      ['chain', 'true false true'],
      ['late abort', 'true false'],
      ['worker', 'true'],
      ['pending when fake timers go', 'true'],
      ['a limit by fake timers', '5000 1 false'],
      ['a limit by fake timers beside the real clock', '5 1 false'],
      [
        'short limits by fake timers beside a clock that hardly moves',
        'false false false false false',
      ],
      ['after a timer that fake ones have not cleared', 'true'],
    ]) {
      it(`stays alive while nothing but a lockAsync is pending: ${scenario}`, async () => {
        const { stdout, stderr, code } = await run(scenario);
        expect(stdout.trim(), stderr).to.equal(printed);
        expect(code).to.equal(0);
      });
    }

    for (const scenario of [
      'granted',
      'aborted',
      'timed out',
      'timed out at once',
      'abandoned',
      'turns of a page',
      'turns in jsdom',
      'a blocking call beside a fake clock',
      'pending when fake timers come',
    ]) {
      it(`ends by itself when nothing is pending any more: ${scenario}`, async () => {
        const { stdout, stderr, code, signal } = await run(scenario);
        expect(stdout.trim(), stderr).to.equal('done');
        expect([code, signal]).to.deep.equal([0, null]);
      });
    }

    it('imports lockword where there are no timers, and tries to lock', async () => {
      const { stdout, stderr } = await run('an AudioWorklet');
      expect(stdout.trim(), stderr).to.equal('done');
    });

    it('is idle while 100,000 calls with a timeout are pending', async () => {
      const { stdout, stderr } = await run('many pending');
      expect(Number(stdout.trim() || NaN), stderr).to.be.below(0.1);
    });
  });

  describe('Mutex: the main thread of a process', () => {
    it('may block, and is told once that it does', async () => {
      const { stdout, stderr, code } = await run('warning');
      const { answers, warnings } = JSON.parse(stdout);
      expect(answers, stderr).to.deep.equal([true, false, false, true]);
      expect(code).to.equal(0);
      if (isNode) expect(warnings).to.have.length(1);
      expect(warnings.length).to.be.at.most(1);
      for (const warning of warnings) expect(warning).to.match(/^lock\(\) .* lockAsync\(\)$/);
    });

    for (const [scenario, call] of [
      ['warning of a guard', 'acquire'],
      ['warning of a condition', 'waitFor'],
    ]) {
      it(`${scenario} names the call that was made, and the one that never blocks`, async () => {
        const { stdout } = await run(scenario);
        for (const warning of JSON.parse(stdout).warnings) {
          expect(warning).to.contain(`${call}() blocks`).and.contain(`use ${call}Async()`);
        }
      });
    }

    it('is told nothing while it only calls what never blocks', async () => {
      const { stdout, stderr } = await run('no warning');
      expect(JSON.parse(stdout).warnings).to.deep.equal([]);
      expect(stderr.trim()).to.equal('');
    });

    it('is told nothing about its workers', async () => {
      const { stdout, stderr } = await run('worker blocks');
      expect(JSON.parse(stdout).warnings).to.deep.equal([]);
      expect(stderr.trim()).to.equal('');
    });
  });
}
