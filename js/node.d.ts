/** What lockword uses of Node: its full types would let everything else of Node into code that is for browsers, too. */
declare module 'node:worker_threads' {
  export const threadId: number;
}
declare module 'node:os' {
  export const constants: { errno: Record<string, number> };
}
declare module 'node:process' {
  const process: { versions: Record<string, string | undefined> };
  export default process;
}
