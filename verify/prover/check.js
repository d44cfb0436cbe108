/**
 * check.js FILE...: verifies certificates (`explore-NAME --prove --certificates PREFIX`): that the
 * pairs are all that an agent can meet among any number of others, and that no waiter is stranded.
 *
 * It shares nothing with the prover but the certificate's table of moves: what an agent may do next.
 * table.js compares that with the table of steps. docs/proof.md has the argument, and says what is
 * trusted.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

import {
  ALL,
  ASLEEP,
  CALLING,
  Certificate,
  IDLE,
  ME,
  NOT_QUEUED,
  NOTIFIED,
  OK,
  OTHER,
  read,
} from './certificate.js';
import { checkTable } from './table.js';

/** To others, the agent that moves is another one, and one of them may be the one that is named. */
const AS_OTHERS_SEE_IT = [{ [ME]: OTHER }, { [ME]: OTHER, [OTHER]: ME }];
const BRIEFS = 16;
const [NEEDED, OWED, PLEDGED] = [1, 2, 4];
const [IN_INVARIANT, KEEPER] = [1, 2];
const coveredAt = (word) => 4 << (2 * word);
const obligedAt = (word) => 8 << (2 * word);

export class Checker extends Certificate {
  constructor(certificate) {
    super(certificate);
    this.wordsNumbers = new Map(this.words.map((row, i) => [row.join(), i]));
    this.agentNumbers = new Map(this.agents.map(({ row }, i) => [row.join(), i]));
    const classes = this.words.map((row) => this.withoutGenerations(row).join());
    this.classNumbers = new Map([...new Set(classes)].map((row, i) => [row, i]));
    this.classes = classes.map((row) => this.classNumbers.get(row));
    this.seen = [...this.classNumbers.keys()].map((row) =>
      AS_OTHERS_SEE_IT.map((to) => this.rename(row.split(',').map(Number), to).join()),
    );
    this.flagged = new Map();
    for (const [words, turned, agent, to] of this.notes)
      this.flagged.set(this.noteOf(words, turned, agent), to);
  }

  keyOf = (words, agent) => words * this.agents.length + agent;
  classAt = (pair) => this.classes[this.wordsNumber(pair)];

  /** What moves do to others. All pairs to which moves with one effect lead are its posts. */
  findEffects(pair) {
    for (let move = this.firstMoves[pair]; move < this.firstMoves[pair + 1]; move++) {
      const [to, run, result, how] = this.moves.subarray(4 * move, 4 * move + 4);
      this.demand(this.is(to, IN_INVARIANT), 'a pair is missing', pair, to);
      const taken = this.held(to) - this.held(pair);
      const isThere = taken <= this.heldByAll(to) - this.heldByAll(pair);
      this.demand(isThere, 'takes more than there is', pair, to);
      const [kind, word, a, b] = run ? this.terms.runs[run - 1].does : ['', result - 1, ALL];
      const own = (how >> 3) & 1;
      const notified = kind === 'notify' || (!run && result) ? word + 1 : 0;
      const most = notified && (a === ALL ? ALL : a - own);
      const changes = kind === 'cas' && result === a;
      const turned = changes && (a ^ b) & this.terms.generations[word] ? 1 << word : 0;
      const [before, after, held] = [this.classAt(pair), this.classAt(to), this.held(pair)];
      if (!most && !turned && before === after) continue;
      const key = [before, after, turned, notified, most, run ? result - own : 1, held].join();
      if (!this.effects.has(key)) this.effects.set(key, this.newEffect(key, pair, to));
      const effect = this.effects.get(key);
      this.effectOf[move] = effect;
      effect.marks &= this.marks[to];
      effect.keeps &&= this.keeps(to);
    }
  }

  newEffect(key, pair, to) {
    const [before, after, turned, notified, most, woken, held] = key.split(',').map(Number);
    const [one, other] = [pair, to].map((at) => this.wordsOf(at));
    const isLegal = this.terms.ids.every((ids, word) => {
      const [from, then] = [one[word] & ids, other[word] & ids];
      return from === then || (from === 0 && then === ME) || (from === ME && then === 0);
    });
    this.demand(isLegal, 'takes or frees what it must not', pair, to);
    this.demand(!notified || (before === after && !turned), 'changes and notifies', pair, to);
    const effect = { before, after, turned, notified, most, woken, held };
    return { ...effect, marks: ~0, keeps: true, serves: true };
  }

  /** What effects look like to others, by the words that they see before. */
  findRules() {
    this.rules = this.seen.map(() => []);
    for (const effect of this.effects.values())
      this.seen[effect.before].forEach((before, i) => {
        const rule = { effect, after: this.seen[effect.after][i], words: new Map() };
        const isNew =
          i === 0 ||
          [effect.before, effect.after].some((at) => this.seen[at][0] !== this.seen[at][1]);
        if (isNew) this.rules[this.classNumbers.get(before)]?.push(rule);
      });
  }

