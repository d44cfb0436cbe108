/**
 * drivers.js MODEL BLOCKING: holds the explorer's model of the drivers (explorer/successors.c) and
 * the real ones together.
 *
 * MODEL is the program that prints what the model allows, as rows (drivers/drivers.h), BLOCKING the
 * one that prints what src/blocking.c does. This program records what js/src/{blocking,turn,crowd}
 * do, and with them line, limits and wait: here the engine's waits, timers and clock follow a
 * script. A row that only one side has is an error: either the model allows too little, and the
 * explorer has not seen what ships, or it explores what cannot be.
 */
import { execFileSync } from 'node:child_process';

/**
 * What only the model does, on purpose. It cancels a waiter at any time; src/blocking.c first runs
 * the step of a waiter that was woken. Where the engine polls, the timer of a brief wait may end a
 * later wait: in the model, any.
 */
const ONLY_MODELLED =
  /^src.blocking.c: .*(OK RETRY|, waited) -> CANCELLED$|^js.src.turn.js, polling: .*SLICE/;

const [model, blocking] = process.argv.slice(2);
const rowsOf = (program) =>
  execFileSync(program, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    .trim()
    .split('\n');
const allowed = new Set(rowsOf(model));
const seen = new Set(rowsOf(blocking));

/** How many scripts are run of each driver: those with the first choices, and those by chance. */
const SYSTEMATIC = 2_000;
const BY_CHANCE = 30_000;
/** After so many calls all steps return LW_DONE. */
const MOST_CALLS = 12;

let script = [];
let ways = [];
let chance = 0;

/** xorshift32 */
function draw() {
  chance ^= chance << 13;
  chance ^= chance >>> 17;
  chance ^= chance << 5;
  return chance >>> 0;
}

/** Returns a number less than this one: the script's, or one by chance. */
function choose(count) {
  const index = ways.push(count) - 1;
  return chance ? draw() % count : (script[index] ??= 0);
}

/** Goes on to the next script, in the order of its choices. */
function nextScript() {
  script.length = ways.length;
  while (script.length && script.at(-1) + 1 === ways[script.length - 1]) script.pop();
  if (script.length) script[script.length - 1]++;
  return script.length > 0;
}

// The engine, as far as the drivers use it.
let now = 0;
let polls = false;
/** What may happen next: functions. */
const events = new Set();
/** @type {Set<() => void>} pending waits */
const waits = new Set();

function event(happens) {
  const once = () => {
    events.delete(once);
    happens();
  };
  events.add(once);
  return once;
}

Object.defineProperty(globalThis, 'performance', { value: { now: () => now } });
globalThis.setTimeout = (fn, ms, ...args) => {
  const due = now + ms;
  return event(() => {
    now = Math.max(now, due);
    fn(...args);
  });
};
globalThis.clearTimeout = (once) => events.delete(once);
globalThis.setInterval = (fn, ms) => {
  // The shorter one only keeps the event loop awake.
  if (ms >= 1000) events.add(fn);
  return fn;
};
globalThis.clearInterval = (fn) => events.delete(fn);
globalThis.setImmediate = event;
/** A blocked thread's wait is in the hands of the script. */
let blocked = () => 'ok';
Atomics.wait = (words, index, expected, ms) => blocked(words, index, expected, ms);
Object.defineProperty(Atomics, 'waitAsync', {
  get: () =>
    polls
      ? undefined
      : () => {
          let notified;
          const value = new Promise((resolve) => {
            notified = event(() => {
              waits.delete(notified);
              resolve('ok');
            });
          });
          waits.add(notified);
          return { async: true, value };
        },
});
Atomics.notify = () => {
  for (const notified of [...waits]) notified();
  return 0;
};

const c = await import('../js/src/core/constants.js');
const { HAND_OVER } = await import('../js/src/awake.js');
const { block } = await import('../js/src/blocking.js');
const { enqueue } = await import('../js/src/turn.js');
const { pending } = await import('../js/src/limits.js');
const { waitFor } = await import('../js/src/waiting.js');

const WHATS = [
  ...['DONE', 'GAVE_UP', 'OVERFLOW', 'WAIT', 'WAIT_IDLE', 'WAIT_BRIEF'],
  ...['QUEUE', 'RETRY'],
];
const WHYS = ['START', 'OK', 'NOT_EQUAL', 'TIMED_OUT', 'SLICE', 'AGAIN', 'CANCELLED'];
/** Asked for millions of times. */
const namesOf = (names) => new Map(names.map((name) => [c[`LW_${name}`], name]));
const [whatNames, whyNames] = [namesOf(WHATS), namesOf(WHYS)];
const TOLD = WHATS.filter((what) => what !== 'GAVE_UP').map((what) => c[`LW_${what}`]);
/** By chance most calls wait, and so the scripts are longer. */
const TOLD_BY_CHANCE = [
  ...TOLD,
  ...Array(2).fill([c.LW_WAIT, c.LW_WAIT_IDLE, c.LW_WAIT_BRIEF, c.LW_RETRY]),
].flat();

const whyName = (why) =>
  whyNames.get(why & c.LW_WHY) +
  (why & c.LW_ASYNC ? '+ASYNC' : '') +
  (why & c.LW_QUEUED ? '+QUEUED' : '');

let driver = '';
let calls = 0;
/** Whether the caller has waited since its last call. */
let waited = '';

function add(last, next) {
  const before = last ? `${whyName(last.why)} ${whatNames.get(last.what)}${waited}` : 'new';
  seen.add(`${driver}: ${before} -> ${next}`);
}

/** A call of a step that returns what it is told: answer_as_told in drivers.h. */
function caller() {
  /** @type {any} */
  const caller = { last: undefined, ended: false };
  caller.step = (words, wanted, why, phase) => {
    add(caller.last, whyName(why));
    waited = '';
    if (phase !== (caller.last?.phase ?? 0)) add(caller.last, 'a call with another phase');
    const all = chance ? TOLD_BY_CHANCE : TOLD;
    const told = calls++ < MOST_CALLS ? all[choose(all.length)] : c.LW_DONE;
    const waits = told >= c.LW_WAIT && told !== c.LW_RETRY;
    let what = told;
    if (waits && (why & 3) === 3) what = c.LW_GAVE_UP;
    else if (waits && (why & (c.LW_ASYNC | c.LW_QUEUED)) === c.LW_ASYNC) what = c.LW_QUEUE;
    else if (what === c.LW_QUEUE) what = c.LW_WAIT;
    caller.last =
      what === c.LW_QUEUE || what === c.LW_RETRY
        ? { why, what, word: 1, phase, expected: 0 }
        : { why, what, word: 0, phase: (phase + 1) % 4, expected: told };
    const answer = { ...caller.last };
    // waitFor() looks before it makes a caller. A look that has to wait has changed nothing.
    if (caller.looks && what >= c.LW_WAIT) caller.last = undefined;
    caller.looks = false;
    return answer;
  };
  caller.end = () => {
    caller.ended = true;
    if (!caller.last || caller.last.what >= c.LW_WAIT) add(caller.last, 'leaves');
  };
  return caller;
}

const newWords = () => new Int32Array(new SharedArrayBuffer(8));

function runBlocking() {
  const { step, last: _, ...rest } = caller();
  let last;
  blocked = (words, index, expected, ms) => {
    if (index !== last.word || expected !== last.expected) add(last, 'a wait elsewhere');
    waited = ', waited';
    const woken = ['ok', 'not-equal', 'timed-out'][choose(ms === Infinity ? 2 : 3)];
    // An engine may round its sleep down.
    if (woken === 'timed-out') now += ms - choose(2) * 0.01;
    return woken;
  };
  const timeout = [Infinity, 0.25, 1000.25][choose(3)];
  const answer = block((...args) => (last = step(...args)), newWords(), 7, timeout);
  if (answer.what !== last.what) add(last, 'another result');
  rest.end();
}

/** Lets the microtasks run. */
async function flush() {
  for (let i = 0; i < 8; i++) await undefined;
}

/** Two callers in line, each of which may time out or be cancelled. */
async function runAsync(begin) {
  const words = newWords();
  const callers = [caller(), caller()];
  const starts = callers.map((each, index) => () => {
    // Those in line may have handed over for so long that the event loop has to turn.
    if (events.size > 1) now += choose(2) * 2 * HAND_OVER;
    const controller = new AbortController();
    const cancelled = event(() => controller.abort());
    const options = { timeout: 1e6, signal: controller.signal };
    const settled = () => {
      events.delete(cancelled);
      each.end();
    };
    each.looks = begin !== begins['turn.js'] && !pending.count;
    begin(each.step, words, index + 1, options).then(settled, settled);
  });
  for (const start of starts) event(start);
  while (callers.some(({ ended }) => !ended)) {
    const all = [...events];
    if (all.length === 0) throw new Error(`${driver}: nothing can happen, and a caller waits`);
    all[calls > MOST_CALLS ? draw() % all.length : choose(all.length)]();
    await flush();
  }
  while (events.size > 0) {
    [...events][0]();
    await flush();
  }
}

const crowd = (later) => (step, words, wanted, options) =>
  waitFor(
    () => ({ step, words, wanted, later }),
    options,
    () => true,
  );

const begins = {
  'turn.js': (step, words, wanted, options) => enqueue(step, words, options),
  'crowd.js': crowd(false),
  'crowd.js, later': crowd(true),
};

async function record(name, run) {
  driver = name;
  script = [];
  for (let i = 0; i < SYSTEMATIC + BY_CHANCE; i++) {
    chance = i < SYSTEMATIC ? 0 : i;
    calls = 0;
    ways = [];
    await run();
    if (i < SYSTEMATIC && !nextScript()) i = SYSTEMATIC;
  }
}

await record('js/src/blocking.js', runBlocking);
for (const [name, begin] of Object.entries(begins)) {
  polls = false;
  await record(`js/src/${name}`, () => runAsync(begin));
  polls = true;
  await record(`js/src/${name}, polling`, () => runAsync(begin));
}

const wrong = [...seen].filter((row) => !allowed.has(row));
const missed = [...allowed].filter((row) => !seen.has(row) && !ONLY_MODELLED.test(row));
for (const row of wrong) console.log(`the model does not allow: ${row}`);
for (const row of missed) console.log(`the driver never does: ${row}`);
console.log(`${allowed.size} rows, ${wrong.length} wrong, ${missed.length} missed`);
process.exitCode = wrong.length + missed.length ? 1 : 0;
