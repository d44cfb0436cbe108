/**
 * What lockword uses of Node: its full types would let everything else of Node into code that is
 * for browsers, too.
 */
declare module 'node:worker_threads' {
  export const threadId: number;
}
declare module 'node:os' {
  export const constants: { errno: Record<string, number> };
  export function hostname(): string;
}
declare module 'node:process' {
  const process: {
    versions: Record<string, string | undefined>;
    env: Record<string, string | undefined>;
    getuid?: () => number;
  };
  export default process;
}
declare module 'node:crypto' {
  interface Hash {
    update(text: string): Hash;
    digest(encoding: 'base64url'): string;
  }
  export function createHash(algorithm: string): Hash;
}
declare module 'node:fs' {
  export function realpathSync(path: string): string;
}
declare module 'node:path' {
  export function resolve(path: string): string;
}
