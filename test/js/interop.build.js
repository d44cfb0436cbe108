/** interop.build.js: what run.js builds before the runtimes run. */
export function buildInterop() {}
