/** How smoothly the page runs: the time from each of its frames to the next. */

import { clear, colour } from './canvas.js';

/** How many frames are shown. */
const SHOWN = 120;
/** What the picture has room for. */
const HIGHEST_MS = 50;
/** What a frame takes on most screens. */
const USUAL_MS = 1000 / 60;

export class FrameMeter {
  #canvas;
  #last;
  /** @type {number[]} */
  #lengths = [];

  constructor(canvas) {
    this.#canvas = canvas;
  }

  /** Starts anew. */
  begin(now) {
    this.#last = now;
    this.#lengths = [];
  }

  /** Goes on after a pause: a page that nobody sees has no frames. */
  resume(now) {
    this.#last = now;
  }

  /** A frame begins. */
  frame(now) {
    this.#lengths.push(now - this.#last);
    this.#last = now;
  }

  get perSecond() {
    const sum = this.#lengths.reduce((sum, ms) => sum + ms, 0);
    return sum === 0 ? 0 : (1000 * this.#lengths.length) / sum;
  }

  get longest() {
    return Math.max(0, ...this.#lengths);
  }

  draw() {
    const { context, width, height, scale } = clear(this.#canvas);
    const y = (ms) => height * (1 - Math.min(1, ms / HIGHEST_MS));
    const pitch = width / SHOWN;
    const [smooth, late, line] = ['--smooth', '--late', '--line'].map((name) =>
      colour(this.#canvas, name),
    );
    this.#lengths.slice(-SHOWN).forEach((ms, i) => {
      context.fillStyle = ms < 2 * USUAL_MS ? smooth : late;
      context.fillRect(i * pitch, y(ms), Math.max(1, pitch - scale), height - y(ms));
    });
    context.fillStyle = line;
    context.fillRect(0, Math.round(y(USUAL_MS)), width, scale);
  }
}
