/** The page: what its buttons do, and what it shows. */

import { Crew } from './crew.js';
import { FrameMeter } from './frames.js';
import { diagnose, isIsolated, isolate } from './isolation.js';
import { THREADS, TURNS } from './shared.js';
import snippet from './snippet.js?raw';
import { Timeline } from './timeline.js';
import pageSource from './crew.js?url&no-inline';
import waysSource from './ways.js?url&no-inline';
import workerSource from './worker.js?url&no-inline';

const $ = (selector) => document.querySelector(selector);
const main = $('main');
const number = (n) => n.toLocaleString('en');

/** In the order in which they are compared. */
const WAYS = ['unsynchronised', 'atomic', 'guarded'];

/** loading, unavailable, ready, running, done or failed: the style sheet and the tests read it. */
function enter(state) {
  main.dataset.state = state;
  for (const fieldset of $('#controls').children)
    fieldset.disabled = state === 'unavailable' || state === 'failed';
}

function show({ count, expected, lost, progress = 1 }) {
  $('#count').textContent = number(count);
  $('#expected').textContent = number(expected);
  $('#lost').textContent = number(lost);
  $('#lost').classList.toggle('bad', lost > 0);
  $('#progress').value = progress;
}

/** What came of a run, in words. */
function verdictOf({ way, lost, ms, turns, dead, told }) {
  const took = `It took ${(ms / 1000).toFixed(1)} s.`;
  if (dead.length > 0) {
    const names = dead.map(({ thread }) => THREADS[thread].replace('worker ', '')).join(', ');
    const one = dead.length === 1;
    const died = `${one ? 'Worker' : 'Workers'} ${names} ${one ? 'was' : 'were'} terminated`;
    const next = one ? 'the next holder was told' : `${told} times the next holder was told`;
    const rest = lost > 0 ? `${number(lost)} were lost` : `all ${number(turns)} additions arrived`;
    return `${died} while holding the lock: ${next}, the others went on, and ${rest}. ${took}`;
  }
  if (lost > 0) {
    const why = 'two threads read the same number, and the second to write overwrote the first';
    return `${number(lost)} of ${number(TURNS)} additions were lost: ${why}. ${took}`;
  }
  if (way === 'unsynchronised')
    return `Nothing was lost this time, which was luck: nothing prevents it. ${took}`;
  return `All ${number(TURNS)} additions arrived. ${took}`;
}

/** What came of the first three runs, beside each other. */
function comparison({ lost }) {
  const first =
    lost > 0
      ? `Unsynchronised, ${number(lost)} of ${number(TURNS)} additions were lost.`
      : 'Unsynchronised, nothing was lost this time, which was luck.';
  return `${first} Atomic and guarded by a mutex, all of them arrived.`;
}

/**
 * Screen readers say it as a whole, once. They are not told of the numbers that change with each
 * frame.
 */
function say(count, words) {
  $('#spoken').textContent = `The count is ${number(count)}. `;
  $('#verdict').textContent = words;
}

const fail = ({ message }) => {
  enter('failed');
  $('#verdict').textContent = `It failed: ${message}`;
};

