/**
 * node demo/run.js [--threads=N] [--workers=N] [TREE]
 *
 * Counts every C identifier of every file under TREE (/usr/include) in one hash table guarded by lockword mutexes: with native threads,
 * then in Node with C, JavaScript and the main thread together, then both without locks. Fails if a locked count is not exact.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildModule, buildNative } from './build.js';
import { countInNode } from './node-run.js';
import { countNatively } from './native-run.js';
import { compare, countPlainly } from './reference.js';
import { bad, bold, count, dim, fixed, good, megabytes, milliseconds, perCent, plural, say, sayTable, withBar } from './terminal.js';
import { survey } from './tree.js';

const TOP_WORDS = 10;

/** More threads than processors: some lose theirs in the middle of a locked section, which is where locks get hard. */
const processors = os.availableParallelism();
const THREADS = Math.max(4, processors);
const WORKERS = Math.max(2, Math.floor(processors / 2));

/** Room for words: their text takes less than the files do. Memory that no word comes to is never touched. */
const MIN_HEAP_BYTES = 16 << 20;
const MAX_HEAP_BYTES = 1 << 30;
/** One chain for so many bytes of source makes chains of one or two words. */
const BYTES_PER_BUCKET = 512;
const MIN_BUCKETS = 1 << 10;
const MAX_BUCKETS = 1 << 22;

const clamp = (n, low, high) => Math.min(Math.max(n, low), high);

function tableFor(tree, locking) {
  const buckets = 2 ** Math.ceil(Math.log2(clamp(tree.bytes / BYTES_PER_BUCKET, MIN_BUCKETS, MAX_BUCKETS)));
  return { tree, buckets, heapBytes: clamp(tree.bytes, MIN_HEAP_BYTES, MAX_HEAP_BYTES), locking };
}

function options() {
  const { values, positionals } = parseArgs({
    options: { threads: { type: 'string' }, workers: { type: 'string' } },
    allowPositionals: true,
  });
  const number = (name, standard) => {
    const n = Number(values[name] ?? standard);
    if (!Number.isInteger(n) || n < 1) throw new Error(`--${name} must be a positive integer`);
    return n;
  };
  return { root: positionals[0] ?? '/usr/include', threads: number('threads', THREADS), workers: number('workers', WORKERS) };
}

function sayTree(tree) {
  const leftOut = [
    [tree.binary.length, 'binary (they hold a NUL)'],
    [tree.unreadable.length, 'not readable'],
    [tree.special, 'no files at all (devices, pipes, sockets)'],
  ].filter(([n]) => n > 0);
  say(`  ${bold(tree.root)}: ${plural(tree.files.length, 'file')}, ${megabytes(tree.bytes)} MB`);
  if (tree.again > 0) say(dim(`  ${plural(tree.again, 'link')} to what was there already, counted once`));
  if (leftOut.length > 0) say(dim(`  left out: ${leftOut.map(([n, what]) => `${count(n)} ${what}`).join(', ')}`));
}

const throughput = (tree, occurrences, seconds) =>
  `${fixed(seconds, 2)} s   ${fixed(tree.bytes / 1e6 / seconds, 0)} MB/s   ${fixed(occurrences / 1e6 / seconds)} million words/s`;

function sayAgents(agents) {
  const row = ({ kind, files, words, contended, waits, waitedUs, longestUs }) => [
    kind,
    count(files),
    count(words),
    count(contended),
    count(waits),
    milliseconds(waitedUs),
    milliseconds(longestUs),
  ];
  sayTable([['', 'files', 'words', 'lock was taken', 'had to wait', 'in all', 'longest'], ...agents.map(row)]);
}

