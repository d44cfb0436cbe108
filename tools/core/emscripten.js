/**
 * node tools/core/emscripten.js [FOLDER]
 *
 * Writes library_lockword.js, which emcc takes as a `--js-library`: what C imports, and lockword's
 * JavaScript besides; in build/wasm, or in the folder.
 *
 * The library is read by emcc, whichever version, as text: it has macros, and takes a line that
 * begins with # for a directive. So lockword stands in it as one string, in an older JavaScript,
 * without private names.
 *
 * `emcc --closure=1` renames the properties of all that it reads, and calls a static member of a
 * class by a variable of its own. Neither may happen here: classes are asked for what they inherit,
 * and objects are shared with other copies of lockword. So all names of properties are quoted,
 * which Closure leaves alone.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildSync } from 'esbuild';
import { parsers } from 'prettier/plugins/acorn';

import { ROOT } from './toolchain.js';

const LIBRARY = 'library_lockword.js';
const NAME = 'lockword';

/** What the imports of 'lockword/emscripten' are called by Emscripten; all of them return to C. */
const FUNCTIONS = {
  lw_import_self: 'self',
  lw_import_now: 'now',
  lw_emscripten_refuse: 'lw_emscripten_refuse',
  lw_emscripten_lock_async_acquire: 'lw_emscripten_lock_async_acquire',
  lw_emscripten_semaphore_async_acquire: 'lw_emscripten_semaphore_async_acquire',
  lw_emscripten_condvar_wait_async: 'lw_emscripten_condvar_wait_async',
  lw_emscripten_cancel: 'lw_emscripten_cancel',
  lw_emscripten_cancel_all: 'lw_emscripten_cancel_all',
};

/** lockword as an expression: an object of all it exports, and `imports`. */
function bundle() {
  const { outputFiles } = buildSync({
    stdin: {
      contents: "export * from './index.js'; export { imports } from './emscripten.js';",
      resolveDir: join(ROOT, 'js/src'),
    },
    bundle: true,
    minify: true,
    format: 'iife',
    globalName: NAME,
    target: 'es2020',
    charset: 'ascii',
    write: false,
    logLevel: 'error',
  });
  const [{ text }] = outputFiles;
  const [, expression] = /^(?:"use strict";)?var lockword=([^]*?);?\n?$/.exec(text) ?? [];
  if (!expression || expression.includes('{{{'))
    throw new Error('emcc would read this bundle otherwise than it is');
  return quoted(expression);
}

/** Calls back for each node of a syntax tree. */
function walk(node, visit) {
  if (node?.type) visit(node);
  if (typeof node === 'object' && node) for (const inner of Object.values(node)) walk(inner, visit);
}

/**
 * The same expression with every name of a property as a string. It has been minified: a dot is
 * beside its name.
 */
function quoted(expression) {
  const edits = [];
  walk(
    parsers.acorn.parse(`(${expression})`, {}),
    ({ type, computed, optional, shorthand, kind, key, property }) => {
      const name = key ?? property;
      if (
        computed ||
        name?.type !== 'Identifier' ||
        type === 'MetaProperty' ||
        kind === 'constructor'
      )
        return;
      const string = JSON.stringify(name.name);
      if (property) edits.push([name.start - (optional ? 0 : 1), name.end, `[${string}]`]);
      // Closure drops a getter whose name is a mere string, if it sees no use of it.
      else if (type === 'MethodDefinition') edits.push([name.start, name.end, `[${string}]`]);
      else edits.push([name.start, name.end, shorthand ? `${string}:${name.name}` : string]);
    },
  );
  let text = `(${expression})`;
  for (const [start, end, by] of edits.sort((a, b) => b[0] - a[0]))
    text = text.slice(0, start) + by + text.slice(end);
  return text;
}

const functions = Object.entries(FUNCTIONS).map(([name, imported]) => {
  return `  ${name}__deps: ['$lockwordImports'],\n  ${name}: function(a, b, c, d, e) { return lockwordImports()['${imported}'](a, b, c, d, e); },`;
});

const library = `// lockword for emcc --js-library. Written by tools/core/emscripten.js.
mergeInto(LibraryManager.library, {
  $lockword__postset: "Module['lockword'] = lockword;",
  $lockword: ${JSON.stringify(bundle())},

  $lockwordImports__deps: ['$lockword', '$callUserCallback'],
  $lockwordImports: function() {
    function get(f) {
      return function(a, b, c, d) { callUserCallback(function() { wasmTable.get(f)(a, b, c, d); }); };
    }
    var imports = lockword['imports'](wasmMemory, function() { return { 'get': get }; })['lockword'];
    lockwordImports = function() { return imports; };
#if !MINIMAL_RUNTIME
    // Node ends a program that exits when its event loop has nothing left. It also comes here when
    // main returns and all goes on.
    var quit = quit_;
    quit_ = function(status, toThrow) {
      if (ABORT) imports['lw_emscripten_end']();
      quit(status, toThrow);
    };
#endif
    return imports;
  },

${functions.join('\n')}
});
`;

/** Writes the library and returns its path. */
export function build(folder = join(ROOT, 'build/wasm')) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, LIBRARY);
  writeFileSync(path, library);
  return path;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(`${build(process.argv[2] && resolve(process.argv[2]))}: ${library.length} bytes`);
}
