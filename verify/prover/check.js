/**
 * check.js FILE...: verifies certificates (`explore-NAME --prove --certificates PREFIX`): that the
 * pairs are all that an agent can meet among any number of others, and that no waiter is stranded.
 *
 * It shares nothing with the prover but the certificate's table of moves: what an agent may do
 * next. table.js compares that with the table of steps. docs/proof.md has the argument, and says
 * what is trusted.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

import {
  ALL,
  ASLEEP,
  Certificate,
  CLAIMS,
  IDLE,
  MARKED,
  MAY_SLEEP,
  ME,
  NEEDED,
  NOT_QUEUED,
  NOTIFIES_OWN,
  OTHER,
  OWED,
  read,
} from './certificate.js';
import { checkTable } from './table.js';

/** To others, the agent that moves is another one, and one of them may be the one that is named. */
const AS_OTHERS_SEE_IT = [{ [ME]: OTHER }, { [ME]: OTHER, [OTHER]: ME }];
/** The claims, one bit each: at each word first those about who is due, and then the last one. */
const [ABOUT_TO_SLEEP, TOGETHER, LAST] = [0o11111111, 0o22222222, 0o44444444];
const FIRST_TWO = ABOUT_TO_SLEEP | TOGETHER;
const claimsAt = (word) => 7 << (CLAIMS * word);
const NOBODY = { settles: 0, wakes: 0, wakesDue: 0, clears: 0, isSafe: 0, keeps: 0 };
/** Of all posts at first; and all effects have the same properties, which makes them fast. */
const ALL_OF = { ...NOBODY, changes: false, settles: ~0, isSafe: ~0, keeps: ~0 };

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
    this.noted = new Map(this.notes.map(([w, turned, a, to]) => [this.noteOf(w, turned, a), to]));
  }

  numberOf = (row) => this.agentNumbers.get(row.join());
  keyOf = (words, agent) => words * this.agents.length + agent;
  noteOf = (words, turned, agent) => this.keyOf(words * 256 + turned, agent);
  classAt = (pair) => this.classes[this.wordsNumber(pair)];
  keeps = (pair) => ~this.pledges(pair) | this.keptBy(pair);

  /** What moves do to others. All pairs to which moves with one effect lead are its posts. */
  findEffects(pair) {
    for (let move = this.firstMoves[pair]; move < this.firstMoves[pair + 1]; move++) {
      const { to, run, result, how } = this.moveAt(move);
      this.demand(this.isPair(to), 'a pair is missing', pair, to);
      const [kind, word, a, b] = run ? this.terms.runs[run - 1].does : ['', result - 1, ALL];
      const changes = kind === 'cas' && result === a;
      const taken = this.held(to) - this.held(pair);
      const given = this.given(pair, to, changes ? word : -1, a, b);
      const isStored = kind === 'store' && word === this.counted;
      this.demand(taken === given && !isStored, 'takes more or less than there is', pair, to);
      const own = how & NOTIFIES_OWN ? 1 : 0;
      const woken = run ? result - own : 1;
      const passed = this.passed(pair, to);
      const isPassed = kind === 'notify' && woken === 1 && passed === 1;
      this.demand(!passed || isPassed, 'there are other tokens than those held', pair, to);
      const isNotify = kind === 'notify' || (!run && result);
      const most = isNotify && (a === ALL ? ALL : a - own);
      const turned = changes && (a ^ b) & this.terms.generations[word] ? 1 << word : 0;
      const [before, after, at] = [this.classAt(pair), this.classAt(to), most && word + 1];
      if (!most && !turned && before === after) continue;
      const [held, tokens, isSure] = [this.held(pair), this.tokens(pair), run > 0];
      const does = { turned, at, most, woken, isSure };
      const what = { before, after, held, tokens, passed, ...does, ...ALL_OF };
      const key = Object.values(what).join();
      if (!this.effects.has(key)) this.effects.set(key, this.newEffect(what, pair, to));
      const effect = (this.effectOf[move] = this.effects.get(key));
      effect.settles &= this.settled[to];
      effect.isSafe &= this.safe[to];
      effect.keeps &= this.keeps(to);
    }
  }

  newEffect(what, pair, to) {
    const { turned, at, most, woken, isSure } = what;
    const [one, other] = [pair, to].map((at) => this.wordsOf(at));
    const isLegal = this.terms.ids.every((ids, word) => {
      const [from, then] = [(one[word] & ids) >>> 0, (other[word] & ids) >>> 0];
      return from === then || (from === 0 && then === ME) || (from === ME && then === 0);
    });
    this.demand(isLegal, 'takes or frees what it must not', pair, to);
    const wakesAll = woken < most ? LAST | (most === ALL ? TOGETHER : 0) : 0;
    const turns = turned && claimsAt(Math.log2(turned)) & ABOUT_TO_SLEEP;
    const clears = (at && wakesAll & claimsAt(at - 1)) | turns;
    const wakes = isSure && woken > 0 && at ? LAST : 0;
    const changes = what.before !== what.after || turned !== 0;
    return Object.assign(what, { changes, clears, wakes, wakesDue: wakes & this.nested[0] });
  }

  /** What effects look like to others, by the words that they see before. */
  findRules() {
    this.rules = this.seen.map(() => []);
    for (const effect of this.effects.values())
      this.seen[effect.before].forEach((before, i) => {
        const after = this.seen[effect.after][i].split(',').map(Number);
        const rule = { effect, after, words: new Map() };
        const isNew =
          i === 0 ||
          [effect.before, effect.after].some((at) => this.seen[at][0] !== this.seen[at][1]);
        if (isNew) this.rules[this.classNumbers.get(before)]?.push(rule);
      });
  }

  /** Calls `to(next, effect)` for what others' moves may make of the pair. */
  react(pair, to) {
    const [words, number] = [this.wordsNumber(pair), this.agentNumber(pair)];
    const agent = this.agents[number];
    for (const rule of this.rules[this.classes[words]]) {
      const { held, tokens, at, changes, woken, most, passed } = rule.effect;
      if (held && this.held(pair) + held > this.heldByAll(pair)) continue;
      if (tokens && agent.tokens + tokens > this.tokensOfAll(pair)) continue;
      const waits = at && (agent.asleepAt === at - 1 || agent.queuedAt === at - 1);
      if (!waits && !changes) to(pair, rule.effect);
      else if (!waits || woken === most) this.reactTo(rule, pair, number, 0, to);
      if (!waits || !woken) continue;
      const next = (agent.woken[2 * at + passed] ??= this.numberOf(
        this.wokenAt(agent, at - 1, passed),
      ));
      this.reactTo(rule, pair, next, passed, to);
    }
  }

  /** The same, if the agent has become this one, and the rule changes the words. */
  reactTo({ effect, after, words: known }, pair, number, passed, to) {
    const words = this.wordsNumber(pair);
    let [nextWords, nextAgent] = [words, number];
    if (effect.changes) {
      const fresh = this.freshOf(this.agents[number], words, after, effect.turned);
      const key = fresh.reduce((sum, generation) => sum * 32 + generation, words);
      const row = () => this.withGenerations(after, this.words[words], fresh).join();
      if (!known.has(key)) known.set(key, this.wordsNumbers.get(row()));
      nextWords = known.get(key);
      nextAgent = this.noted.get(this.noteOf(nextWords, effect.turned, number)) ?? number;
    }
    const next = this.numbers[this.keyOf(nextWords, nextAgent)] - 1;
    this.demand(next >= 0, 'a pair is missing', pair);
    const isSame = this.held(next) === this.held(pair);
    const tokens = this.tokensOfAll(next) && this.tokens(pair) + passed;
    this.demand(isSame && this.tokens(next) === tokens, 'takes what it holds', pair, next);
    to(next, effect);
  }

  /**
   * Of each word: 0, if its generation stays; or which one the agent takes it for, plus one. That
   * is the first one that it does not know. It takes one that is new for that; and where runs
   * forget, any that it does not know.
   */
  freshOf(agent, words, after, turned) {
    const { forgets, generations } = this.terms;
    return generations.map((bits, word) => {
      const knows = (generation) => this.knows(agent, after, word, generation);
      const isNew = (turned >> word) & 1;
      const old = this.generation(this.words[words], word);
      if (!bits || !(isNew || (forgets && !knows(old)))) return 0;
      let fresh = 0;
      while (knows(fresh * (bits & -bits))) fresh++;
      return fresh + 1;
    });
  }

  /** Of each pair: which claims are about it, by which it is safe, and by which it is settled. */
  findSettled() {
    const calm = [...this.classNumbers].fill(~0);
    const lacking = [0, 0];
    this.used = 0;
    for (const pair of this.all) {
      this.about[pair] = this.sleepers(pair);
      this.safe[pair] = ~this.about[pair] | this.covered(pair);
      this.used |= this.about[pair];
      calm[this.classAt(pair)] &= this.safe[pair];
    }
    this.calm = this.seen.map((rows) =>
      rows.reduce((all, row) => all & (calm[this.classNumbers.get(row)] ?? ~0), ~0),
    );
    for (const pair of this.all) {
      const [obliged, witness] = [this.obliged(pair), this.witness(pair)];
      this.settled[pair] = obliged | this.needless(pair);
      lacking.forEach((_, i) => (lacking[i] |= (witness << (i + 1)) & ~obliged));
    }
    this.nested = lacking.map((bits) => ~bits & ~ABOUT_TO_SLEEP);
  }

  /** By the first two claims, no witness is needed where all are safe. */
  witness = (pair) => this.obliged(pair) & ~this.needless(pair);
  needless = (pair) => this.calm[this.classAt(pair)] & this.safe[pair] & FIRST_TWO;
  due = (pair) => this.about[pair] & ~this.covered(pair);

  /** What becomes of the agents that an effect concerns. */
  receive(pair) {
    const due = ((this.due(pair) & TOGETHER) << 1) & this.nested[0];
    return (to, effect) => {
      effect.clears &= this.safe[to];
      if (to === pair) return;
      effect.wakes &= this.settled[to];
      effect.wakesDue &= this.settled[to] | due;
    };
  }

  /** A pair that may have these marks has them, unless that breaks the claim; and no other has. */
  judge(pair, marks, mayBe, what) {
    const isMissing = (mayBe & ~marks) !== 0;
    this.demand(marks === mayBe, `is ${isMissing ? '' : 'not '}${what}`, pair);
  }

  checkClaims(pair) {
    const { acts, doing, inLine, pending, sleepsAt } = this.agentAt(pair);
    const [obliged, isOwed] = [this.obliged(pair), this.has(pair, OWED)];
    const willAct = acts || (doing === IDLE && this.has(pair, NEEDED));
    const isActor = willAct && this.canAct(pair);
    const isLineLost = doing === IDLE && inLine > 0 && pending === NOT_QUEUED && !willAct;
    const sleepsNeeded = doing === ASLEEP && this.has(pair, NEEDED);
    const isHolderAsleep = sleepsNeeded && isOwed && !isActor && !this.has(pair, MAY_SLEEP);
    this.demand(!isLineLost, 'is in line, and nothing will tell it', pair);
    this.demand(!isHolderAsleep, 'sleeps, and others wait for it', pair);
    let [good, kept, keeps] = [~0, ~0, ~0];
    const isWitness = (this.witness(pair) & TOGETHER) << 1;
    for (let move = this.firstMoves[pair]; move < this.firstMoves[pair + 1]; move++) {
      const [to, effect] = [this.moves[4 * move], this.effectOf[move] ?? NOBODY];
      if (to === pair) continue;
      const wakes = effect.wakes | (effect.wakesDue & ~isWitness);
      const isQuiet = this.calm[this.classAt(to)] | effect.clears | wakes;
      good &= this.settled[to] | (this.safe[to] & isQuiet);
      kept &= this.safe[to] | this.obliged(to);
      keeps &= this.keeps(to);
    }
    this.demand((keeps | this.pledges(pair)) === ~0, 'pledges, and is no keeper', pair);
    this.react(pair, (to, effect) => {
      if (to === pair) return;
      good &= this.settled[to] | effect.settles | (effect.clears & effect.isSafe & FIRST_TWO);
      kept &= this.safe[to] | this.obliged(to) | effect.settles;
      keeps &= this.keeps(to) | effect.keeps;
    });
    const keeper = [1, 2, 4].reduce((all, by) => all | (all >> by), this.keptBy(pair));
    const isCovered = isOwed || (!sleepsNeeded && (this.pledges(pair) & ~keeper) !== 0);
    const mayBe = (this.has(pair, MARKED) ? FIRST_TWO : 0) | (isCovered ? LAST : 0);
    const isEngaged = isActor || sleepsAt.includes(true);
    const standing = isEngaged ? this.pledges(pair) & this.mayKeep(pair) : 0;
    this.judge(pair, this.covered(pair), this.about[pair] & mayBe & kept, 'covered');
    this.judge(pair, obliged, isActor ? good & this.used : 0, 'obliged');
    this.judge(pair, this.keptBy(pair), standing & keeps, 'a keeper');
    // It is due, so another agent is obliged: by an earlier claim, and so by this one, too.
    const due = this.due(pair) & ~obliged;
    const later = ((due & FIRST_TWO) << 1) & this.nested[0];
    const last = ((due & ABOUT_TO_SLEEP) << 2) & this.nested[1];
    const falls = this.safe[pair] & ~obliged & ~later & ~last & ~kept & this.used;
    this.demand(!falls, 'falls asleep uncovered', pair);
  }

  check() {
    const count = this.marks.length / 3;
    this.all = [...Array(count).keys()].filter(this.isPair);
    const keyOf = (pair) => this.keyOf(this.wordsNumber(pair), this.agentNumber(pair));
    this.numbers = new Uint32Array(this.words.length * this.agents.length);
    this.all.forEach((pair) => (this.numbers[keyOf(pair)] = pair + 1));
    [this.effects, this.effectOf] = [new Map(), new Array(this.moves.length / 4)];
    [this.about, this.safe, this.settled] = [1, 2, 3].map(() => new Int32Array(count));
    this.findSettled();
    this.terms.kinds.forEach((_, pair) => {
      const { kind, doing, inLine } = this.agentAt(pair);
      const isFirst = kind === pair && doing === IDLE && !inLine && this.wordsNumber(pair) === 0;
      const holds = this.held(pair) + this.tokens(pair) + this.tokensOfAll(pair);
      const isRight = isFirst && this.keeps(pair) === ~0 && holds === 0;
      this.demand(isRight && !this.about[pair] && this.isPair(pair), 'begins otherwise', pair);
    });
    this.all.forEach((pair) => this.findEffects(pair));
    this.findRules();
    this.all.forEach((pair) => this.react(pair, this.receive(pair)));
    this.all.forEach((pair) => this.checkClaims(pair));
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