  noteOf = (words, turned, agent) => this.keyOf(this.classes[words] * 256 + turned, agent);

  /** Calls `to(next, effect)` for what others' moves may make of the pair. */
  react(pair, to) {
    const [words, number] = [this.wordsNumber(pair), this.agentNumber(pair)];
    const agent = this.agents[number];
    for (const { effect, after, words: known } of this.rules[this.classes[words]]) {
      if (effect.held && this.held(pair) + effect.held > this.heldByAll(pair)) continue;
      let [nextWords, nextAgent] = [words, number];
      if (effect.notified) {
        const word = effect.notified - 1;
        if (!effect.woken || (agent.asleepAt !== word && agent.queuedAt !== word)) continue;
        if (effect.woken === effect.most) to(pair, effect);
        nextAgent = this.wokenAt(agent, word);
      } else {
        const fresh = this.freshOf(agent, effect.turned);
        const key = fresh.reduce((sum, generation) => sum * 16 + generation, words);
        if (!known.has(key)) known.set(key, this.wordsAfter(after, words, effect.turned, fresh));
        nextWords = known.get(key);
        nextAgent = this.flagged.get(this.noteOf(nextWords, effect.turned, number)) ?? number;
      }
      const next = this.numbers.get(this.keyOf(nextWords, nextAgent));
      this.demand(next !== undefined, 'a pair is missing', pair);
      this.demand(this.held(next) === this.held(pair), 'others take what it holds', pair, next);
      to(next, effect);
    }
  }

  /** For each word whose generation changes: the first one that the agent does not know. */
  freshOf(agent, turned) {
    agent.fresh[turned] ??= this.terms.generations.flatMap((bits, word) => {
      let generation = 0;
      if (!((turned >> word) & 1)) return [];
      while (this.knows(agent, word, generation * (bits & -bits))) generation++;
      return [generation];
    });
    return agent.fresh[turned];
  }

  /** The number of these words, with the generations as the agent sees them. */
  wordsAfter(after, words, turned, fresh) {
    const left = [...fresh];
    const row = after.split(',').map((value, word) => {
      const bits = this.terms.generations[word];
      if (!bits) return value;
      const isNew = (turned >> word) & 1;
      const old = this.ownPart(this.words[words][word], word);
      return Number(value) + (isNew ? left.shift() * (bits & -bits) : old);
    });
    return this.wordsNumbers.get(row.join());
  }

  /** The number of this agent, woken at the word. */
  wokenAt({ row, asleepAt, queuedAt, woken }, word) {
    const wakes = { doing: CALLING, why: OK, word: 0, way: 0, value: 0 };
    const isTold = queuedAt === word ? { pending: NOTIFIED } : {};
    const changes = { ...(asleepAt === word ? wakes : {}), ...isTold };
    const changed = () => row.map((value, i) => changes[this.terms.columns[i]] ?? value);
    woken[word] ??= this.agentNumbers.get(changed().join());
    return woken[word];
  }

  keeps = (pair) => !this.terms.areKeepers || !this.has(pair, PLEDGED) || this.is(pair, KEEPER);
  isSafe = (pair, word) => !this.agentAt(pair).sleepsAt[word] || this.is(pair, coveredAt(word));

  /** The move has woken all others at the word, or one that is obliged; or they are covered. */
  isQuiet(to, effect, word) {
    if (effect?.notified === word + 1 && effect.serves) return true;
    return this.seen[this.classAt(to)].every(
      (seen) => !this.open[word].has(this.classNumbers.get(seen)),
    );
  }

  /** Whoever may have the mark has it, unless that would break the claim; and nobody else. */
  judge(pair, nexts, mark, mayBe, isGood, what) {
    const isMarked = this.is(pair, mark);
    const bad = nexts.find((next) => !isGood(next) && (isMarked || next.to !== pair));
    const isRight = isMarked ? mayBe && !bad : !mayBe || bad;
    this.demand(isRight, isMarked ? `is not ${what}` : `is ${what}`, pair, bad?.to ?? pair);
  }

