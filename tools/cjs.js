/**
 * cjs.js: writes js/cjs, for programs that `require`, as Node 18 and 20 cannot require an ES
 * module: each entry of the package in one CommonJS file, and its types, if `npm run types` has
 * made them. Entries share no file but index.js. What more than one of them contains are copies of
 * lockword in one agent, which js/src/agent.js knows.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';

const root = fileURLToPath(new URL('../', import.meta.url));
const outdir = join(root, 'js/cjs');
const TYPES = join(root, 'js/types');

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const entries = Object.values(exports).flatMap(({ default: file }) => file ?? []);

rmSync(outdir, { recursive: true, force: true });
mkdirSync(outdir);
writeFileSync(join(outdir, 'package.json'), '{ "type": "commonjs" }\n');
await build({
  absWorkingDir: root,
  entryPoints: entries,
  outdir,
  bundle: true,
  // lockword/inspect is about the classes that programs have.
  external: ['./index.js'],
  platform: 'node',
  format: 'cjs',
  target: 'node18',
  logLevel: 'warning',
});
if (existsSync(TYPES)) cpSync(TYPES, outdir, { recursive: true });
