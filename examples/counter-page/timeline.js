/**
 * The picture of which thread held the lock, and which waited: a row for each thread, over the last
 * moments of a run while it goes on, and over any part of it afterwards.
 */

import { clear, colour } from './canvas.js';
import { THREADS } from './shared.js';
import { SLOT_US } from './strip.js';

const slotAt = (ms) => Math.floor((ms * 1000) / SLOT_US);
const percent = (share) => `${(100 * share).toFixed(share < 0.01 ? 2 : share < 0.1 ? 1 : 0)} %`;
const seconds = (ms, span) => `${(ms / 1000).toFixed(span < 100 ? 3 : 2)} s`;

/**
 * A turn of the page is too short to be seen among so many: it is drawn at least so high, in
 * pixels.
 */
const VISIBLE = 3;

/**
 * Pictures of less than SMOOTH_MS would flicker if they moved: each is shown for a while, to be
 * looked at.
 */
const SMOOTH_MS = 500;
const GLANCE_MS = 300;
const calm = matchMedia('(prefers-reduced-motion: reduce)');

export class Timeline {
  #figure;
  /** @type {import('./strip.js').Strip[]} */
  #strips = [];
  #rows;
  #slider;
  #drawn = -Infinity;
  #length = 0;

  /** @param {HTMLElement} figure */
  constructor(figure) {
    this.#figure = figure;
    this.#slider = figure.querySelector('input[type=range]');
    this.#rows = THREADS.map((name) => addRow(figure.querySelector('.rows'), name));
    figure.addEventListener('input', () => this.draw());
  }

  /** How much of the run is shown, ms. */
  get #span() {
    return Number(new FormData(this.#figure.querySelector('form')).get('span'));
  }

  /** A run begins, and these strips record it. */
  begin(strips) {
    this.#strips = strips;
    this.#drawn = -Infinity;
    this.#slider.disabled = true;
    for (const { share } of this.#rows) share.textContent = '';
  }

  /** The run goes on: shows the last moments of what is now this long, ms. */
  follow(length) {
    this.#length = length;
    const flickers = this.#span < SMOOTH_MS || calm.matches;
    if (flickers && Math.abs(length - this.#drawn) < GLANCE_MS) return;
    this.#drawn = length;
    this.#paint(length);
  }

  /**
   * Shows a run that is over. It opens where most is to be seen; the slider goes through all of it.
   */
  show(strips, length) {
    this.#strips = strips;
    this.#length = length;
    for (const [thread, { canvas, name, share }] of this.#rows.entries()) {
      const { inside, waiting } = strips[thread].shares(0, slotAt(length), slotAt(length));
      share.textContent = percent(inside);
      canvas.ariaLabel = `${name}: inside ${percent(inside)} of the time, waiting ${percent(waiting)}`;
    }
    const { max } = this.#slider;
    this.#slider.value = Math.round(
      (max * this.#busiestStart()) / Math.max(1, length - this.#span),
    );
    this.draw();
  }

  /**
   * When the part of the run begins in which most threads take part, ms. Among equals the sum of
   * square roots decides: it is large when each thread has a little, smaller when one has
   * everything.
   */
  #busiestStart() {
    const span = this.#span;
    let best = { start: 0, score: -1 };
    for (let start = 0; start === 0 || start + span <= this.#length; start += span / 4) {
      const inside = this.#strips.map(
        (strip) => strip.shares(slotAt(start), slotAt(start + span), slotAt(this.#length)).inside,
      );
      const score = inside.reduce((sum, share) => sum + (share > 0 && 10 + Math.sqrt(share)), 0);
      if (score > best.score) best = { start, score };
    }
    return best.start;
  }

  /** Shows the part that the slider says. */
  draw() {
    if (this.#strips.length === 0) return;
    const { value, max } = this.#slider;
    const hidden = Math.max(0, this.#length - this.#span);
    this.#slider.disabled = hidden === 0;
    this.#paint(this.#span + (hidden * Number(value)) / Number(max));
  }

  /** @param {number} until the last moment that is shown, ms */
  #paint(until) {
    const span = this.#span;
    const from = Math.max(0, until - span);
    const now = slotAt(this.#length);
    const colours = {
      inside: colour(this.#figure, '--inside'),
      waiting: colour(this.#figure, '--waiting'),
    };
    this.#rows.forEach(({ canvas }, thread) => {
      paintRow(canvas, this.#strips[thread], slotAt(from), slotAt(from + span), now, colours);
    });
    this.#figure.querySelector('#from').textContent = seconds(from, span);
    this.#figure.querySelector('#until').textContent = seconds(from + span, span);
  }
}

/** A row of the picture: name, canvas, share. */
function addRow(rows, name) {
  const label = document.createElement('span');
  label.textContent = name;
  const canvas = document.createElement('canvas');
  canvas.role = 'img';
  canvas.ariaLabel = name;
  const share = document.createElement('b');
  rows.append(label, canvas, share);
  return { name, canvas, share };
}

/**
 * In each column, from below: the share of that time in which the thread was inside, then waiting.
 */
function paintRow(canvas, strip, from, until, now, colours) {
  const { context, width, height, scale } = clear(canvas);
  const slotOf = (x) => from + Math.floor(((until - from) * x) / width);
  for (let x = 0; x < width; x++) {
    const first = slotOf(x);
    const { inside, waiting } = strip.shares(first, Math.max(first + 1, slotOf(x + 1)), now);
    const top = inside > 0 ? height - Math.max(VISIBLE * scale, inside * height) : height;
    context.fillStyle = colours.waiting;
    context.fillRect(x, height - (inside + waiting) * height, 1, (inside + waiting) * height);
    context.fillStyle = colours.inside;
    context.fillRect(x, top, 1, height - top);
  }
}
