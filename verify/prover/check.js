/**
 * check.js FILE: verifies the certificate of a proof (`explore-mutex --certificate FILE`): that any
 * number of threads strand no waiter of the mutex.
 *
 * It shares nothing with the prover but the table of steps (`runs`): which operation a call does
 * next, given the results that it has had, and what it returns. So it repeats what the drivers do:
 * how a thread calls, sleeps and wakes. docs/proof.md has the argument.
 *
 * A certificate's `pairs` are the mutex's state, as one thread sees it, and that thread: what it is
 * doing, in which call, why, with which phase, and further values. Their marks claim that the
 * sleeper is covered, that the thread is obliged, that it is a keeper.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const OWNER = 0x1fffffff;
const RESERVED = 0x20000000;
/** Ids: the thread itself, and two that stand for all others. In pairs, only the first of these. */
const [ME, OTHER, ANOTHER] = [2, 3, 4];

const [IDLE, CALLING, RUNNING, , GOING_TO_SLEEP, ASLEEP] = [0, 1, 2, 3, 4, 5];
const [OK, NOT_EQUAL, TIMED_OUT, SLICE, CANCELLED] = [1, 2, 3, 4, 7];
const [DONE, WAIT, WAIT_BRIEF, RETRY] = [0, 5, 7, 9];
const ALL = 0xffffffff;
const [COVERED, OBLIGED, KEEPER] = [1, 2, 4];

const ownerOf = (state) => (state & OWNER) >>> 0;
const withOwner = (state, owner) => ((state & ~OWNER) | owner) >>> 0;
/** How a thread's words look in a pair. */
const canonical = (state) => (ownerOf(state) === ANOTHER ? withOwner(state, OTHER) : state);
/** How other threads see these words: the one that moved is another one, one of them is named. */
const seenByOthers = (state) =>
  ({ 0: [0], [ME]: [OTHER], [OTHER]: [OTHER, ME] })[ownerOf(state)].map((owner) =>
    withOwner(state, owner),
  );

/** What a message tells of a pair. */
const SHOWN = ['state', 'doing', 'call', 'why', 'phase', 'value', 'word', 'way', 'marks'];

class Refused extends Error {
  name = 'Refused';
}
function demand(holds, what, ...pairs) {
  if (!holds)
    throw new Refused(`${what}: ${pairs.map((pair) => JSON.stringify(pair, SHOWN)).join(' → ')}`);
}

const keyOf = ({ state, doing, call, why, phase, value, word, way }) =>
  [state, doing, call, why, phase, value, word, way].join();
const thread = (state, doing, rest = {}) => ({
  state,
  doing,
  call: '',
  why: 0,
  phase: 0,
  value: 0,
  word: 0,
  way: 0,
  ...rest,
});

const isSleeper = (pair) => pair.doing === ASLEEP;
const acts = (pair) => (pair.doing === IDLE ? ownerOf(pair.state) === ME : !isSleeper(pair));

class Checker {
  constructor({ pairs, runs }) {
    this.runs = runs;
    this.begins = new Map(
      runs.flatMap(({ begins }, number) => (begins ? [[begins.join(), number]] : [])),
    );
    this.pairs = new Map();
    for (const [state, doing, call, why, phase, value, word, way, marks] of pairs) {
      const pair = thread(state, doing, { call, why, phase, value, word, way });
      const key = keyOf(pair);
      // The prover remembers more of a thread than there is to it here.
      const known = this.pairs.get(key);
      this.pairs.set(key, Object.assign(pair, { marks: known ? known.marks & marks : marks }));
    }
  }

  find(pair, from) {
    const found = this.pairs.get(keyOf(pair));
    demand(found, 'a pair is missing', from ?? {}, pair);
    return found;
  }

  /** Calls `to(next, how)` for whatever comes of a run's next operation. */
  operate(pair, call, why, phase, run, to) {
    const [kind, word, a, b] = this.runs[run].does;
    const advance = (state, result, how) => {
      const next = this.runs[run].to[result];
      demand(next !== undefined, `no step for ${kind} = ${result}`, pair);
      this.goOn(state, call, why, phase, next, (after) => to(after, how));
    };
    demand(word === 0 || kind === 'notify', 'touches what is not the state', pair);
    if (kind === 'load') return advance(pair.state, pair.state, {});
    if (kind === 'cas') {
      if (pair.state !== a) return advance(pair.state, pair.state, {});
      const [before, after] = [ownerOf(a), ownerOf(b)];
      const isLegal =
        before === after || (before === 0 && after === ME) || (before === ME && after === 0);
      demand(isLegal, 'takes or frees what it must not', pair);
      return advance(b, a, {});
    }
    demand(kind === 'notify', 'does what is unknown', pair);
    const most = a === ALL ? 2 : a;
    for (let woken = 0; woken <= most; woken++)
      advance(pair.state, woken, { word, most: a, woken });
  }

