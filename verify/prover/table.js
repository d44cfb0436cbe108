/**
 * table.js FILE...: compares a certificate's table of moves, which check.js takes for what an agent
 * may do next, with its table of steps (`runs`: which operation a call does next, given the results
 * that it has had, and what it returns), and with what threads do in between, which is said here
 * again.
 */
import { readFileSync } from 'node:fs';

import {
  ALL,
  ANOTHER,
  ASLEEP,
  CALLING,
  Certificate,
  GOING_TO_SLEEP,
  IDLE,
  ME,
  OK,
  OTHER,
  read,
  RETRY,
  RUNNING,
  WAIT,
  WAIT_BRIEF,
} from './certificate.js';

const DONE = 0;
const [START, NOT_EQUAL, TIMED_OUT, SLICE, AGAIN, CANCELLED] = [0, 2, 3, 4, 5, 7];
/** LW_OWES, in a phase: the caller may have been woken before. */
const OWES = 1;
const [SPURIOUS, TIMEOUTS, CANCELS, SLICES, BRIEFS, RECHECK] = [1, 2, 4, 8, 16, 512];

class Table extends Certificate {
  constructor(certificate) {
    super(certificate);
    this.begins = new Map(
      this.terms.runs.flatMap((run, i) => (run.begins ? [[run.begins.join(), i]] : [])),
    );
    this.plains = this.words.map((row) => this.plain(row));
    this.known = new Set(this.plains);
    this.versions = this.words.map((row) => [row, this.rename(row, { [OTHER]: ANOTHER })]);
    this.outcomes = new Map();
  }

  /** The words alone, without ghosts and generations, and with one name for all others. */
  plain(row) {
    const renamed = this.rename(row, { [ANOTHER]: OTHER }).slice(0, this.terms.words);
    return this.withoutGenerations(renamed).join();
  }

  /** What an operation makes of these words; the results that it may have, twice, plus `own`. */
  outcomeOf(pair, version, run) {
    const [kind, word, a, b] = this.terms.runs[run].does;
    const own = kind === 'notify' && this.agentAt(pair).queuedAt === word ? 1 : 0;
    const key = ((this.wordsNumber(pair) * 2 + version) * 2 + own) * this.terms.runs.length + run;
    if (!this.outcomes.has(key)) {
      const before = this.versions[this.wordsNumber(pair)][version];
      const changes = kind === 'store' || (kind === 'cas' && before[word] === a);
      const change = (value, i) => (changes && i === word ? (kind === 'cas' ? b : a) : value);
      const after = before.map(change);
      const [from, to] = [before, after].map((row) => (row[word] & this.terms.ids[word]) >>> 0);
      const isLegal = from === to || (from === 0 && to === ME) || (from === ME && to === 0);
      this.demand(isLegal && kind !== 'return', 'takes or frees what it must not', pair);
      const result = kind === 'store' ? a : before[word];
      const results = kind === 'notify' ? this.woken(a, own) : [2 * result];
      this.outcomes.set(key, { before, after, plain: this.plain(after), results });
    }
    return this.outcomes.get(key);
  }

  /** How many a notify of n may wake: others, and the agent's own line, if that is queued. */
  woken(n, isQueued) {
    const results = [];
    for (let own = 0; own <= Math.min(isQueued, n); own++)
      for (let others = 0; others <= (n === ALL ? 2 : n - own); others++)
        if (own === isQueued || own + others === n) results.push(2 * (own + others) + own);
    return results;
  }

  /** What a thread does next, other than operations. */
  movesOfThread({ doing, why, caller, function: called, word, way, value }, words) {
    const call = (reason, help) => ({
      doing: CALLING,
      why: reason,
      caller,
      function: called,
      help,
    });
    const mayBe = (reason, help) => (this.terms.with & help ? [call(reason, help)] : []);
    if (doing === CALLING && why === OK) return mayBe(CANCELLED, CANCELS);
    const sleeps = { doing: ASLEEP, caller, function: called, word, way, help: 0 };
    if (doing === GOING_TO_SLEEP)
      return [words[word] === value ? sleeps : call(NOT_EQUAL, 0), ...mayBe(CANCELLED, CANCELS)];
    if (doing !== ASLEEP) return [];
    const slice = way === WAIT_BRIEF ? BRIEFS : way === WAIT ? SLICES : SLICES | RECHECK;
    const spurious = [
      ...mayBe(OK, SPURIOUS),
      ...mayBe(NOT_EQUAL, SPURIOUS),
      ...mayBe(SLICE, slice),
    ];
    return [...spurious, ...mayBe(TIMED_OUT, TIMEOUTS), ...mayBe(CANCELLED, CANCELS)];
  }

