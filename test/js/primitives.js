/** primitives.js: all primitives, as lockword exports them. */
import * as lockword from '../../js/src/index.js';

export const PRIMITIVES = Object.values(lockword).filter(({ BYTE_LENGTH }) => BYTE_LENGTH);

const SHORT = { RecursiveMutex: 'rmutex', Condition: 'cond', Semaphore: 'sem' };

/** A class's name in C: lw_NAME. */
export const nameInC = ({ type }) => SHORT[type] ?? type.toLowerCase();