  /** A call goes on with this run, or has returned. */
  goOn(state, call, why, phase, run, to) {
    const [kind, what, word, next, expected] = this.runs[run].does;
    if (kind !== 'return') return to(thread(state, RUNNING, { call, why, phase, value: run }));
    const ends = { ends: true };
    if (call !== 'lock' || what < WAIT) {
      const owns = ownerOf(state) === ME;
      demand(call !== 'lock' || what !== DONE || owns, 'has locked, and does not own', { state });
      return to(Object.assign(thread(state, IDLE), ends));
    }
    if (what === RETRY) return to(thread(state, CALLING, { call, why, phase: next }));
    demand(what <= WAIT_BRIEF, 'asks for what no thread can do', { state, what });
    to(thread(state, GOING_TO_SLEEP, { call, phase: next, value: expected, word, way: what }));
  }

  /** Calls `to(next, how)` for whatever the thread of a pair may do next. */
  moves(pair, to) {
    const { state, doing, call, why, phase, value, word, way } = pair;
    const resume = (reason, help) =>
      to(thread(state, CALLING, { call, why: reason, phase }), { help });
    const begin = (name, ...args) => {
      const run = this.begins.get([name, ...args].join());
      demand(run !== undefined, `no run begins with ${name}(${args})`, pair);
      this.operate(pair, name, args[1], args[2], run, to);
    };
    if (doing === IDLE) {
      const holds = ownerOf(state) === ME;
      begin('lock', ME, 0, 0);
      for (const name of holds ? ['unlock', 'free', 'try'] : ['try', 'take', 'unlock'])
        begin(name, ME, 0, 0);
    } else if (doing === CALLING) {
      begin(call, ME, why, phase);
      if (why === OK) resume(CANCELLED, true);
    } else if (doing === RUNNING) {
      this.operate(pair, call, why, phase, value, to);
    } else if (doing === GOING_TO_SLEEP) {
      demand(word === 0, 'sleeps elsewhere', pair);
      if (state === value) to(thread(state, ASLEEP, { call, phase, word, way }), {});
      else resume(NOT_EQUAL);
      resume(CANCELLED, true);
    } else {
      demand(doing === ASLEEP, 'does what is unknown', pair);
      for (const reason of [OK, NOT_EQUAL, TIMED_OUT, CANCELLED, SLICE]) resume(reason, true);
    }
  }

  /** All moves and what they do to others: rules, by the words that others see. */
  findMoves() {
    const effects = new Map();
    for (const pair of this.pairs.values()) {
      pair.moves = [];
      pair.reactions = [];
      const versions = ownerOf(pair.state) === OTHER ? [OTHER, ANOTHER] : [ownerOf(pair.state)];
      versions.forEach((owner, version) => {
        const before = { ...pair, state: withOwner(pair.state, owner) };
        this.moves(before, (next, { help, word, most, woken } = {}) => {
          const to = this.find({ ...next, state: canonical(next.state) }, pair);
          const move = { to, help, ends: next.ends, version };
          pair.moves.push(move);
          if (most === undefined && to.state === pair.state) return;
          const id = [pair.state, to.state, word, most, woken].join();
          const effect = { before: pair.state, after: to.state, word, most, woken, posts: [] };
          if (!effects.has(id)) effects.set(id, effect);
          move.effect = effects.get(id);
          move.effect.posts.push(to);
        });
      });
    }
    return [...effects.values()];
  }

  findReactions(effects) {
    const rules = new Map();
    for (const effect of effects) {
      const afters = seenByOthers(effect.after);
      seenByOthers(effect.before).forEach((before, i) => {
        // Of an owner that is named before and not afterwards, or the other way round, nothing
        // is left to be told apart.
        const rule = { effect, after: afters[i] ?? afters[0] };
        rules.set(before, [...(rules.get(before) ?? []), rule]);
      });
    }
    for (const pair of this.pairs.values())
      for (const { effect, after } of rules.get(pair.state) ?? []) this.react(pair, effect, after);
  }

