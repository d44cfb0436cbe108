/**
 * node install.js [FILE [FLAG...]]: builds the addon with the system's C compiler, CC or cc, if the
 * one that the package came with does not run here; with FILE, always, and there, and with these
 * flags.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);

function isThere() {
  try {
    require('./load.cjs');
    return true;
  } catch {
    return false;
  }
}

/** All C files of the library but those that are for other systems. */
function sources() {
  const waiting = ['linux', 'poll', 'self', 'awake'].map((name) => `wait/${name}.c`);
  const found = ['.', 'core', 'loop', 'region'].flatMap((folder) =>
    readdirSync(join(HERE, 'c/src', folder))
      .filter((name) => name.endsWith('.c') && name !== 'none.c')
      .map((name) => join(folder, name)),
  );
  return [...found, ...waiting].map((name) => join('c/src', name));
}

function build(file, more = []) {
  const headers = require('node-api-headers').include_dir;
  // A library that has started threads must not be unloaded, which the last worker's end would do.
  const flags =
    '-std=c11 -O2 -fPIC -shared -pthread -fvisibility=hidden -ffunction-sections -fdata-sections -s ' +
    '-Wl,--gc-sections -Wl,-z,nodelete -DLW_AGENT_LOCAL=__thread -Ic/include -Ic/src';
  const args = [...flags.split(' '), `-I${headers}`, 'addon.c', ...sources(), ...more, '-o', file];
  // As make does, it may have arguments: CC='ccache gcc'.
  const [cc, ...first] = (process.env.CC?.trim() || 'cc').split(/\s+/);
  mkdirSync(dirname(join(HERE, file)), { recursive: true });
  const { status, error, stderr } = spawnSync(cc, [...first, ...args], {
    cwd: HERE,
    encoding: 'utf8',
  });
  if (status === 0) return;
  const platform = `${process.platform} ${process.arch}`;
  console.error(
    error
      ? `lockword-region: it has no addon that runs here (${platform}), and to build one it needs a C compiler: ${cc} does not run (${error.code}).
Install one (Debian: apt install gcc libc6-dev; Alpine: apk add gcc musl-dev linux-headers), then: npm rebuild lockword-region`
      : `lockword-region: ${cc} has not built the addon for ${platform}:\n${stderr}`,
  );
  process.exitCode = 1;
}

const [file, ...more] = process.argv.slice(2);
if (file) build(file, more);
else if (!isThere()) build('built/lockword.node');
