/** Makes the module js/src/core.js of what wasm2js made of the C core. */
import { parse } from 'acorn';
import { generate } from 'astring';

import { simplify } from './simplify.js';
import { structure } from './structure.js';
import { numberOf, rewrite, walk } from './syntax.js';
import { passWords, touchers } from './words.js';

/** What wasm2js adds to the functions of the module: views, memory, and stubs that answer an i64 in two parts. */
const NOT_OURS = /^(__wasm_|legalstub\$|legalfunc\$)/;

/** The high half of the last i64 answer. */
const HIGH = 'i64toi32_i32$HIGH_BITS';
const ANSWER_HIGH = 'answerHigh';

/**
 * @typedef {import('./declarations.js').Declared} Declared
 * @param {string} asm wasm2js's output
 * @param {Map<string, Declared>} declared the C functions, by their names in the output
 * @param {Set<string>} exported which of them are for users of the module
 * @returns {string} the functions, unformatted
 */
export function translate(asm, declared, exported) {
  const functions = functionsOf(parse(asm, { ecmaVersion: 'latest', sourceType: 'module' }));
  const touching = touchers(functions);
  const names = new Map(functions.map(({ id }) => [id.name, camelCase(id.name)]));
  const kindOfCall = (name) => (declared.get(name)?.returns === 'bool' ? 'bool' : 'int');
  return functions
    .map((node) => {
      const { name } = node.id;
      const c = declared.get(name);
      if (!c) throw new Error(`the core has no function ${name}`);
      dropCoercions(node);
      passWords(node, touching);
      simplify(node, c.returns === 'bool', kindOfCall);
      structure(node);
      rename(node, withoutAddress(c, touching.get(name)), names, exported.has(name));
      spellMasks(node);
      return `${exported.has(name) ? `${documentation(node, c)}export ` : documentation(node, { ...c, comment: '' })}${generate(node)}`;
    })
    .join('\n\n');
}

/** lw_mutex_lock_step is mutexLockStep. */
export function camelCase(name) {
  return name.replace(/^lw_|_$/g, '').replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

function functionsOf(program) {
  const asmFunc = program.body.find(({ type, id }) => type === 'FunctionDeclaration' && id.name === 'asmFunc');
  return asmFunc.body.body.filter(({ type, id }) => type === 'FunctionDeclaration' && !NOT_OURS.test(id.name));
}

/** `$0 = $0 | 0` for each parameter tells asm.js what it is: an int32. */
function dropCoercions({ params, body }) {
  const names = new Set(params.map(({ name }) => name));
  body.body = body.body.filter(({ expression }) => {
    const { type, left, right } = expression ?? {};
    return !(
      type === 'AssignmentExpression' &&
      names.has(left.name) &&
      right.left?.name === left.name &&
      numberOf(right.right) === 0
    );
  });
}

/** The primitive's own address is not passed. */
function withoutAddress(c, isOwn) {
  return isOwn ? { ...c, parameters: c.parameters.slice(1) } : c;
}

/** Parameters get their names from C; locals, whose names the compiler forgot, are a, b, c, … in the order of appearance. */
function rename(node, c, functions, isExported) {
  const names = new Map([...functions, [HIGH, ANSWER_HIGH]]);
  const own = node.params.filter(({ name }) => name !== 'words');
  if (own.length === c.parameters.length) own.forEach(({ name }, i) => names.set(name, c.parameters[i].name));
  else if (isExported) throw new Error(`${c.name} has lost a parameter`);
  const taken = new Set(names.values());
  const letters = [...'abcdefghijklmnopqrstuvwxyz'].flatMap((letter, _, all) => [letter, ...all.map((second) => letter + second)]);
  const free = letters.sort((one, other) => one.length - other.length || (one < other ? -1 : 1)).filter((name) => !taken.has(name));
  walk(node, ({ type, name }) => {
    if (type === 'Identifier' && name.startsWith('$') && !names.has(name)) names.set(name, free.shift());
  });
  rewrite(node, (inner) => {
    return inner.type === 'Identifier' ? { ...inner, name: names.get(inner.name) ?? inner.name.replace(/^Math_/, 'Math.') } : inner;
  });
}

/** Masks in hexadecimal, as the C has them; what is negative only in int32 shows its bits. */
function spellMasks(node) {
  rewrite(node.body, (inner) => {
    if (inner.type === 'BinaryExpression' && ['&', '|', '^'].includes(inner.operator)) {
      return { ...inner, left: mask(inner.left), right: mask(inner.right) };
    }
    return inner.type === 'Literal' && inner.value > 0xff ? { ...inner, raw: hex(inner.value) } : inner;
  });
}

function mask(node) {
  const value = numberOf(node);
  return value < 0 || value > 9 ? { type: 'Literal', value: value >>> 0, raw: hex(value >>> 0) } : node;
}

export function hex(value) {
  return `0x${value.toString(16)}`;
}

const TYPES = { bool: 'boolean', void: 'void' };

function documentation({ params }, { comment, returns }) {
  const types = params.map(({ name }) => (name === 'words' ? '@param {Words} words' : `@param {number} ${name}`));
  const result = returns === 'void' ? [] : [`@returns {${TYPES[returns] ?? 'number'}}`];
  const lines = [...(comment ? [...wrap(comment), ''] : []), ...types, ...result];
  return `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}

function wrap(text) {
  const lines = [''];
  for (const word of text.split(/\s+/)) {
    if (lines.at(-1).length + word.length > 125) lines.push('');
    lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines;
}
