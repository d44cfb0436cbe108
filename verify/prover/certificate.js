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
/** The bits that say how a move reads the words; and those of the rest of how it is. */
export const VERSIONS = 4;
export const [ENDS_CALL, NOTIFIES_OWN] = [16, 32];
export const helpOf = (how) => how >>> 6;
/** What the primitive says of a pair. */
export const [NEEDED, OWED, MARKED, MAY_SLEEP] = [1, 2, 8, 32];
const [TOGETHER, BOUND, PLEDGED, MAY_KEEP] = [4, 16, 8, 16];
/** The claims about a word, one bit each. */
const [ABOUT_TO_SLEEP, ASLEEP_TOGETHER, ALL_SLEEPERS] = [1, 2, 4];
export const CLAIMS = 3;
const BRIEFS = 16;
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
    this.counted = terms.counts.findIndex(Boolean);
  }

  wordsNumber = (pair) => this.pairs[5 * pair];
  agentNumber = (pair) => this.pairs[5 * pair + 1];
  has = (pair, fact) => (this.pairs[5 * pair + 2] & fact) !== 0;
  held = (pair) => this.pairs[5 * pair + 3];
  heldByAll = (pair) => this.pairs[5 * pair + 4];
  /** The tokens of the agent, and of all agents. */
  tokens = (pair) => this.agentAt(pair).tokens;
  tokensOfAll = (pair) =>
    this.terms.token ? this.wordsOf(pair)[this.terms.words + this.terms.tokens] : 0;
  isPair = (pair) => (this.marks[3 * pair] & 1) !== 0;
  keptBy = (pair) => this.marks[3 * pair] >>> 1;
  covered = (pair) => this.marks[3 * pair + 1];
  obliged = (pair) => this.marks[3 * pair + 2];
  /** The pledges that stand, if they have keepers; and those that the agent may keep. */
  pledges = (pair) => (this.terms.areKeepers ? (this.pairs[5 * pair + 2] >>> PLEDGED) & 255 : 0);
  mayKeep = (pair) => this.pairs[5 * pair + 2] >>> MAY_KEEP;
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
    const { columns, callersColumns, kinds, isCrowd, briefsEnd, token, words } = this.terms;
    const named = (names, at) => Object.fromEntries(names.map((name, i) => [name, row[at + i]]));
    const a = named(columns, 0);
    const { async, polls } = kinds[a.kind];
    const at = (caller) => columns.length + caller * callersColumns.length;
    a.callers = async.map((_, caller) => named(callersColumns, at(caller)));
    const blocks = a.doing === IDLE ? !async.includes(true) : !async[a.caller];
    const asleepAt = a.doing === ASLEEP ? a.word : NOWHERE;
    const goesTo = a.doing === GOING_TO_SLEEP ? a.word : NOWHERE;
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
    const tokens = a.callers.filter(({ flags }) => flags & token).length;
    const { kind, doing, function: called, why, caller, word, way, value, inLine, pending } = a;
    // Their names are written out, so that engines know that all agents have the same ones.
    return {
      kind,
      doing,
      function: called,
      why,
      caller,
      word,
      way,
      value,
      inLine,
      pending,
      callers: a.callers,
      shown: a,
      row,
      blocks,
      polls,
      asleepAt,
      goesTo,
      queuedAt,
      sleepsAt,
      acts,
      waits,
      tokens,
      woken: [],
    };
  }

  moveAt(move) {
    const { moves } = this;
    const at = 4 * move;
    return { to: moves[at], run: moves[at + 1], result: moves[at + 2], how: moves[at + 3] };
  }

  /** By how much more there is than before. A count that stands for more tells it by its change. */
  given(pair, to, word, a, b) {
    if (this.counted < 0) return this.heldByAll(to) - this.heldByAll(pair);
    const bits = word === this.counted ? this.terms.counts[word] : 0;
    return bits && (((b & bits) >>> 0) - ((a & bits) >>> 0)) / (bits & -bits);
  }

  /** How many tokens are passed on, if those of all are as many as agents hold. */
  passed(pair, to) {
    const [before, after] = [this.tokensOfAll(pair), this.tokensOfAll(to)];
    return after ? this.tokens(pair) - this.tokens(to) + after - before : -this.tokens(to);
  }

  /** It can do something without help; or by the end of a brief wait, if that is counted on. */
  canAct(pair) {
    for (let move = this.firstMoves[pair]; move < this.firstMoves[pair + 1]; move++) {
      const help = helpOf(this.moves[4 * move + 3]);
      if (!help || (this.terms.briefsEnd && help === BRIEFS)) return true;
    }
    return false;
  }

  /** The columns of this agent, woken at the word; and given a token, if one is passed. */
  wokenAt({ row, asleepAt, queuedAt, caller }, word, passed) {
    const { columns, callersColumns, token } = this.terms;
    const flags = columns.length + caller * callersColumns.length + callersColumns.indexOf('flags');
    const wakes = { doing: CALLING, why: OK, word: 0, way: 0, value: 0 };
    const isTold = queuedAt === word ? { pending: NOTIFIED } : {};
    const changes = { ...(asleepAt === word ? wakes : {}), ...isTold };
    return row.map((value, i) =>
      i === flags && passed ? value | token : (changes[columns[i]] ?? value),
    );
  }

  /** The claims that are about this pair. The last one is about no agent that is due by another. */
  sleepers(pair) {
    const { areTogether, claims, generations, isBoundKnown, words } = this.terms;
    const { asleepAt, doing, goesTo, sleepsAt, value } = this.agentAt(pair);
    const [isTogether, isBound] = [this.has(pair, TOGETHER), this.has(pair, BOUND)];
    let all = 0;
    for (let word = 0; word < words; word++) {
      const isAsleep = asleepAt === word;
      const goes = goesTo === word && this.wordsOf(pair)[word] === value;
      const isAboutTo =
        areTogether &&
        generations[word] !== 0 &&
        (isBoundKnown ? isBound && doing !== ASLEEP : goes);
      let bits = isTogether && (isAboutTo || (isBound && isAsleep)) ? ABOUT_TO_SLEEP : 0;
      bits |= isTogether && isAsleep ? ASLEEP_TOGETHER : 0;
      bits &= claims >> (CLAIMS * word);
      const isDue = bits & ~(this.covered(pair) >> (CLAIMS * word));
      if ((sleepsAt[word] || isAboutTo) && !isDue) bits |= ALL_SLEEPERS;
      all |= bits << (CLAIMS * word);
    }
    return all;
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

  /** These words with the generations of others; or new ones, whose numbers are less by one. */
  withGenerations(row, others, fresh) {
    return row.map((value, word) => {
      const bits = this.terms.generations[word];
      if (!bits) return value;
      const old = this.ownPart(others[word], word);
      return value + (fresh[word] ? (fresh[word] - 1) * (bits & -bits) : old);
    });
  }

  /** What the run does next, but for loads of words that have no generation; beside these words. */
  doneBy(run, words) {
    const { does, to } = this.terms.runs[run];
    const isBlind = does[0] === 'load' && !this.terms.generations[does[1]];
    return isBlind ? this.doneBy(to[words[does[1]]], words) : does;
  }

  /** The agent may still compare the word with this generation. */
  knows({ doing, value, callers }, words, word, generation) {
    const { forgets, generations, runs } = this.terms;
    const isGeneration = (number) => (number & generations[word]) >>> 0 === generation;
    if (callers.some(({ wanted }) => isGeneration(wanted))) return true;
    if (doing !== RUNNING) return isGeneration(value);
    const does = this.doneBy(value, words);
    const next = does.slice({ 2: 1, 5: 4 }[does.length] ?? 2);
    const isFound = ([at, number]) => at === word && isGeneration(number);
    return (
      generation === 0 || next.some(isGeneration) || (forgets && runs[value].knows.some(isFound))
    );
  }

  /** Two or more stand for all that are more. */
  isMany = (value, word) => {
    const bits = this.terms.counts[word];
    return (value & bits) >>> 0 > (bits & -bits) >>> 0;
  };
  withMany = (row, many) =>
    row.map((value, word) => {
      const bits = this.terms.counts[word];
      return bits && this.isMany(value, word)
        ? ((value & ~bits) | ((bits & -bits) * many)) >>> 0
        : value;
    });
  /** The ways to read these words: which other one they name, and how many there are. */
  versionsOf(row) {
    const named = [row, this.rename(row, { [OTHER]: ANOTHER })];
    return [...named, ...named.map((version) => this.withMany(version, 3))];
  }
}
