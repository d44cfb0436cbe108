/**
 * certificate.js: what is in a certificate (certificate.h), and what follows from an agent's state
 * alone. For check.js and table.js.
 */

/** Ids: the agent itself, and two that stand for all others. Pairs name only the first of these. */
export const [ME, OTHER, ANOTHER] = [2, 3, 4];
export const [IDLE, CALLING, RUNNING, , GOING_TO_SLEEP, ASLEEP] = [0, 1, 2, 3, 4, 5];
export const [NOT_QUEUED, QUEUED, NOTIFIED] = [0, 1, 2];
export const [WAIT, WAIT_BRIEF, RETRY] = [5, 7, 9];
export const OK = 1;
export const ALL = 0xffffffff;
const [IS_DUE, IS_TO_TURN] = [1, 2];
const NOWHERE = -1;

export class Refused extends Error {
  name = 'Refused';
}

/** The certificate in these bytes: its terms, and its arrays by their names. */
export function read(bytes) {
  const length = bytes.readUInt32LE(0);
  const certificate = { terms: JSON.parse(bytes.toString('utf8', 4, 4 + length)) };
  let at = bytes.byteOffset + 4 + length;
  for (const [name, [rows, columns]] of Object.entries(certificate.terms.rows)) {
    certificate[name] = new Uint32Array(bytes.buffer, at, rows * columns);
    at += 4 * rows * columns;
  }
  return certificate;
}

export class Certificate {
  constructor({ terms, words, agents, pairs, firstMoves, moves, notes, marks }) {
    const rowsOf = (array, [rows, columns]) =>
      Array.from({ length: rows }, (_, i) => [...array.subarray(i * columns, (i + 1) * columns)]);
    Object.assign(this, { terms, pairs, firstMoves, moves, marks });
    this.words = rowsOf(words, terms.rows.words);
    this.agents = rowsOf(agents, terms.rows.agents).map((row) => this.agentOf(row));
    this.notes = rowsOf(notes, terms.rows.notes);
  }

  wordsNumber = (pair) => this.pairs[5 * pair];
  agentNumber = (pair) => this.pairs[5 * pair + 1];
  has = (pair, fact) => (this.pairs[5 * pair + 2] & fact) !== 0;
  held = (pair) => this.pairs[5 * pair + 3];
  heldByAll = (pair) => this.pairs[5 * pair + 4];
  is = (pair, mark) => (this.marks[pair] & mark) !== 0;
  wordsOf = (pair) => this.words[this.wordsNumber(pair)];
  agentAt = (pair) => this.agents[this.agentNumber(pair)];

  demand(holds, what, ...pairs) {
    if (!holds) this.refuse(what, pairs);
  }

  refuse(what, pairs) {
    const shown = (pair) =>
      `${this.wordsOf(pair).join()} ${JSON.stringify(this.agentAt(pair).shown)}`;
    throw new Refused(`${what}: ${pairs.map(shown).join(' → ')}`);
  }

  /** The agent's own columns by name; where it waits, and whether it will do something. */
  agentOf(row) {
    const { columns, callersColumns, kinds, isCrowd, briefsEnd, words } = this.terms;
    const named = (names, at) => Object.fromEntries(names.map((name, i) => [name, row[at + i]]));
    const a = named(columns, 0);
    const { async, polls } = kinds[a.kind];
    const at = (caller) => columns.length + caller * callersColumns.length;
    a.callers = async.map((_, caller) => named(callersColumns, at(caller)));
    const blocks = a.doing === IDLE ? !async.includes(true) : !async[a.caller];
    const asleepAt = a.doing === ASLEEP ? a.word : NOWHERE;
    const queuedAt = a.pending === QUEUED && !polls ? a.pendingWord : NOWHERE;
    const waits = asleepAt !== NOWHERE || queuedAt !== NOWHERE;
    const isBrief = briefsEnd && a.way === WAIT_BRIEF;
    const lineIsBrief = briefsEnd && a.inBrief !== 0;
    const line = [0, 8, 16, 24].slice(0, a.inLine).map((shift) => (a.line >> shift) & 255);
    const isCalled = (caller) => a.doing !== IDLE && a.caller === caller;
    const willRun = a.toRun | ((a.why & 3) === 3 ? a.alike : 0);
    const lineWaits = isCrowd
      ? line.some((caller) => !isCalled(caller) && !((willRun >> caller) & 1))
      : line.length > 0 && !line.some(isCalled);
    const lineSleepsAt =
      lineWaits && !(a.handing & IS_TO_TURN) && !lineIsBrief ? queuedAt : NOWHERE;
    const sleepsAt = Array.from(
      { length: words },
      (_, word) => lineSleepsAt === word || (asleepAt === word && !isBrief),
    );
    const isTold =
      (a.handing & (IS_DUE | IS_TO_TURN)) !== 0 || a.pending === NOTIFIED || lineIsBrief;
    const loopActs = isTold || (a.pending === QUEUED && polls);
    const acts = a.doing === IDLE ? loopActs : a.doing !== ASLEEP || isBrief;
    return {
      ...a,
      shown: a,
      row,
      blocks,
      polls,
      asleepAt,
      queuedAt,
      sleepsAt,
      acts,
      waits,
      woken: [],
      fresh: [],
    };
  }

  /** The words, and the ghosts behind them, with other agents' names. */
  rename(row, to) {
    const { ids, words, agentsGhosts } = this.terms;
    return row.map((value, i) => {
      const isGhost = i >= words && (agentsGhosts >> (i - words)) & 1;
      const id = isGhost && value ? value + 1 : i < words ? (value & ids[i]) >>> 0 : 0;
      return id in to ? value - id + to[id] : value;
    });
  }

  generation = (row, word) => (row[word] & this.terms.generations[word]) >>> 0;
  /** The generation in this value of a word, and what it says of those before: others see none. */
  ownPart = (value, word) =>
    (value & (this.terms.generations[word] | this.terms.histories[word])) >>> 0;
  withoutGenerations = (row) =>
    row.map((value, i) => (i < this.terms.words ? value - this.ownPart(value, i) : value));

  /** What the run does next, but for loads of words that have no generation. */
  doneBy(run) {
    const { does, to } = this.terms.runs[run];
    const isBlind = does[0] === 'load' && !this.terms.generations[does[1]];
    return isBlind ? Object.values(to).flatMap((next) => this.doneBy(next)) : [does];
  }

  /** The agent may still compare the word with this generation. */
  knows({ doing, value, callers }, word, generation) {
    const runs = doing === RUNNING ? this.doneBy(value) : [];
    const next = doing === RUNNING ? [0, ...runs.flatMap((does) => does.slice(2))] : [value];
    const known = [...callers.map(({ wanted }) => wanted), ...next];
    return known.some((number) => (number & this.terms.generations[word]) >>> 0 === generation);
  }
}
