/** The page: what its buttons do, and what it shows. */

import { Crew } from './crew.js';
import { FrameMeter } from './frames.js';
import { diagnose, isIsolated, isolate } from './isolation.js';
import { TURNS } from './shared.js';
import { Timeline } from './timeline.js';

const $ = (selector) => document.querySelector(selector);
const main = $('main');
const number = (n) => n.toLocaleString('en');

/** loading, unavailable, ready, running, done or failed: style sheet and tests go by it. */
function enter(state) {
  main.dataset.state = state;
  for (const fieldset of $('#controls').children) fieldset.disabled = state === 'unavailable' || state === 'failed';
}

function show({ count, expected, lost, progress }) {
  $('#count').textContent = number(count);
  $('#expected').textContent = number(expected);
  $('#lost').textContent = number(lost);
  $('#lost').classList.toggle('bad', lost > 0);
  $('#progress').value = progress;
}

function showFrames(meter) {
  meter.draw();
  $('#fps').textContent = number(Math.round(meter.perSecond));
  $('#longest').textContent = number(Math.round(meter.longest));
}

/** What came of a run, in words. */
function verdictOf(way, lost) {
  if (lost > 0)
    return `${number(lost)} of ${number(TURNS)} were lost: two read the same number, and the second to write overwrote the first.`;
  if (way === 'unsynchronised') return 'Nothing was lost this time, which was luck: nothing prevents it.';
  return `All ${number(TURNS)} additions arrived.`;
}

/** Said as a whole by screen readers, once: numbers that change with each frame are not. */
function showVerdict(way, { count, lost, ms }) {
  const took = `${(ms / 1000).toFixed(1)} s`;
  $('#spoken').textContent = `The count is ${number(count)}. `;
  $('#verdict').textContent = `${verdictOf(way, lost)} It took ${took}.`;
  $(`label[data-way=${way}] b`).textContent = lost > 0 ? `${number(lost)} lost` : `exact, in ${took}`;
}

function start() {
  const crew = new Crew();
  const meter = new FrameMeter($('#frames canvas'));
  const timeline = new Timeline($('#timeline'), crew.shared.strips);

  /** Shows a run while it goes on. */
  function watch(begun, before, step) {
    const frame = (now) => {
      if (main.dataset.state !== 'running') return;
      requestAnimationFrame(frame);
      meter.frame(now);
      showFrames(meter);
      timeline.follow(performance.now() - begun);
      // Before the count: what is done by now has been written by then, unless it is lost.
      const { done } = crew;
      const { count } = crew;
      const lost = Math.max(0, done - Math.abs(count - before));
      show({ count, expected: before + step * TURNS, lost, progress: done / TURNS });
    };
    requestAnimationFrame(frame);
  }

  async function click(way, step) {
    const begun = performance.now();
    enter('running');
    $('#spoken').textContent = '';
    $('#verdict').textContent = 'Adding …';
    meter.begin(begun);
    timeline.begin(way);
    watch(begun, crew.count, step);

    const result = await crew.run(way, step);
    enter('done');
    if (!document.hidden) meter.frame(performance.now());
    showFrames(meter);
    timeline.end(result.ms);
    show({ ...result, progress: 1 });
    showVerdict(way, result);
  }

  $('#controls').addEventListener('submit', (event) => {
    event.preventDefault();
    if (main.dataset.state === 'running') return;
    const way = new FormData(event.target).get('way');
    click(way, Number(event.submitter.value)).catch(fail);
  });

  const fail = ({ message }) => {
    enter('failed');
    $('#verdict').textContent = `It failed: ${message}`;
  };
  crew.failed.catch(fail);

  const redraw = () => {
    if (main.dataset.state === 'running') return;
    timeline.draw();
    meter.draw();
  };
  addEventListener('resize', redraw);
  document.addEventListener('visibilitychange', () => meter.resume(performance.now()));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  timeline.draw();
  enter('ready');
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

if (isIsolated()) start();
else explain(import.meta.env.PROD ? await isolate('./service-worker.js') : undefined);
