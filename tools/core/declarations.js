/** What the C core declares, as clang understands it: functions with their prototypes and comments, and the values of constants. */
import { clang, headers, read } from './toolchain.js';

/** A macro whose value may be a number. */
const MACRO = /^#define (LW_[A-Z0-9_]+) +([^\s"{].*)$/gm;
const PROBE = 'probe_';

/**
 * @typedef {object} Declared
 * @property {string} name
 * @property {string} returns the C type
 * @property {{ name: string, type: string }[]} parameters
 * @property {string} comment
 * @property {boolean} isInline defined by a header
 */

/**
 * @param {string} name of a primitive
 * @returns {Promise<{ functions: Map<string, Declared>, constants: Map<string, number> }>}
 */
export async function declarations(name) {
  // A macro has no value before it is used.
  const macros = [...read(`include/lockword/core/${name}.h`).matchAll(MACRO)].map(([, macro]) => macro);
  const probes = macros.map((macro) => `enum { ${PROBE}${macro} = ${macro} };\n`).join('');
  const source = `${read(`src/core/${name}.c`)}\n${probes}`;
  const flags = ['--target=wasm32', '-std=c11', '-ffreestanding', '-Iinclude', '-fparse-all-comments', '-fsyntax-only'];
  const { stdout } = await clang([...flags, '-Xclang', '-ast-dump=json', 'core.c'], { ...headers(), 'core.c': source });
  const nodes = JSON.parse(stdout).inner;
  return { functions: functionsOf(nodes), constants: constantsOf(nodes) };
}

function functionsOf(nodes) {
  const functions = new Map();
  for (const node of nodes.filter(({ kind, inner }) => kind === 'FunctionDecl' && inner)) {
    const known = functions.get(node.name);
    functions.set(node.name, {
      name: node.name,
      // clang calls it by either name, by what it happens to have parsed before.
      returns: node.type.qualType.replace(/ ?\(.*$/, '').replace(/^_Bool$/, 'bool'),
      parameters: node.inner
        .filter(({ kind }) => kind === 'ParmVarDecl')
        .map((parameter) => ({ name: parameter.name, type: parameter.type.qualType })),
      comment: known?.comment || commentOf(node),
      isInline: node.inline === true,
    });
  }
  return functions;
}

function commentOf(node) {
  const words = [];
  const visit = ({ text, inner = [] }) => {
    if (text) words.push(text.trim());
    inner.forEach(visit);
  };
  node.inner.filter(({ kind }) => kind === 'FullComment').forEach(visit);
  return words.join(' ').trim();
}

function constantsOf(nodes) {
  const constants = new Map();
  for (const { inner } of nodes.filter(({ kind }) => kind === 'EnumDecl')) {
    let next = 0;
    for (const { name, inner: values } of inner.filter(({ kind }) => kind === 'EnumConstantDecl')) {
      const value = values ? valueOf(values[0]) : next;
      next = value + 1;
      const plain = name.replace(PROBE, '');
      if (plain.startsWith('LW_')) constants.set(plain, value);
    }
  }
  return constants;
}

/** An enumerator of another type is converted, below which its value is found. */
function valueOf(node) {
  return node.kind === 'ConstantExpr' ? Number(node.value) : valueOf(node.inner[0]);
}
