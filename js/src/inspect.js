/**
 * Describes a primitive's state in words, the same as lockword/describe.h in C:
 *
 *     import 'lockword/inspect';
 *     console.log(`${mutex}`);
 *     // Mutex { held by agent 1a2b3c4d (this one), threads wait, event loops wait }
 *
 * From then on all primitives of this agent describe their states by toString(), and in Node, Deno
 * and Bun in console.log and util.inspect. A name says more than an id. A worker posts its id,
 * `self`, to the agents that want to name it:
 *
 *     import { nameAgent } from 'lockword/inspect';
 *     nameAgent(id, 'parser');
 *     console.log(`${mutex}`);      // Mutex { held by parser (agent 1a2b3c4d), threads wait }
 *
 * Import it for its effect. Only a bundle that imports it contains it.
 *
 * The state is that of one moment, and may be old when you read it; reading it changes nothing. An
 * agent appears as its id in hexadecimal, a native thread as the system's id of it. It does not
 * tell how long a lock has been held: every lock would have to read a clock and store the time.
 * Only a condition counts its waiters. The others know in which way agents wait; where one says
 * that threads or event loops wait, all of them may have given up since.
 */

import { self, shared } from './agent.js';
import { LW_MUTEX_IN_AN_ENGINE, LW_PERMITS_GATE } from './core/constants.js';
import { permitsOf } from './core/permits.js';
import * as lockword from './index.js';
import { meanings } from './meanings.js';

/** @type {(typeof import('./primitive.js').Primitive)[]} */
const primitives = Object.values(/** @type {Record<string, any>} */ (lockword)).filter(
  ({ type }) => type in meanings,
);

/** @type {Map<number, string>} */
const names = (shared.names ??= new Map());

/**
 * Gives an agent a name, by which this agent describes the holder of a lock. Other agents do not
 * see the name.
 *
 * @param {number} id what that agent's `self` is, or the kernel's id of a native thread
 * @param {string | undefined} name undefined: forgets it
 * @throws {TypeError} id is not an integer
 */
export function nameAgent(id, name) {
  if (!Number.isInteger(id)) throw new TypeError('id must be an integer');
  if (name === undefined) names.delete(id);
  else names.set(id, name);
}

/** @param {number} id */
function agent(id) {
  const plain = id & LW_MUTEX_IN_AN_ENGINE ? `agent ${id.toString(16)}` : `thread ${id}`;
  const name = names.get(id);
  if (name === undefined) return id === self ? `${plain} (this one)` : plain;
  return `${name} (${plain}${id === self ? ', this one' : ''})`;
}

/**
 * @param {ArrayLike<number>} words
 * @param {readonly import('./meanings.js').Choice[]} choices
 */
function describe(words, choices) {
  /** @param {import('./meanings.js').Field} [field] without one: not 0 */
  const valueOf = (field) => (field ? (words[field[0]] & field[1]) >>> 0 : 1);
  return choices.flatMap((choice) => {
    const phrase = choice.find(([, when, , also]) => valueOf(when) && valueOf(also));
    if (!phrase) return [];
    const [text, when, value = when] = phrase;
    const n = valueOf(value);
    /** @type {Record<string, string>} */
    const parts = {
      '%d': `${n}`,
      '%n': `${n + 1}`,
      '%s': n === 1 ? '' : 's',
      '%a': n ? agent(n) : 'somebody',
    };
    return text.replace(/%./g, (part) => parts[part]);
  });
}

for (const { prototype, type } of primitives) {
  /** @this {{ words: import('./wait.js').Words }} */
  const toString = function () {
    const words = Array.from(this.words, (_, i) => Atomics.load(this.words, i));
    if (type === 'Permits') words[LW_PERMITS_GATE] = permitsOf(this.words, 0);
    return `${type} { ${describe(words, meanings[type]).join(', ')} }`;
  };
  for (const name of ['toString', Symbol.for('nodejs.util.inspect.custom')])
    Object.defineProperty(prototype, name, { value: toString, configurable: true, writable: true });
}
