/** primitives.js: all primitives, as lockword exports them. */
import * as lockword from '../../js/src/index.js';

export const PRIMITIVES = Object.values(lockword).filter(({ BYTE_LENGTH }) => BYTE_LENGTH);
