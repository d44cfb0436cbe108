/**
 * certify.js EXPLORER [--damages N] [--most PAIRS] [OPTION...]: makes the proofs of a primitive
 * (`explore-NAME --prove`), and has check.js verify what each of them rests on. Then it damages
 * these certificates in one place at a time, and check.js must refuse each: without a pair, without
 * a mark, with a mark more, and without a move of a thread. Of a small certificate all pairs and
 * marks are removed. What else is damaged is drawn by chance, always the same: N of each kind at
 * least. Proofs of more pairs than PAIRS are not checked.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { IDLE, read, Refused } from './certificate.js';
import { Checker } from './check.js';
import { checkTable } from './table.js';

/** Pairs of a certificate that counts as small. */
const SMALL = 1000;
/** Damages of each kind are so many that together their certificates have this many pairs. */
const PAIRS = 60_000;
/** So many moves take as long to check as one pair. */
const MOVES_OF_A_PAIR = 4;
const MOST_DAMAGES = 12;

/** Of each pair's marks: certificate.h. */
const COLUMNS = 3;
const PLEDGES = 255;
const bitsOf = (mask, column) =>
  Array.from({ length: 32 }, (_, i) => [1 << i, column]).filter(([bit]) => mask & bit);

const WITHOUT_MOVE = 'without a move of a thread';

let seed = 1;
function drawn(below) {
  seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
  return Math.floor((seed / 0x80000000) * below);
}

/** Whether the check refuses the certificate while this number of an array is another one. */
function isRefusedWith(check, { array, at, other }) {
  const original = array[at];
  array[at] = other;
  try {
    check();
    console.log(`     accepted, although number ${at} is ${other} and not ${original}`);
    return false;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return true;
  } finally {
    array[at] = original;
  }
}

/** What is done to the certificate: each kind by its name, as numbers that become others. */
function damagesOf(checker, least) {
  const { marks, moves, firstMoves, terms } = checker;
  const count = marks.length / COLUMNS;
  const size = count + terms.rows.moves[0] / MOVES_OF_A_PAIR;
  const many = Math.max(least, Math.min(MOST_DAMAGES, Math.floor(PAIRS / size)));
  const draw = (count, damage) => {
    for (let tries = 0; tries < 10_000; tries++) {
      const drawnDamage = damage(drawn(count));
      if (drawnDamage) return [drawnDamage];
    }
    return [];
  };
  const draws = (count, damage, length = many) =>
    Array.from({ length }, () => draw(count, damage)).flat();
  const withoutPair = (pair) => ({ array: marks, at: COLUMNS * pair, other: 0 });
  /** The pledges that it keeps, and the claims by which it is covered and obliged. */
  const bits = [
    ...bitsOf(terms.areKeepers ? 2 * PLEDGES : 0, 0),
    ...bitsOf(terms.claims, 1),
    ...bitsOf(terms.claims, 2),
  ];
  const flipped = (isRight) => (number) => {
    const [bit, column] = bits[number % bits.length];
    const at = COLUMNS * Math.floor(number / bits.length) + column;
    const other = marks[at] ^ bit;
    return isRight(other, marks[at]) && { array: marks, at, other };
  };
  const without = flipped((other, mark) => other < mark);
  const all = (count, damage) => Array.from({ length: count }, (_, i) => damage(i)).filter(Boolean);
  const some = count <= SMALL ? all : draws;
  const withoutMove = (pair) => {
    const agent = checker.agentAt(pair);
    const at = 4 * firstMoves[pair] + 3;
    const isThread =
      agent.blocks && agent.doing !== IDLE && firstMoves[pair] < firstMoves[pair + 1];
    return isThread && { array: moves, at, other: moves[at] & ~15 };
  };
  return {
    'without a pair': some(count, withoutPair, many || 1),
    'without a mark': some(count * bits.length, without),
    'with a mark more': draws(
      count * bits.length,
      flipped((other, mark) => other > mark),
    ),
    [WITHOUT_MOVE]: draws(count, withoutMove),
  };
}

/** Whether the certificate in this file is accepted, and refused when it is damaged. */
function isRight(file, least) {
  const start = process.cpuUsage();
  const certificate = read(readFileSync(file));
  rmSync(file);
  const checker = new Checker(certificate);
  const moves = checkTable(certificate);
  const pairs = checker.check();
  const { user, system } = process.cpuUsage(start);
  const seconds = ((user + system) / 1e6).toFixed(2);
  console.log(`     accepted: ${pairs} pairs, ${moves} moves, ${seconds} s`);
  const told = [];
  let isAllRefused = true;
  for (const [kind, damages] of Object.entries(damagesOf(checker, least))) {
    const check = kind === WITHOUT_MOVE ? () => checkTable(certificate) : () => checker.check();
    const refused = damages.filter((damage) => isRefusedWith(check, damage)).length;
    isAllRefused &&= refused === damages.length;
    told.push(`${refused} of ${damages.length} ${kind}`);
  }
  console.log(`     refused: ${told.join(', ')}`);
  return isAllRefused;
}

const [explorer, ...options] = process.argv.slice(2);
const numberOf = (name, otherwise) =>
  options[0] === name ? Number(options.splice(0, 2)[1]) : otherwise;
const least = numberOf('--damages', 0);
const most = numberOf('--most', Infinity);
const folder = mkdtempSync(join(tmpdir(), 'lockword-'));
try {
  const prefix = join(folder, 'proof');
  const prover = spawn(explorer, ['--prove', '--certificates', prefix, ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(prover, 'close');
  let areRight = true;
  for await (const line of createInterface({ input: prover.stdout })) {
    console.log(line);
    const [, number, pairs] = /^ *(\d+) .* (\d+) +\d+ +[\d.]+ +proved/.exec(line) ?? [];
    const file = `${prefix}-${number}`;
    if (pairs > most) rmSync(file);
    else if (pairs && !isRight(file, least)) areRight = false;
  }
  const [status] = await closed;
  process.exitCode = status === 0 && areRight ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true });
}
