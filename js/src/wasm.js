/** For C that uses liblockword in WebAssembly: what its module imports. */

import { self } from './agent.js';
import { now } from './wait.js';

/**
 * Spread it into the imports of every instance. Each agent must instantiate the module for itself,
 * as threads in WebAssembly do.
 *
 *     const instance = await WebAssembly.instantiate(module, { env: { memory }, ...imports() });
 *
 * C and JavaScript of one worker are one agent then: what C has locked, JavaScript may unlock.
 */
export function imports() {
  return { lockword: { self: () => self, now } };
}
