/**
 * A worker of the Node run: counts files into the shared table, in C compiled to WebAssembly or in
 * JavaScript.
 */

import fs from 'node:fs';
import os from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { imports } from 'lockword/wasm';
import { bytesOf } from './tree.js';
import { Counter, NO_FILE, readTally, Table } from './wordcount.js';

/**
 * @typedef {object} Region what of the memory belongs to one C worker
 * @property {number} stackTop
 * @property {number} tallyAt
 * @property {number} textAt
 * @property {number} textBytes
 */

/** Reads a file into the bytes, and returns the part that it fills. */
function readInto(bytes, path) {
  const fd = fs.openSync(bytesOf(path));
  try {
    let length = 0;
    for (let n = 1; n > 0; length += n)
      n = fs.readSync(fd, bytes, length, bytes.length - length, null);
    return bytes.subarray(0, length);
  } finally {
    fs.closeSync(fd);
  }
}

/** C on a stack, a tally and a text buffer of this worker's own, all in the shared memory. */
function counterInC({ memory, module, base, region }) {
  const { exports } = new WebAssembly.Instance(module, { env: { memory }, ...imports() });
  const buffer = new Uint8Array(memory.buffer, region.textAt, region.textBytes);
  exports.__stack_pointer.value = region.stackTop;
  return {
    takeFile: () => exports.wc_take_file(base, region.tallyAt) >>> 0,
    read: (path) => readInto(buffer, path),
    count: (text) => exports.wc_count(base, region.tallyAt, text.byteOffset, text.length),
    tally: () => readTally(memory.buffer, region.tallyAt),
  };
}

function counterInJavaScript({ memory, base }) {
  const counter = new Counter(memory, new Table(memory.buffer, base));
  return {
    takeFile: () => counter.takeFile(),
    read: (path) => fs.readFileSync(bytesOf(path)),
    count: (text) => counter.count(text),
    tally: () => counter.tally,
  };
}

function readOrNull(counter, path) {
  try {
    return counter.read(path);
  } catch (error) {
    if (!error.syscall) throw error;
    return null;
  }
}

function work(counter, paths) {
  const done = { files: 0, failed: 0, bytes: 0 };
  for (let file = counter.takeFile(); file !== NO_FILE; file = counter.takeFile()) {
    const text = readOrNull(counter, paths[file]);
    if (text === null) {
      done.failed++;
      continue;
    }
    counter.count(text);
    done.files++;
    done.bytes += text.length;
  }
  return { ...done, ...counter.tally() };
}

/**
 * Background work leaves the processor to the main thread when that has something to do. On Linux,
 * 0 is the calling thread alone.
 */
const NICE = 10;
os.setPriority(0, NICE);

const counter = workerData.region ? counterInC(workerData) : counterInJavaScript(workerData);
parentPort.once('message', () => parentPort.postMessage(work(counter, workerData.paths)));
parentPort.postMessage('ready');
