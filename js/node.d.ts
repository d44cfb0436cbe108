/** What lockword uses of Node: its full types would let everything else of Node into code that is for browsers, too. */
declare module 'node:worker_threads' {
  export const threadId: number;
}