  react(pair, effect, after) {
    const add = (next) => pair.reactions.push({ to: this.find(next, pair), effect });
    if (effect.most === undefined) return add({ ...pair, state: after });
    if (effect.word !== pair.word || !isSleeper(pair) || effect.woken === 0) return;
    if (effect.woken === effect.most) add(pair);
    const { state, call, phase } = pair;
    const woken = this.find(thread(state, CALLING, { call, why: OK, phase }), pair);
    pair.reactions.push({ to: woken, effect, wakes: true });
    (effect.receivers ??= []).push(woken);
  }

  /** While the mutex is reserved, there is a keeper. */
  checkPledge() {
    const keeps = ({ state, marks }) => !(state & RESERVED) || marks & KEEPER;
    for (const pair of this.pairs.values()) {
      const { marks, state, moves, reactions } = pair;
      demand(!(marks & KEEPER) || acts(pair) || isSleeper(pair), 'an idle keeper', pair);
      if (state & RESERVED && !(marks & KEEPER)) continue;
      for (const { to } of moves) demand(keeps(to), 'nobody keeps the reservation', pair, to);
      if (!(state & RESERVED)) continue;
      for (const { to, effect } of reactions)
        demand(keeps(to) || effect.posts.every(keeps), 'a keeper is lost', pair, to);
    }
  }

  /** All sleepers are covered, or a thread is obliged. */
  checkWitnesses() {
    const has = (mark) => (pair) => (pair.marks & mark) !== 0;
    const isSafe = (pair) => !isSleeper(pair) || has(COVERED)(pair);
    const open = new Set(
      [...this.pairs.values()].filter((pair) => !isSafe(pair)).map((p) => p.state),
    );
    const isCalm = ({ state }) => seenByOthers(state).every((seen) => !open.has(seen));
    const serves = (effect) =>
      effect?.word === 0 && (effect.most === ALL || (effect.receivers ?? []).every(has(OBLIGED)));
    for (const pair of this.pairs.values()) {
      const { marks, state, moves, reactions } = pair;
      const mayBeCovered = ownerOf(state) || (state & RESERVED && !(marks & KEEPER));
      demand(!(marks & COVERED) || (isSleeper(pair) && mayBeCovered), 'covered by nothing', pair);
      demand(!(marks & OBLIGED) || acts(pair), 'obliged, and does nothing', pair);
      demand(ownerOf(state) !== ME || !isSleeper(pair), 'the holder sleeps', pair);
      if (marks & OBLIGED) {
        for (const { to, effect } of moves)
          demand(
            to.marks & OBLIGED || (isSafe(to) && (serves(effect) || isCalm(to))),
            'a witness does not pass on its wake-up',
            pair,
            to,
          );
        for (const { to, effect } of reactions)
          demand(
            to.marks & OBLIGED || effect.posts.every(has(OBLIGED)),
            'a witness is lost',
            pair,
            to,
          );
      } else if (isSafe(pair)) {
        for (const { to } of moves)
          demand(isSafe(to) || to.marks & OBLIGED, 'falls asleep uncovered', pair, to);
      }
      if (marks & COVERED)
        for (const { to, effect } of reactions)
          demand(isSafe(to) || effect.posts.every(has(OBLIGED)), 'is covered no more', pair, to);
    }
  }

  /** No thread runs for ever, alone and without help, in no call that ends. */
  checkAlone() {
    for (const version of [0, 1]) {
      const seen = new Map();
      for (const first of this.pairs.values()) {
        const path = [[first, 0]];
        while (path.length > 0) {
          const top = path.at(-1);
          const [pair, i] = top;
          if (i === 0 && seen.get(pair) === 'done') path.pop();
          else if (i === 0) seen.set(pair, 'open');
          if (path.at(-1) !== top) continue;
          const move = pair.moves[top[1]++];
          if (!move) seen.set(path.pop()[0], 'done');
          else if (!move.help && !move.ends && move.version === version) {
            demand(seen.get(move.to) !== 'open', 'runs for ever', pair, move.to);
            if (!seen.has(move.to)) path.push([move.to, 0]);
          }
        }
      }
    }
  }

  check() {
    this.find(thread(0, IDLE));
    this.findReactions(this.findMoves());
    this.checkPledge();
    this.checkWitnesses();
    this.checkAlone();
    return this.pairs.size;
  }
}

/** Returns how many pairs there are; throws if the certificate proves nothing. */
export const check = (certificate) => new Checker(certificate).check();

if (import.meta.url === pathToFileURL(process.argv[1]).href)
  console.log(`accepted: ${check(JSON.parse(readFileSync(process.argv[2], 'utf8')))} pairs`);
