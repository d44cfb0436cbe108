/** The driver of everything that blocks: runs a step to its end, sleeping as it says. */

import { answerExpected, LW_NOT_EQUAL, LW_OK, LW_RETRY, LW_SLICE, LW_START, LW_TIMED_OUT, LW_WAIT, LW_WAIT_BRIEF } from './core.js';
import { BRIEF, SLICE } from './times.js';
import { wait } from './wait.js';

/**
 * @typedef {import('./wait.js').Words} Words
 * @typedef {(words: Words, self: number, why: number, phase: number) => number} Step
 */

/**
 * @param {Step} step
 * @param {Words} words of the primitive
 * @param {number} self
 * @param {number} timeout ms
 * @returns {number} LW_DONE, LW_GAVE_UP or LW_DEADLOCK
 */
export function block(step, words, self, timeout) {
  /** @type {number | undefined} Not before it is needed: a clock costs more than a step that need not wait. */
  let deadline;
  let why = LW_START;
  let phase = 0;
  for (;;) {
    const answer = step(words, self, why, phase);
    const expected = answerExpected();
    const what = answer & 0xff;
    if (what < LW_WAIT) return what;
    phase = answer >>> 16;
    if (what === LW_RETRY) continue;

    deadline ??= performance.now() + timeout;
    const slice = what === LW_WAIT_BRIEF ? BRIEF : SLICE;
    const left = deadline - performance.now();
    const woken = wait(words, (answer >>> 8) & 0xff, expected, Math.min(left, slice));
    if (woken === 'ok') why = LW_OK;
    else if (woken === 'not-equal') why = LW_NOT_EQUAL;
    else if (left > slice) why = LW_SLICE;
    // An engine that rounds its sleep down has not used up the time: nothing happened yet.
    else why = performance.now() < deadline ? LW_NOT_EQUAL : LW_TIMED_OUT;
  }
}
