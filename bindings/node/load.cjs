/**
 * Loads the addon: the one that was built on this machine, or the one that the package came with.
 */
// @ts-nocheck
'use strict';

const NAMES = ['built/lockword.node', `prebuilt/${process.platform}-${process.arch}.node`];

const why = [];
for (const name of NAMES) {
  try {
    module.exports = require(`./${name}`);
    break;
  } catch (error) {
    why.push(`${name}: ${error.message.split('\n')[0]}`);
  }
}
if (why.length === NAMES.length) {
  throw new Error(
    `lockword-region has no addon for this machine (${why.join('; ')}). ` +
      "With a C compiler, 'npm rebuild lockword-region' builds it. Regions need Linux.",
  );
}