  /** A call goes on with this run, or has returned. What a line does then is the model's. */
  goesOn(before, after, run, ends) {
    const { does } = this.terms.runs[run] ?? { does: [] };
    const [kind, what, word, phase, expected] = does;
    const waits = does.length === 5 && what >= WAIT;
    if (ends !== (kind === 'return' && !waits)) return false;
    if (kind !== 'return') return after.doing === RUNNING && after.value === run;
    if (!before.blocks) return true;
    if (!waits) return after.doing === IDLE;
    if (after.callers[after.caller].phase !== phase) return false;
    if (what === RETRY) return after.doing === CALLING && after.why === before.why;
    const at = this.terms.functions[after.function].firstWord + word;
    const { doing, value, way } = after;
    return doing === GOING_TO_SLEEP && value === expected && way === what && after.word === at;
  }

  /** Its operations have all results that they may have, and no others. */
  checkResults(pair, version, results) {
    for (const [run, had] of results) {
      const outcome = { ...this.outcomeOf(pair, version, run) };
      const [kind, word, a] = this.terms.runs[run].does;
      const value = this.versions[this.wordsNumber(pair)][version][word];
      const isKnown = kind === 'cas' && this.ownPart(a, word) === this.ownPart(value, word);
      const isRead = this.terms.histories[word] && (kind === 'load' || kind === 'cas');
      if (isRead && !isKnown)
        outcome.results = this.valuesOf(pair, value, word).map((other) => 2 * other);
      const isWithin = !this.terms.isBounded || this.known.has(outcome.plain);
      const isComplete = outcome.results.every((result) => had.includes(result) || !isWithin);
      const isPossible = had.every((result) => outcome.results.includes(result));
      this.demand(isComplete && isPossible, `has other results of run ${run}`, pair);
    }
  }

  /** With a history that the agent does not remember, a word may hold any of these values. */
  valuesOf(pair, value, word) {
    const { generations, histories, isPast, wasNoted } = this.terms;
    const { callers, caller } = this.agentAt(pair);
    const { flags, wanted } = callers[caller];
    const [latest, one] = [histories, generations].map((bits) => bits[word] & -bits[word]);
    const all = Array.from({ length: histories[word] / latest + 1 }, (_, history) => history);
    if (!(flags & isPast)) return all.map((history) => value + history * latest);
    const agos = Array.from({ length: Math.log2(all.length) + 3 }, (_, ago) => ago);
    return agos.flatMap((ago) => {
      const noted = (1 << ago) & (all.length - 1);
      const generation = (wanted + (ago + 1) * one) & generations[word];
      const rest = value - this.ownPart(value, word) + generation;
      return all.map((any) => rest + (flags & wasNoted ? any | noted : any & ~noted) * latest);
    });
  }

  /**
   * The word, which holds this value after the move, is taken to hold it; or its history is
   * forgotten, and its generation is no other one for the agent.
   */
  isHistoryRight(pair, to, word, value, isTurned) {
    const [before, then] = [pair, to].map((at) => this.wordsOf(at)[word]);
    const [agent, real] = [this.agentAt(to), this.ownPart(value, word)];
    const [was, is] = [before, then].map((held) => held & this.terms.generations[word]);
    if (this.ownPart(then, word) === real) return true;
    const { doing, value: next } = agent;
    const swaps = doing === RUNNING ? this.doneBy(next).filter(([kind]) => kind === 'cas') : [];
    const compared = doing === GOING_TO_SLEEP ? [next] : swaps.map((does) => does[2]);
    const isCompared = compared.some((other) => this.ownPart(other, word) === real);
    const isUnknown = !this.knows(agent, word, is) && (isTurned || !this.knows(agent, word, was));
    const isSame = isUnknown || (!isTurned && is === was);
    return (then & this.terms.histories[word]) === 0 && !isCompared && isSame;
  }

  areHistoriesRight(pair, to, run, result) {
    const [kind, at, a, b] = this.terms.runs[run]?.does ?? [];
    return this.terms.histories.every((bits, word) => {
      const isMeant = at === word && (kind === 'load' || kind === 'cas');
      const changes = isMeant && kind === 'cas' && result === a;
      const value = changes ? b : isMeant ? result : this.wordsOf(pair)[word];
      const isTurned = changes && ((a ^ b) & this.terms.generations[word]) !== 0;
      return !bits || this.isHistoryRight(pair, to, word, value, isTurned);
    });
  }

  /** A generation that the agent begins is one that it does not know; others stay. */
  isGenerationRight(before, after, to) {
    return this.terms.generations.every((_, word) => {
      if (this.terms.histories[word]) return true;
      const [one, other, then] = [before, after, this.wordsOf(to)].map((row) =>
        this.generation(row, word),
      );
      return one === other ? then === one : !this.knows(this.agentAt(to), word, then);
    });
  }

