/** files.js: where the tests are. */
import { readdirSync } from 'node:fs';

/**
 * Every test file of the suite, under this folder, in the order of their names. Those of the core
 * run on one Node only, by themselves.
 */
export function testFiles(folder = new URL('./', import.meta.url)) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const url = new URL(entry.isDirectory() ? `${entry.name}/` : entry.name, folder);
    if (entry.isDirectory())
      return entry.name === 'core' || entry.name === 'node_modules' ? [] : testFiles(url);
    return entry.name.endsWith('.test.js') ? [url] : [];
  });
}
