/** What the demo says about its runs. */

import { compare } from './reference.js';
import {
  bad,
  bold,
  count,
  dim,
  fixed,
  good,
  megabytes,
  milliseconds,
  perCent,
  plural,
  say,
  sayTable,
} from './terminal.js';

const TOP_WORDS = 10;

const sum = (agents, ...fields) =>
  agents.reduce((total, agent) => fields.reduce((n, field) => n + agent[field], total), 0);

export function sayTitle() {
  say(bold('lockword: one hash table, filled by everybody at once'));
}

export function sayTree(tree) {
  const leftOut = [
    [tree.binary.length, 'binary (they hold a NUL)'],
    [tree.unreadable.length, 'unreadable or links to nowhere'],
    [tree.special, 'no files at all (devices, pipes, sockets)'],
  ].filter(([n]) => n > 0);
  say(
    `  ${tree.root}: ${plural(tree.files.length, 'file')}, ${megabytes(tree.bytes)} MB. Each C identifier in them is to be counted.`,
  );
  if (tree.again > 0)
    say(dim(`  ${plural(tree.again, 'link')} to what was there already: counted once`));
  if (leftOut.length > 0)
    say(dim(`  left out: ${leftOut.map(([n, what]) => `${count(n)} ${what}`).join(', ')}`));
}

function sayRun(title, { tree, occurrences }, seconds) {
  const bytes = `${fixed(tree.bytes / 1e6 / seconds, 0)} MB/s`;
  const words = `${fixed(occurrences / 1e6 / seconds)} million words/s`;
  say('', bold(title), `  ${fixed(seconds, 2)} s   ${bytes}   ${words}`);
}

export function sayReference(reference) {
  sayRun(
    'The reference: one thread, one JavaScript Map, nothing shared',
    reference,
    reference.seconds,
  );
}

function sayAgents(agents) {
  const row = ({ kind, files, words, contended, waits, waitedUs, longestUs }) => [
    kind,
    ...[files, words, contended, waits].map(count),
    ...[waitedUs, longestUs].map(milliseconds),
  ];
  sayTable([
    ['', 'files', 'words', 'contended', 'waits', 'waited in all', 'longest'],
    ...agents.map(row),
  ]);
}

const describe = ({ words, occurrences }, { lost, missing, wrong, invented }) => [
  `${count(lost)} of ${count(occurrences)} occurrences lost (${perCent(lost, occurrences)});`,
  `of ${count(words.size)} different words ${count(missing)} missing, ${count(wrong)} miscounted;` +
    (invented > 0 ? ` ${count(invented)} more that stand in no file` : ''),
];

function sayInexact(reference, run, difference, failed) {
  const [lost, words] = describe(reference, difference);
  say(bad(`  ✗ not exact: ${lost}`), bad(`    ${words}`));
  for (const { word, expected, found } of difference.examples)
    say(bad(`    ${word}: ${count(expected)} expected, ${count(found)} found`));
  if (failed > 0)
    say(bad(`    ${plural(failed, 'file or word', 'files or words')} could not be counted`));
  if (!run.locksAreZero) say(bad('    a lock is not as it was before its first use'));
}

/**
 * Reports a locked run, and returns whether it is exact: every word as the reference has it, and
 * every lock as it was at first.
 */
export function sayLocked(title, reference, run) {
  sayRun(title, reference, run.seconds);
  sayAgents(run.agents);
  return sayExact(reference, run, sum(run.agents, 'failed', 'full', 'damaged'));
}

function sayExact(reference, run, failed) {
  const difference = compare(reference.words, run.words);
  const exact = difference.equal && failed === 0 && run.locksAreZero;
  if (exact) {
    say(
      good(
        `  ✓ exact: ${count(reference.words.size)} different words, ${count(reference.occurrences)} in all, each as the reference has it`,
      ),
    );
  } else sayInexact(reference, run, difference, failed);
  return exact;
}

/** Reports the run of processes that were killed, and returns whether it is exact. */
export function sayKilled(title, reference, run) {
  sayRun(title, reference, run.seconds);
  say(
    `  ${plural(run.kills, 'process was', 'processes were')} killed and replaced. ${bold(`${count(run.deaths)} of them held the mutex`)}: it became free, and the`,
    '  next holder was told (EOWNERDEAD). What a process adds for a file, it writes into a log first.',
    `  ${count(run.redone)} had written all of it: the next holder did what the log says. The others had changed nothing,`,
    '  and their files were counted again.',
  );
  return sayExact(reference, run, run.failed);
}

/** What an event loop was like, beside the same load without any lock: (c). */
export function sayLateness(who, { medianMs, worstMs }, without) {
  say(
    `  ${who} never blocked: while it waited for locks, its other work went on. A timer fired`,
    `  ${fixed(medianMs)} ms late as a rule and ${bold(`${fixed(worstMs)} ms late at worst`)}. Most of that is the wait for a processor: there are`,
    `  fewer of them than threads. In (c), with no lock to wait for, it was ${fixed(without.worstMs)} ms.`,
  );
}

function sayUnlocked(name, reference, run) {
  const difference = compare(reference.words, run.words);
  const [lost, words] = difference.equal
    ? ['nothing lost this time:', 'luck, for nothing prevents it']
    : describe(reference, difference);
  say(`  ${name.padEnd(10)} ${difference.equal ? lost : bad(lost)}`, `  ${''.padEnd(10)} ${words}`);
}

export function sayLosses(reference, native, node) {
  say('', bold('(c) The same without locks'));
  sayUnlocked('C', reference, native);
  sayUnlocked('Node', reference, node);
}

export function sayTop({ words }) {
  const top = [...words].sort(([, a], [, b]) => b - a).slice(0, TOP_WORDS);
  const width = Math.max(...top.map(([word]) => word.length));
  const cells = top.map(([word, n]) => `${word.padEnd(width)} ${dim(count(n).padStart(9))}`);
  const half = Math.ceil(cells.length / 2);
  say('', bold('Top words'));
  for (let i = 0; i < half; i++) say(`  ${cells[i]}     ${cells[i + half] ?? ''}`.trimEnd());
}

export function sayMeaning({ occurrences }, native, node) {
  const met = sum([...native.agents, ...node.agents], 'contended');
  const longest = Math.max(...[...native.agents, ...node.agents].map(({ longestUs }) => longestUs));
  say(
    '',
    bold('What this shows'),
    `  ${native.mutexes} mutexes of 8 bytes guard the table, and each word takes one: ${fixed((2 * occurrences) / 1e6)} million locks in (a) and (b).`,
    `  ${count(met)} times somebody else held it ("contended"); a thread that had to sleep ("waits") was woken,`,
    `  after ${milliseconds(longest)} at the latest. No word was lost, and afterwards each mutex is zero, as before its first use.`,
    '  The very same locks served C threads that block, an event loop in C, C as WebAssembly, JavaScript’s workers',
    '  and a main thread that must not block: a pthread mutex would have blocked the two event loops, which a web',
    '  page forbids, and a lock of JavaScript’s own would not have kept C out.',
    '  In (c) two agents read the same count and one addition is gone, or give two words one place and one is gone.',
  );
}
