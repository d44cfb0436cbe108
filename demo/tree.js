/** Which files there are to count. */

import fs from 'node:fs';

/**
 * How much of a file is looked at for a NUL, which no text has. As much as grep and git look at.
 */
const LOOK_AT_BYTES = 8000;

/**
 * Paths are kept in Latin-1, one character a byte: on Linux a name need not be valid UTF-8.
 *
 * @param {string} path
 */
export const bytesOf = (path) => Buffer.from(path, 'latin1');

function isBinary(path) {
  const fd = fs.openSync(bytesOf(path));
  try {
    const head = Buffer.alloc(LOOK_AT_BYTES);
    return head.subarray(0, fs.readSync(fd, head)).includes(0);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Every text file under a directory, largest first, so that no agent is left with a large one at
 * the end. Links are followed, and each real file or directory counted once, by whatever names it
 * is reached.
 *
 * @param {string} root
 */
export function survey(root) {
  const tree = {
    root,
    files: [],
    bytes: 0,
    largest: 0,
    again: 0,
    binary: [],
    unreadable: [],
    special: 0,
  };
  const seen = new Set();

  const addFile = (path, size) => {
    if (isBinary(path)) {
      tree.binary.push(path);
      return;
    }
    tree.files.push({ path, size });
    tree.bytes += size;
    tree.largest = Math.max(tree.largest, size);
  };

  const visit = (path) => {
    const stat = fs.statSync(bytesOf(path), { bigint: true });
    const identity = `${stat.dev}:${stat.ino}`;
    if (seen.has(identity)) {
      tree.again++;
      return;
    }
    seen.add(identity);
    if (stat.isFile()) addFile(path, Number(stat.size));
    else if (stat.isDirectory())
      fs.readdirSync(bytesOf(path), 'latin1').forEach((name) => tryToVisit(`${path}/${name}`));
    else tree.special++;
  };

  const tryToVisit = (path) => {
    try {
      visit(path);
    } catch (error) {
      if (!error.syscall) throw error;
      tree.unreadable.push(path);
    }
  };

  visit(Buffer.from(root).latin1Slice());
  if (tree.files.length === 0) throw new Error(`no text file under ${root}`);
  tree.files.sort((a, b) => b.size - a.size);
  return tree;
}
