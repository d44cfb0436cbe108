/**
 * How the faces of all that releases many at once wait: blocking or not, with a timeout and a
 * signal.
 */

import { block } from './blocking.js';
import { LW_ASYNC, LW_WAIT } from './core/constants.js';
import { giveUp, start } from './crowd.js';
import { begin, isDone, pending } from './limits.js';
import { signalOf, timeoutOf, timeoutToBlock } from './options.js';

/**
 * @typedef {import('./crowd.js').Operation} Operation
 * @typedef {import('./options.js').WaitOptions} WaitOptions
 * @typedef {import('./options.js').WaitSource} WaitSource
 */

/**
 * What a user is given of an operation: something to hand to `waitAny`, of which a compiler tells
 * nothing else. It brings the drivers of its own copy of lockword: those of lockword-region wait in
 * another domain.
 *
 * @param {Operation} operation
 * @returns {WaitSource}
 */
export function sourceOf(operation) {
  operation.start = start;
  operation.giveUp = giveUp;
  return /** @type {any} */ (operation);
}

/**
 * Blocks until the operation has ended.
 *
 * @param {Operation | WaitSource} operation
 * @param {number | WaitOptions | undefined} options
 * @param {string} call what the user has called; the same with 'Async' never blocks
 */
export function blockFor(operation, options, call) {
  const { step, words, wanted, names } = /** @type {Operation} */ (operation);
  return block(step, words, wanted, timeoutToBlock(options, call, names));
}

/**
 * Waits for an operation without blocking. If no call of this agent waits, and this one need not
 * either, there is no caller.
 *
 * @param {() => Operation | WaitSource} make may throw
 * @param {number | WaitOptions | undefined} options
 * @param {import('./line.js').Caller['toValue']} [toValue]
 * @param {typeof start} [starts] what its caller does first, if there is one
 * @returns {Promise<any>} rejects with what these throw, or the signal's reason
 */
export function waitFor(make, options, toValue = isDone, starts = start) {
  try {
    const operation = /** @type {Operation} */ (make());
    const { step, words, wanted, names } = operation;
    if (!pending.count) {
      timeoutOf(options, names);
      signalOf(options);
      const answer = step(words, wanted, LW_ASYNC, 0);
      if (answer.what < LW_WAIT) return Promise.resolve(toValue(answer, wanted));
    }
    return new Promise((resolve) => begin(resolve, operation, options, toValue, giveUp, starts));
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * Returns the marks of waiters, to be read before a step clears them: the two highest bits of the
 * first word, by their number, since an engine reads what is imported more slowly.
 *
 * @param {import('./wait.js').Words} words
 */
export const waitersOf = (words) => words[0] >> 30;

/**
 * Checks a number that a user gave, or that would come of it.
 *
 * @param {number} n
 * @param {number} min
 * @param {number} max
 * @param {string} name
 */
export function assertInteger(n, min, max, name) {
  if (!Number.isInteger(n) || n < min || n > max) refuse(n, min, max, name);
}

/**
 * Throws, also if another agent has changed a word meanwhile, so that n would do now.
 *
 * @param {number} n
 * @param {number} min
 * @param {number} max
 * @param {string} name
 * @returns {never}
 */
export function refuse(n, min, max, name) {
  if (typeof n !== 'number')
    throw new TypeError(`${name} must be a number, not ${n === null ? n : typeof n}`);
  throw new RangeError(`${name} must be an integer from ${min} to ${max}, not ${n}`);
}

/**
 * Refuses a promise where a result is needed, which it would not wait for. Nobody would hear of its
 * rejection either.
 *
 * @template T
 * @param {T} result
 * @param {string} message
 * @returns {T} the result
 */
export function assertSync(result, message) {
  const promise = /** @type {any} */ (result);
  if (!promise?.then) return result;
  promise.then(undefined, () => {});
  throw new TypeError(message);
}

/**
 * What a predicate says.
 *
 * @param {boolean} answer
 * @throws {TypeError} it is a promise
 */
export const saidBy = (answer) => assertSync(answer, 'the predicate is async');

/**
 * How much of the time is left of a call that waits several times.
 *
 * @param {number | WaitOptions | undefined} options
 * @returns {() => WaitOptions}
 */
export function remaining(options) {
  const deadline = performance.now() + timeoutOf(options);
  const signal = signalOf(options);
  return () => ({ timeout: Math.max(deadline - performance.now(), 0), signal });
}