  checkMoves(pair, version) {
    const agent = this.agentAt(pair);
    const words = this.versions[this.wordsNumber(pair)][version];
    const still = { before: words, after: words, plain: this.plains[this.wordsNumber(pair)] };
    const results = new Map(agent.doing === RUNNING ? [[agent.value, []]] : []);
    if (agent.doing === CALLING && agent.blocks) {
      const { wanted, phase } = agent.callers[agent.caller];
      const { label } = this.terms.functions[agent.function];
      results.set(this.begins.get([label, wanted, agent.why, phase].join()), []);
    }
    let left = agent.blocks ? this.movesOfThread(agent, words) : [];
    for (let move = this.firstMoves[pair]; move < this.firstMoves[pair + 1]; move++) {
      const [to, run, result, how] = this.moves.subarray(4 * move, 4 * move + 4);
      if (!((how >> version) & 1)) continue;
      const after = this.agentAt(to);
      const help = how >>> 4;
      const outcome = run ? this.outcomeOf(pair, version, run - 1) : still;
      this.demand(this.plains[this.wordsNumber(to)] === outcome.plain, 'other words', pair, to);
      const isRight = this.isGenerationRight(outcome.before, outcome.after, to);
      const isPast = this.areHistoriesRight(pair, to, run - 1, result);
      this.demand(isRight && isPast, 'another generation', pair, to);
      const differs = (wanted) => (key) => wanted[key] !== (key === 'help' ? help : after[key]);
      left = left.filter((wanted) => Object.keys(wanted).some(differs(wanted)));
      if (!run) continue;
      const next = this.terms.runs[run - 1].to[result];
      const goesOn = this.goesOn(agent, after, next, (how & 4) !== 0);
      this.demand(goesOn && !(agent.doing === RUNNING && help), 'goes on otherwise', pair, to);
      results.set(run - 1, [...(results.get(run - 1) ?? []), 2 * result + ((how >> 3) & 1)]);
    }
    this.demand(left.length === 0, `does not ${JSON.stringify(left)}`, pair);
    this.checkResults(pair, version, results);
  }

  /**
   * No herd: a call that waits, or goes on to wait, has woken no thread at the word. Otherwise it
   * may have woken one if it has changed that word, and is no step or gives up; and one instead of
   * its caller, which may have been woken.
   */
  checkHerd(word) {
    const seen = new Set();
    const paths = this.terms.runs.flatMap(({ begins }, run) => {
      const [, , why, phase] = begins ?? [];
      const wasWoken =
        [OK, SLICE, CANCELLED].includes(why & 15) ||
        ([START, AGAIN].includes(why & 15) && phase & OWES);
      return begins ? [{ run, wasWoken: wasWoken ? 1 : 0, woken: 0, changed: 0 }] : [];
    });
    while (paths.length > 0) {
      const { run, wasWoken, woken, changed } = paths.pop();
      const key = [run, wasWoken, woken, changed].join();
      const { does, to } = this.terms.runs[run];
      const [kind, at, a] = does;
      const isStep = does.length === 5;
      const most = !isStep ? changed : at >= WAIT ? 0 : wasWoken + (at === DONE ? 0 : changed);
      this.demand(woken <= (kind === 'return' ? most : 2), `a herd, by run ${run}`);
      if (kind === 'return' || seen.has(key)) continue;
      seen.add(key);
      for (const [result, next] of Object.entries(to)) {
        const wakes = kind === 'notify' && at === word ? Number(result) : 0;
        const changes = kind === 'cas' && at === word && Number(result) === a;
        const then = { wasWoken, woken: woken + wakes, changed: changes ? 1 : changed };
        paths.push({ run: next, ...then });
      }
    }
  }

  /** When others change the words, flags of the agent's callers may change, and nothing else. */
  checkNotes() {
    const flagless = (number) =>
      JSON.stringify(this.agents[number].shown, (key, value) => (key === 'flags' ? 0 : value));
    const known = new Map();
    for (const [words, turned, agent, to] of this.notes) {
      const key = [this.withoutGenerations(this.words[words]), turned, agent].join();
      this.demand(flagless(agent) === flagless(to), 'others change more than flags');
      this.demand((known.get(key) ?? to) === to, 'others change flags in two ways');
      known.set(key, to);
    }
  }

  check() {
    const { ids, rows } = this.terms;
    // The ids in the words are renamed together.
    for (const row of this.words) {
      const named = ids.map((bits, word) => (row[word] & bits) >>> 0).filter(Boolean);
      this.demand(new Set(named).size <= 1, `names two agents: ${row.join(' ')}`);
    }
    this.checkNotes();
    const isOne = this.terms.kinds.every(({ async }) => async.length === 1);
    this.demand(isOne || !this.terms.histories.some(Boolean), 'whose history');
    if (this.terms.wakesOne) this.checkHerd(this.terms.wakesOne - 1);
    for (let pair = 0; pair < rows.pairs[0]; pair++) {
      const [row, renamed] = this.versions[this.wordsNumber(pair)];
      this.checkMoves(pair, 0);
      if (row.join() !== renamed.join()) this.checkMoves(pair, 1);
    }
    return rows.moves[0];
  }
}

/** Returns how many moves there are; throws if one is missing or wrong. */
export const checkTable = (certificate) => new Table(certificate).check();
