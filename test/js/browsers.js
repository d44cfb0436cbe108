/** browsers.js: starts the suite (web.js) in a browser, bundled by esbuild. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

import { openBrowser, serve } from '../browsers/index.js';
import { testFiles } from './files.js';

const here = fileURLToPath(new URL('./', import.meta.url));
const served = fileURLToPath(new URL('../../build/test-js/', import.meta.url));

/** What no browser has: processes, and Node's kind of workers. */
const NOT_IN_BROWSERS = /^(mutex\/process|worker-mutex\/)/;

/** Tests are imported in turn, as on other runtimes: after the mode has been entered. */
function entry() {
  const files = testFiles().map((url) => relative(here, fileURLToPath(url)));
  const imports = files
    .filter((file) => !NOT_IN_BROWSERS.test(file))
    .map((file) => `() => import('./${file}'),`);
  return `import { start } from './web.js';\nvoid start([\n${imports.join('\n')}\n]);\n`;
}

const OPTIONS = {
  bundle: true,
  format: 'esm',
  target: 'esnext',
  external: ['node:*'],
  logLevel: 'error',
};

/** Writes the page; a folder for each browser, since they may run beside each other. */
async function bundle(outdir) {
  mkdirSync(outdir, { recursive: true });
  writeFileSync(
    `${outdir}/index.html`,
    '<!doctype html>\n<title>lockword</title>\n<script type="module" src="stdin.js"></script>\n',
  );
  await build({
    ...OPTIONS,
    outdir,
    splitting: true,
    stdin: { contents: entry(), resolveDir: here },
  });
  await build({ ...OPTIONS, outdir, entryPoints: [`${here}agent.js`] });
}

/**
 * Starts the suite in a browser.
 *
 * @param {{ name: string }} browser
 * @param {{ grep?: string, hear: (report: any) => void }} options
 */
export async function startInBrowser({ name }, { grep, hear }) {
  await bundle(`${served}${name}`);
  const server = await serve(served, { receive: (text) => JSON.parse(text).forEach(hear) });
  const browser = await openBrowser(name);
  const address = new URL(`${name}/`, server.url);
  if (grep) address.searchParams.set('grep', grep);
  await browser.goto(address);
  return {
    version: browser.version,
    over: new Promise(() => {}),
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}