async function start() {
  const crew = await Crew.gather();
  const timeline = new Timeline($('#timeline'));
  /** The last run of each way: it is shown again when the way is chosen. */
  const runs = {};
  let meter = new FrameMeter($('#frames canvas'));

  function showFrames() {
    meter.draw();
    $('#fps').textContent = number(Math.round(meter.perSecond));
    $('#longest').textContent = number(Math.round(meter.longest));
  }

  /** Shows a run while it goes on. */
  function watch(begun, before, step) {
    const frame = (now) => {
      if (main.dataset.state !== 'running') return;
      requestAnimationFrame(frame);
      meter.frame(now);
      showFrames();
      timeline.follow(performance.now() - begun);
      // Before the count: what is done by now has been written by then, unless it is lost.
      const { done } = crew;
      const { count } = crew;
      const lost = Math.max(0, done - Math.abs(count - before));
      const { turns } = crew;
      show({ count, expected: before + step * turns, lost, progress: done / turns });
    };
    requestAnimationFrame(frame);
  }

  async function run(way, step) {
    const begun = performance.now();
    enter('running');
    main.dataset.way = way;
    say(crew.count, 'Adding …');
    meter = new FrameMeter($('#frames canvas'));
    meter.begin(begun);
    timeline.begin(crew.shared.strips);
    watch(begun, crew.count, step);

    const result = await crew.run(way, step);
    if (!document.hidden) meter.frame(performance.now());
    runs[way] = { ...result, way, meter, strips: crew.shared.strips.map((strip) => strip.copy()) };
    const { lost, ms } = result;
    $(`label[data-way=${way}] b`).textContent =
      lost > 0 ? `${number(lost)} lost` : `exact, in ${(ms / 1000).toFixed(1)} s`;
  }

  /** Shows a run that is over, and says what came of it. The next one goes on from there. */
  function look(run, words = verdictOf(run)) {
    enter('done');
    main.dataset.way = run.way;
    crew.count = run.count;
    ({ meter } = run);
    showFrames();
    timeline.show(run.strips, run.ms);
    show(run);
    say(run.count, words);
  }

  async function runOne(way, step) {
    await run(way, step);
    // Another one may have been chosen meanwhile.
    look(runs[chosenWay()] ?? runs[way]);
  }

  /** All ways, one after another, each from 0. */
  async function compare() {
    for (const way of WAYS) {
      $(`[name=way][value=${way}]`).checked = true;
      crew.count = 0;
      await run(way, 1);
    }
    look(runs[chosenWay()], comparison(runs.unsynchronised));
  }

  /** Terminates a worker that holds the lock: of the guarded run that goes on, or of a new one. */
  async function terminate() {
    if (isRunning()) {
      if (main.dataset.way === 'guarded') crew.terminate();
      return;
    }
    $('[name=way][value=guarded]').checked = true;
    const over = runOne('guarded', 1);
    crew.terminate();
    await over;
  }

  const isRunning = () => main.dataset.state === 'running';
  const chosenWay = () => new FormData($('#controls')).get('way');

  $('#controls').addEventListener('submit', (event) => {
    event.preventDefault();
    const { value } = event.submitter;
    if (value === 'terminate') terminate().catch(fail);
    else if (isRunning()) return;
    else if (value === 'compare') compare().catch(fail);
    else runOne(chosenWay(), Number(value)).catch(fail);
  });
  $('#controls').addEventListener('change', () => {
    const run = runs[chosenWay()];
    if (run && !isRunning()) look(run);
  });

  crew.failed.catch(fail);

  const redraw = () => {
    if (isRunning()) return;
    timeline.draw();
    meter.draw();
  };
  addEventListener('resize', redraw);
  document.addEventListener('visibilitychange', () => meter.resume(performance.now()));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  enter('ready');
  compare().catch(fail);
}

/** The program to copy, and the sources of this page. */
function showCode() {
  $('#snippet').textContent = snippet;
  $('#copy').addEventListener('click', async () => {
    getSelection().selectAllChildren($('#snippet'));
    const copied = await navigator.clipboard.writeText(snippet).then(
      () => true,
      () => false,
    );
    $('#copied').textContent = copied
      ? 'Copied.'
      : 'It is selected: copy it as you would any text.';
  });
  const sources = { ways: waysSource, worker: workerSource, page: pageSource };
  for (const [name, url] of Object.entries(sources)) $(`#source-${name}`).href = url;
}

function element(name, ...content) {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

const addItem = (...content) => $('#missing ul').append(element('li', ...content));

/**
 * Says what is missing, and what to do.
 *
 * @param {string | undefined} failure of the service worker
 */
async function explain(failure) {
  const { headers, hints } = await diagnose(failure);
  for (const header of headers) addItem('The server did not send ', element('code', header), '.');
  for (const hint of hints) addItem(hint);
  $('#missing').hidden = false;
  enter('unavailable');
}

showCode();
if (isIsolated()) start().catch(fail);
else explain(import.meta.env.PROD ? await isolate('./service-worker.js') : undefined);
