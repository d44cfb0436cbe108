/** The C core as one wasm module: each of its functions a function, none a part of another primitive's file. */
import { declarations } from './declarations.js';
import { CFLAGS, clang, headers, llvm, primitives, read } from './toolchain.js';

/** Loops as they are in C, with no first round before them. */
const AS_WRITTEN = ['-mllvm', '-rotation-max-header-size=0'];

/**
 * @typedef {import('./declarations.js').Declared} Declared
 * @param {object} words headers (toolchain.js: tree) that come before lockword's own
 * @returns {Promise<{ wasm: Uint8Array, constants: Map<string, number>, declared: Map<string, Declared>, exported: Set<string> }>} the functions
 *   by their symbols in the module, and which of these are for users
 */
export async function compileCore(words = {}) {
  const constants = new Map();
  const declared = new Map();
  const exported = new Set();
  const objects = {};
  for (const name of primitives()) {
    const core = await declarations(name);
    core.constants.forEach((value, constant) => constants.set(constant, value));
    const symbols = symbolsOf(name, core.functions);
    for (const { symbol, c, isPublic } of symbols) {
      declared.set(symbol, c);
      if (isPublic) exported.add(symbol);
    }
    objects[`${name}.o`] = await compile(name, symbols, words);
  }
  return { wasm: await link(objects, exported), constants, declared, exported };
}

/**
 * The functions that a primitive brings, with the symbols under which they are linked: what its header inlines gets a function of its
 * own, and what is static bears the primitive's name, so that no two are alike.
 */
function symbolsOf(name, functions) {
  return [...functions.values()].flatMap((c) => {
    const isPublic = c.name.startsWith(`lw_${name}_`);
    if (isPublic) return [{ symbol: c.isInline ? `${c.name}_` : c.name, c, isPublic }];
    return c.name.startsWith('lw_') || c.name.startsWith('_') ? [] : [{ symbol: `${name}_${c.name}`, c, isPublic }];
  });
}

async function compile(name, symbols, words) {
  const renames = symbols.filter(({ isPublic }) => !isPublic).map(({ symbol, c }) => `-D${c.name}=${symbol}`);
  const wrappers = symbols.filter(({ c, isPublic }) => isPublic && c.isInline).map(wrapper);
  const source = `${read(`src/core/${name}.c`)}\n${wrappers.join('\n')}`;
  const args = ['-Iwords', ...CFLAGS, ...AS_WRITTEN, ...renames, '-c', '-o', 'core.o', 'core.c'];
  const { files } = await clang(args, { ...headers(), words, 'core.c': source });
  return files['core.o'];
}

function wrapper({ symbol, c }) {
  const parameters = c.parameters.map(({ name, type }) => `${type} ${name}`).join(', ');
  return `${c.returns} ${symbol}(${parameters}) { return ${c.name}(${c.parameters.map(({ name }) => name).join(', ')}); }`;
}

async function link(objects, exported) {
  const exports = [...exported].map((symbol) => `--export=${symbol}`);
  const flags = [
    '--no-entry',
    '--import-memory',
    '--shared-memory',
    '--max-memory=65536',
    '-z',
    'stack-size=0',
    '--allow-undefined',
  ];
  const { files } = await llvm(['wasm-ld', ...flags, ...exports, '-o', 'core.wasm', ...Object.keys(objects)], objects);
  return files['core.wasm'];
}
