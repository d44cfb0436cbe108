/** explorer.js: where a primitive's explorer was built. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from '../../../tools/core/toolchain.js';

/** The explorer that was built last, by whatever preset. */
export function explorerOf(primitive) {
  const build = join(ROOT, 'build');
  const presets = existsSync(build) ? readdirSync(build) : [];
  const built = presets
    .map((preset) => join(build, preset, 'verify', `explore-${primitive}`))
    .filter((path) => existsSync(path));
  if (built.length === 0)
    throw new Error(`no explore-${primitive} under build/*/verify: run make build first`);
  return built.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)[0];
}