  checkClaims(pair) {
    const { areKeepers, briefsEnd } = this.terms;
    const { acts, doing, inLine, pending, sleepsAt } = this.agentAt(pair);
    const [isOwed, isPledged] = [this.has(pair, OWED), areKeepers && this.has(pair, PLEDGED)];
    const nexts = this.movesOf(pair);
    const willAct = acts || (doing === IDLE && this.has(pair, NEEDED));
    const isActor = willAct && nexts.some(({ help }) => !help || (briefsEnd && help === BRIEFS));
    const isLineLost = doing === IDLE && inLine > 0 && pending === NOT_QUEUED && !willAct;
    const isHolderAsleep = doing === ASLEEP && isOwed && this.has(pair, NEEDED) && !isActor;
    this.demand(!isLineLost, 'is in line, and nothing will tell it', pair);
    this.demand(!isHolderAsleep, 'sleeps, and others wait for it', pair);
    this.react(pair, (to, effect) => nexts.push({ to, effect, isOthers: true }));
    this.open.forEach((_, word) => {
      const [obliged, covered] = [obligedAt(word), coveredAt(word)];
      const isObliged = ({ to, effect, isOthers }) =>
        this.is(to, obliged) ||
        (isOthers
          ? effect.marks & obliged
          : this.isSafe(to, word) && this.isQuiet(to, effect, word));
      const isKept = ({ to, effect, isOthers }) =>
        this.isSafe(to, word) || this.is(to, obliged) || (isOthers && effect.marks & obliged);
      const isCovered = isOwed || (isPledged && !this.is(pair, KEEPER));
      this.judge(pair, nexts, obliged, this.used[word] && isActor, isObliged, 'obliged');
      this.judge(pair, nexts, covered, sleepsAt[word] && isCovered, isKept, 'covered');
      const sleeps =
        !this.is(pair, obliged) && this.isSafe(pair, word) && nexts.find((next) => !isKept(next));
      this.demand(!sleeps, 'falls asleep uncovered', pair, sleeps?.to);
    });
    const keeps = ({ to, effect, isOthers }) => this.keeps(to) || (isOthers && effect.keeps);
    const isEngaged = isActor || sleepsAt.includes(true);
    this.judge(pair, nexts, KEEPER, isPledged && isEngaged, keeps, 'a keeper');
    const pledges = !isPledged && nexts.find((next) => !next.isOthers && !keeps(next));
    this.demand(!pledges, 'pledges, and is no keeper', pair, pledges?.to);
  }

  movesOf(pair) {
    const moves = [];
    for (let move = this.firstMoves[pair]; move < this.firstMoves[pair + 1]; move++) {
      const how = this.moves[4 * move + 3];
      moves.push({ to: this.moves[4 * move], how, help: how >>> 4, effect: this.effectOf[move] });
    }
    return moves;
  }

  /** No agent runs for ever, alone and without help, in no call that ends; other than by polling. */
  checkAlone(version) {
    const isPolling = (pair) => this.agentAt(pair).polls && this.has(pair, OWED);
    const isAlone = ({ to, how, help }) =>
      !help && !(how & 4) && (how >> version) & 1 && !isPolling(to);
    const isDone = new Map();
    for (const first of this.all) {
      const path = isDone.has(first) ? [] : [{ pair: first, moves: this.movesOf(first) }];
      while (path.length > 0) {
        const { pair, moves } = path.at(-1);
        const move = moves.pop();
        isDone.set(pair, !move);
        if (!move) path.pop();
        else if (isAlone(move)) {
          this.demand(isDone.get(move.to) !== false, 'runs for ever', pair, move.to);
          if (!isDone.has(move.to)) path.push({ pair: move.to, moves: this.movesOf(move.to) });
        }
      }
    }
  }

  check() {
    this.all = [...this.marks.keys()].filter((pair) => this.is(pair, IN_INVARIANT));
    const keyOf = (pair) => this.keyOf(this.wordsNumber(pair), this.agentNumber(pair));
    this.numbers = new Map(this.all.map((pair) => [keyOf(pair), pair]));
    this.effects = new Map();
    this.effectOf = new Array(this.moves.length / 4);
    this.terms.kinds.forEach((_, pair) => {
      const { kind, doing, inLine } = this.agentAt(pair);
      const isFirst = kind === pair && doing === IDLE && !inLine && this.wordsNumber(pair) === 0;
      const isRight = isFirst && this.keeps(pair) && this.held(pair) === 0;
      this.demand(isRight && this.is(pair, IN_INVARIANT), 'begins otherwise', pair);
    });
    this.all.forEach((pair) => this.findEffects(pair));
    this.findRules();
    const receive = (pair) => (to, effect) => {
      if (effect.notified && effect.woken === effect.most && to !== pair)
        effect.serves &&= this.is(to, obligedAt(effect.notified - 1));
    };
    for (const pair of this.all) if (this.agentAt(pair).waits) this.react(pair, receive(pair));
    const words = this.terms.ids.map((_, word) => word);
    const open = (word) => this.all.filter((pair) => !this.isSafe(pair, word));
    this.open = words.map((word) => new Set(open(word).map((pair) => this.classAt(pair))));
    this.used = words.map((word) => this.all.some((pair) => this.agentAt(pair).sleepsAt[word]));
    this.all.forEach((pair) => this.checkClaims(pair));
    for (const version of [0, 1]) this.checkAlone(version);
    return this.all.length;
  }
}

/** Returns how many pairs there are; throws if the certificate proves nothing. */
export function check(certificate) {
  checkTable(certificate);
  return new Checker(certificate).check();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  for (const file of process.argv.slice(2))
    console.log(`accepted: ${check(read(readFileSync(file)))} pairs`);
