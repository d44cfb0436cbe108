/**
 * The driver of everything that blocks: runs a step to its end, sleeping as it says. How long to
 * spin and to sleep is the policy's: awake.js.
 */

import { BRIEF, LONG_BRIEF, mayTryAgain, SLICE } from './awake.js';
import {
  LW_DONE,
  LW_GAVE_UP,
  LW_MUTEX_RESERVED,
  LW_MUTEX_STATE,
  LW_NOT_EQUAL,
  LW_OK,
  LW_RETRY,
  LW_SLICE,
  LW_START,
  LW_TIMED_OUT,
  LW_WAIT,
  LW_WAIT_BRIEF,
} from './core/constants.js';
import { mutexLockStep, mutexTake } from './core/mutex.js';
import { nap, now, wait } from './wait.js';

/**
 * @typedef {import('./wait.js').Words} Words
 *
 * @typedef {object} Answer what a step says (include/lockword/core/step.h)
 * @property {number} what is to be done; nothing any more, if it is less than LW_WAIT
 * @property {number} word which one to wait for, by its index
 * @property {number} phase what the step remembers
 * @property {number} expected the value to wait on; of LW_DONE, the result of the operation, if it
 *   has one
 *
 * @typedef {(words: Words, self: number, why: number, phase: number) => Answer} Step
 */

/**
 * Runs a step to its end, and sleeps whenever it says that it has to wait.
 *
 * @param {Step} step
 * @param {Words} words of the primitive
 * @param {number} self
 * @param {number} timeout ms
 * @returns {Answer} what ended it: LW_DONE, LW_GAVE_UP or another that is less than LW_WAIT
 */
export function block(step, words, self, timeout) {
  /**
   * Set before the first sleep, if the time is limited: to read the clock costs more than a step
   * that need not wait.
   */
  let deadline = 0;
  let remaining = timeout;
  let why = LW_START;
  let phase = 0;
  for (;;) {
    const answer = step(words, self, why, phase);
    const { what } = answer;
    if (what < LW_WAIT) return answer;
    phase = answer.phase;
    if (what === LW_RETRY) continue;

    if (timeout < Infinity) {
      deadline ||= now() + timeout;
      remaining = deadline - now();
    }
    const slice = what === LW_WAIT_BRIEF ? ('waitAsync' in Atomics ? BRIEF : LONG_BRIEF) : SLICE;
    const woken = wait(words, answer.word, answer.expected, Math.min(remaining, slice));
    if (woken === 'ok') why = LW_OK;
    else if (woken === 'not-equal') why = LW_NOT_EQUAL;
    else if (remaining > slice) why = LW_SLICE;
    // An engine that rounds its sleep down has not used up the time: nothing happened yet.
    else why = now() < deadline ? LW_NOT_EQUAL : LW_TIMED_OUT;
  }
}

/**
 * Tries at once, then spins, then blocks. Until it blocks, the step is told that its time is up: so
 * it leaves no mark, and a reservation bars it like any newcomer.
 *
 * @param {Step} step which can end at once, and does nothing but look if it cannot
 * @param {Words} words
 * @param {number} wanted
 * @param {number} timeout ms; 0 tries once
 * @returns {Answer}
 */
export function spinThenBlock(step, words, wanted, timeout) {
  let tries = 0;
  do {
    const answer = step(words, wanted, LW_TIMED_OUT, 0);
    if (answer.what !== LW_GAVE_UP) return answer;
  } while (timeout > 0 && mayTryAgain(tries++, nap));
  return block(step, words, wanted, timeout);
}

/**
 * Takes a mutex, blocking this thread until it gets it. Spins first. A reservation ends the spin:
 * otherwise a spinning thread would overtake the waiters for which the mutex is reserved.
 *
 * @param {Words} words
 * @param {number} self
 * @param {number} timeout ms; 0 tries once
 * @returns {number} LW_DONE, LW_GAVE_UP or LW_DEADLOCK
 */
export function lockBlocking(words, self, timeout) {
  for (let tries = 0; timeout > 0 && mayTryAgain(tries, nap); tries++) {
    if (mutexTake(words, self)) return LW_DONE;
    if (Atomics.load(words, LW_MUTEX_STATE) & LW_MUTEX_RESERVED) break;
  }
  return block(mutexLockStep, words, self, timeout).what;
}
