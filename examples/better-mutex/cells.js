/** What the threads of program.js share: the mutex, and by what the program directs them. */
export const MUTEX = 0;
/** How many are there. */
export const READY = 2;
/** How many may lock: first A, then B. */
export const BEGIN = 3;
/** How many have gone to sleep. */
export const ASLEEP = 4;
/** Whether A was woken. */
export const WOKEN = 5;
/** Whether A may go on. */
export const GO_ON = 6;
/** Whether B has got the mutex. */
export const GOT = 7;

export const cells = () => new Int32Array(new SharedArrayBuffer(4 * 8));
