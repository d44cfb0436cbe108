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
  #begun;
  #last;
  /** @type {number[]} */
  #lengths = [];

  constructor(canvas) {
    this.#canvas = canvas;
  }

  /** Starts anew. */
  begin(now) {
    this.#begun = this.#last = now;
    this.#lengths = [];
  }

  /** A frame begins. */
  frame(now) {
    this.#lengths.push(now - this.#last);
    this.#last = now;
  }

  get perSecond() {
    return (1000 * this.#lengths.length) / (this.#last - this.#begun);
  }

  get longest() {
    return Math.max(0, ...this.#lengths);
  }

  draw() {
    const { context, width, height, scale } = clear(this.#canvas);
    const y = (ms) => height * (1 - Math.min(1, ms / HIGHEST_MS));
    const pitch = width / SHOWN;
    this.#lengths.slice(-SHOWN).forEach((ms, i) => {
      context.fillStyle = colour(this.#canvas, ms < 2 * USUAL_MS ? '--smooth' : '--late');
      context.fillRect(i * pitch, y(ms), Math.max(1, pitch - scale), height - y(ms));
    });
    context.fillStyle = colour(this.#canvas, '--line');
    context.fillRect(0, Math.round(y(USUAL_MS)), width, scale);
  }
}