/** Whether a locked run found what the reference did, and left its locks as they were. */
function sayVerdict({ words, occurrences }, result) {
  const difference = compare(words, result.words);
  const failed = result.agents.reduce((sum, agent) => sum + agent.failed + agent.full + agent.damaged, 0);
  if (difference.equal && failed === 0 && result.locksAreZero) {
    say(good(`  ✓ exact: ${count(words.size)} different words, ${count(occurrences)} in all, each counted as the reference has it`));
    return true;
  }
  say(bad(`  ✗ not exact: ${sayDifference(words, occurrences, difference)}`));
  for (const { word, expected, found } of difference.examples) say(bad(`    ${word}: ${count(expected)} expected, ${count(found)} found`));
  if (failed > 0) say(bad(`    ${plural(failed, 'file or word', 'files or words')} could not be counted`));
  if (!result.locksAreZero) say(bad('    a lock is not as it was before the first use'));
  return false;
}

function sayDifference(words, occurrences, { missing, wrong, invented, lost }) {
  return (
    `${count(lost)} of ${count(occurrences)} occurrences lost (${perCent(lost, occurrences)}); ` +
    `of ${count(words.size)} words ${count(missing)} missing, ${count(wrong)} miscounted; ${count(invented)} that stand in no file`
  );
}

function sayLoss({ words, occurrences }, name, result) {
  const difference = compare(words, result.words);
  const text = difference.equal ? 'nothing lost this time: luck, for nothing prevents it' : sayDifference(words, occurrences, difference);
  say(`  ${name.padEnd(8)} ${difference.equal ? text : bad(text)}`);
}

function sayLateness({ medianMs, worstMs }, without) {
  say(
    `  The main thread took its locks with lockAsync. Its event loop ran on: a timer fired ${fixed(medianMs)} ms late as a rule,`,
    `  ${bold(`${fixed(worstMs)} ms at worst`)} (the same without any locks: ${fixed(without.worstMs)} ms; the processors are shared out to more threads than there are).`,
  );
}

function sayTop({ words }) {
  const top = [...words].sort(([, a], [, b]) => b - a).slice(0, TOP_WORDS);
  say('', bold('Top words'), `  ${top.map(([word, n]) => `${word} ${dim(count(n))}`).join('   ')}`);
}

async function main() {
  const { root, threads, workers } = options();
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'lockword-demo-'));
  process.on('exit', () => fs.rmSync(scratch, { recursive: true, force: true }));

  say(bold('lockword: one hash table, filled by everybody at once'));
  const [program, module] = [buildNative(), await buildModule()];
  const tree = survey(root);
  sayTree(tree);

  const reference = await withBar('one thread', tree.files, (onProgress) => countPlainly(tree.files, onProgress));
  say('', bold('The reference: one thread, one JavaScript Map, nothing shared'));
  say(`  ${throughput(tree, reference.occurrences, reference.seconds)}`);

  const natively = (locking) =>
    withBar('C threads', tree.files, (onProgress) => countNatively(program, scratch, tableFor(tree, locking), threads, onProgress));
  const inNode = (locking) =>
    withBar('Node', tree.files, (onProgress) => countInNode(module, tableFor(tree, locking), workers, onProgress));

  const a = await natively(1);
  say('', bold(`(a) Natively: ${plural(threads, 'C thread')} on one table`), `  ${throughput(tree, reference.occurrences, a.seconds)}`);
  sayAgents(a.agents);
  const exactNatively = sayVerdict(reference, a);

  const b = await inNode(1);
  say('', bold('(b) In Node: C as WebAssembly, JavaScript and the main thread on one table'));
  say(`  ${throughput(tree, reference.occurrences, b.seconds)}`);
  sayAgents(b.agents);
  const exactInNode = sayVerdict(reference, b);

  const c = { native: await natively(0), node: await inNode(0) };
  sayLateness(b.lateness, c.node.lateness);
  say('', bold('(c) The same without locks'));
  sayLoss(reference, 'C:', c.native);
  sayLoss(reference, 'Node:', c.node);

  sayTop(reference);
  process.exitCode = exactNatively && exactInNode ? 0 : 1;
}

try {
  await main();
} catch (error) {
  console.error(bad(`demo: ${error.message}`));
  process.exitCode = 2;
}
