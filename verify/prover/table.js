/**
 * table.js: compares a certificate's table of moves, which check.js takes for what an agent may do
 * next, with its table of steps (`runs`: which operation a call does next, given the results that
 * it has had, and what it returns), and with what threads do in between, which is said here again.
 */
import {
  ALL,
  ANOTHER,
  ASLEEP,
  CALLING,
  Certificate,
  ENDS_CALL,
  GOING_TO_SLEEP,
  helpOf,
  IDLE,
  ME,
  NOTIFIES_OWN,
  OK,
  OTHER,
  OWED,
  RETRY,
  RUNNING,
  VERSIONS,
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
    this.versions = this.words.map((row) => this.versionsOf(row));
    this.outcomes = new Map();
  }

  /** The words alone, without ghosts and generations; with one name for others, and one count. */
  plain(row) {
    const renamed = this.rename(row, { [ANOTHER]: OTHER }).slice(0, this.terms.words);
    return this.withMany(this.withoutGenerations(renamed), 2).join();
  }

  /** If there were two or more, and there is one, there may still be two or more. */
  plainsOf(before, after) {
    const { counts } = this.terms;
    const mayBeMore = counts.map(
      (bits, word) => this.isMany(before[word], word) && !this.isMany(after[word], word),
    );
    const more = after.map((value, word) =>
      mayBeMore[word] ? value + (counts[word] & -counts[word]) : value,
    );
    return [...new Set([after, more].map((row) => this.plain(row)))];
  }

  /** What an operation may make of these words; the results that it may have, twice, plus `own`. */
  outcomeOf(pair, version, run) {
    const [kind, word, a, b] = this.terms.runs[run].does;
    const own = kind === 'notify' && this.agentAt(pair).queuedAt === word ? 1 : 0;
    const key =
      ((this.wordsNumber(pair) * VERSIONS + version) * 2 + own) * this.terms.runs.length + run;
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
      this.outcomes.set(key, { before, after, plains: this.plainsOf(before, after), results });
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
    const { isKnown } = this.terms.functions[called];
    const mayBe = (reason, help) =>
      this.terms.with & help && !isKnown ? [call(reason, help)] : [];
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

  /**
   * The run is to load which agent has something, and it matters only whether it is this agent: no
   * other changes that. So it is as good as the run that has done so.
   */
  lookedUp(run, words) {
    const { does, to } = this.terms.runs[run] ?? { does: [] };
    if (!this.terms.forgets || does[0] !== 'load' || this.terms.ids[does[1]] !== ALL) return run;
    const others = Object.keys(to).filter((id) => Number(id) !== ME);
    const next = new Set(others.map((id) => this.terms.runs[to[id]].does.join()));
    const id = words[does[1]] === ME ? ME : others[0];
    return next.size === 1 && id in to ? this.lookedUp(to[id], words) : run;
  }

  /**
   * Where runs forget, the other run may stand for this one: it does the same next; or it is to
   * look at the word that this one is to compare and swap, and then does the same, if it finds what
   * this one expects. What they do after that is not compared here.
   */
  isAsGood(run, other, words) {
    const { forgets, runs } = this.terms;
    const doesNext = (one) => runs[one]?.does.join();
    const [kind, word, a] = runs[run].does;
    const looks = runs[other].does;
    const isLook =
      looks[1] === word && (looks[0] === 'load' || (looks[0] === 'cas' && looks[2] !== a));
    const found = isLook && this.lookedUp(runs[other].to[a], words);
    return (
      run === other ||
      (forgets && doesNext(run) === doesNext(other)) ||
      (forgets && kind === 'cas' && doesNext(run) === doesNext(found))
    );
  }

  /** A call goes on with this run, or has returned. What a line does then is the model's. */
  goesOn(before, after, words, run, ends) {
    const { does } = this.terms.runs[run] ?? { does: [] };
    const [kind, what, word, phase, expected] = does;
    const waits = does.length === 5 && what >= WAIT;
    if (ends !== (kind === 'return' && !waits)) return false;
    if (kind !== 'return') return after.doing === RUNNING && this.isAsGood(run, after.value, words);
    if (!before.blocks) return true;
    if (!waits) return after.doing === IDLE;
    if (after.callers[after.caller].phase !== (phase & this.terms.phases)) return false;
    if (what === RETRY) return after.doing === CALLING && after.why === before.why;
    const at = this.terms.functions[after.function].firstWord + word;
    const { doing, value, way } = after;
    return doing === GOING_TO_SLEEP && value === expected && way === what && after.word === at;
  }

  /** Its operations have all results that they may have, and no others; and lead to all words. */
  checkResults(pair, version, results) {
    for (const [run, had] of results) {
      const outcome = { ...this.outcomeOf(pair, version, run) };
      const [kind, word, a] = this.terms.runs[run].does;
      const value = this.versions[this.wordsNumber(pair)][version][word];
      const isKnown = kind === 'cas' && this.ownPart(a, word) === this.ownPart(value, word);
      const isRead = this.terms.histories[word] && (kind === 'load' || kind === 'cas');
      if (isRead && !isKnown)
        outcome.results = this.valuesOf(pair, value, word).map((other) => 2 * other);
      const isWithin = !this.terms.isBounded || this.known.has(outcome.plains[0]);
      const isHad = (result) => outcome.plains.every((plain) => had.has(`${result} ${plain}`));
      const isComplete = outcome.results.every((result) => isHad(result) || !isWithin);
      const isPossible = [...had].every((key) => outcome.results.includes(parseInt(key, 10)));
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
    const swaps = doing === RUNNING ? [this.doneBy(next, this.wordsOf(to))] : [];
    const compared =
      doing === GOING_TO_SLEEP
        ? [next]
        : swaps.filter(([kind]) => kind === 'cas').map((does) => does[2]);
    const isCompared = compared.some((other) => this.ownPart(other, word) === real);
    const knows = (generation) => this.knows(agent, this.wordsOf(to), word, generation);
    const isUnknown = !knows(is) && (isTurned || !knows(was));
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

  /**
   * A generation that the agent begins is one that it does not know. Others stay; or, where runs
   * forget, one that it does not know becomes another one that it does not know.
   */
  isGenerationRight(before, after, to, run) {
    const agent = this.agentAt(to);
    const knowing = agent.doing === RUNNING ? { ...agent, value: run } : agent;
    return this.terms.generations.every((_, word) => {
      if (this.terms.histories[word]) return true;
      const [one, other, then] = [before, after, this.wordsOf(to)].map((row) =>
        this.generation(row, word),
      );
      if (one === other && then === one) return true;
      const knows = (generation) => this.knows(knowing, this.wordsOf(to), word, generation);
      return (one !== other || (this.terms.forgets && !knows(one))) && !knows(then);
    });
  }

  checkMoves(pair, version) {
    const agent = this.agentAt(pair);
    const words = this.versions[this.wordsNumber(pair)][version];
    const still = { before: words, after: words, plains: [this.plains[this.wordsNumber(pair)]] };
    const results = new Map(agent.doing === RUNNING ? [[agent.value, new Set()]] : []);
    if (agent.doing === CALLING && agent.blocks) {
      const { wanted, phase } = agent.callers[agent.caller];
      const { label } = this.terms.functions[agent.function];
      results.set(this.begins.get([label, wanted, agent.why, phase].join()), new Set());
    }
    let left = agent.blocks ? this.movesOfThread(agent, words) : [];
    for (let move = this.firstMoves[pair]; move < this.firstMoves[pair + 1]; move++) {
      const { to, run, result, how } = this.moveAt(move);
      if (!((how >> version) & 1)) continue;
      const after = this.agentAt(to);
      const help = helpOf(how);
      const outcome = run ? this.outcomeOf(pair, version, run - 1) : still;
      const plain = this.plains[this.wordsNumber(to)];
      this.demand(outcome.plains.includes(plain), 'other words', pair, to);
      const next = run && this.terms.runs[run - 1].to[result];
      const isRight = this.isGenerationRight(outcome.before, outcome.after, to, next);
      const isPast = this.areHistoriesRight(pair, to, run - 1, result);
      this.demand(isRight && isPast, 'another generation', pair, to);
      const differs = (wanted) => (key) => wanted[key] !== (key === 'help' ? help : after[key]);
      left = left.filter((wanted) => Object.keys(wanted).some(differs(wanted)));
      if (!run) continue;
      const ends = (how & ENDS_CALL) !== 0;
      const goesOn = [next, this.lookedUp(next, outcome.after)].some((then) =>
        this.goesOn(agent, after, outcome.after, then, ends),
      );
      this.demand(goesOn && !(agent.doing === RUNNING && help), 'goes on otherwise', pair, to);
      const had = results.get(run - 1) ?? new Set();
      results.set(run - 1, had.add(`${2 * result + (how & NOTIFIES_OWN ? 1 : 0)} ${plain}`));
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

  /** No agent runs for ever, alone, without help, in no call that ends; other than by polling. */
  checkAlone(version) {
    const { moves, firstMoves } = this;
    const count = this.terms.rows.pairs[0];
    const isPolling = (pair) => this.agentAt(pair).polls && this.has(pair, OWED);
    const isAlone = (how) => !helpOf(how) && !(how & ENDS_CALL) && (how >> version) & 1;
    const next = firstMoves.slice(0, count);
    const [isBegun, isDone] = [0, 1].map(() => new Uint8Array(count));
    for (let first = 0; first < count; first++) {
      const path = isBegun[first] ? [] : [first];
      isBegun[first] = 1;
      while (path.length > 0) {
        const pair = path[path.length - 1];
        if (next[pair] === firstMoves[pair + 1]) {
          isDone[pair] = 1;
          path.pop();
          continue;
        }
        const move = next[pair]++;
        const to = moves[4 * move];
        if (!isAlone(moves[4 * move + 3]) || isPolling(to)) continue;
        this.demand(!isBegun[to] || isDone[to], 'runs for ever', pair, to);
        if (!isBegun[to]) path.push(to);
        isBegun[to] = 1;
      }
    }
  }

  /**
   * When others change the words, what the agent's callers note may change, and its run may become
   * one that is as good; and nothing else.
   */
  checkNotes() {
    const noted = ['flags', 'rest'];
    const known = new Map();
    for (const [words, turned, agent, to] of this.notes) {
      const [one, other] = [agent, to].map((number) => this.agents[number]);
      const isForgotten =
        one.doing === RUNNING && this.isAsGood(one.value, other.value, this.words[words]);
      const rest = ({ shown }) =>
        JSON.stringify(shown, (key, value) =>
          noted.includes(key) || (isForgotten && key === 'value') ? 0 : value,
        );
      this.demand(rest(one) === rest(other), 'others change more than notes');
      const key = [words, turned, agent].join();
      this.demand((known.get(key) ?? to) === to, 'others change notes in two ways');
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
      const rows = this.versions[this.wordsNumber(pair)].map((row) => row.join());
      for (let version = 0; version < VERSIONS; version++)
        if (rows.indexOf(rows[version]) === version) this.checkMoves(pair, version);
    }
    const isCounted = this.terms.counts.some(Boolean);
    for (let version = 0; version < (isCounted ? VERSIONS : 2); version++) this.checkAlone(version);
    return rows.moves[0];
  }
}

/** Returns how many moves there are; throws if one is missing or wrong. */
export const checkTable = (certificate) => new Table(certificate).check();
