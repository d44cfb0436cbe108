/**
 * From wasm2js's view of memory to ours: the words of one primitive, which are a parameter, and indexes among them, where wasm has addresses;
 * and a notify that is imported.
 */
import { binary, identifier, literal, mentions, numberOf, rewrite, walk } from './syntax.js';

const WORDS = identifier('words');
const BYTES = 4;

/**
 * The functions that touch memory, themselves or by those they call. The first parameter of each is an address.
 *
 * @returns {Map<string, boolean>} by name: whether it is the primitive's own, and so 0, and need not be passed
 */
export function touchers(functions) {
  const found = new Map();
  let before;
  do {
    before = found.size;
    for (const { id, body } of functions) {
      walk(body, ({ type, name }) => {
        if (type === 'Identifier' && (name === 'HEAP32' || name === 'lw_notify' || found.has(name))) found.set(id.name, true);
      });
    }
  } while (found.size > before);
  for (const { params, body } of functions) {
    walk(body, ({ type, callee, arguments: args }) => {
      if (type === 'CallExpression' && found.has(callee.name) && args[0].name !== params[0].name) found.set(callee.name, false);
    });
  }
  return found;
}

/** Lets a function reach memory through a parameter `words`. */
export function passWords(node, touching) {
  const { name } = node.id;
  const [address] = node.params;
  const isOwn = touching.get(name);
  rewrite(node.body, (inner) => {
    if (inner.type === 'Identifier' && isOwn && inner.name === address.name) return literal(0);
    if (inner.type !== 'CallExpression') return inner;
    const { callee, arguments: args } = inner;
    if (callee.object?.name === 'Atomics') return call(callee.property.name, [WORDS, shifted(args[1]), ...args.slice(2)]);
    if (callee.name === 'lw_notify') return call('notify', [WORDS, indexOf(args[0]), countOf(args[1])]);
    if (!touching.has(callee.name)) return inner;
    return call(callee.name, [WORDS, ...(touching.get(callee.name) ? [] : [indexOf(args[0])]), ...args.slice(1)]);
  });
  for (const view of ['HEAP8', 'HEAPU8', 'HEAP16', 'HEAPU16', 'HEAPU32', 'HEAP32']) {
    if (mentions(node.body, view)) throw new Error(`${name} reaches memory through ${view}: the core is made of words`);
  }
  if (touching.has(name)) node.params.splice(0, isOwn ? 1 : 0, WORDS);
}

/** The index that wasm2js makes of an address. */
function shifted(node) {
  if (node.type !== 'BinaryExpression' || node.operator !== '>>' || numberOf(node.right) !== 2)
    throw new Error('not the address of a word');
  return indexOf(node.left);
}

/** The index of a word: of an address that is a parameter, the parameter is the index already. */
function indexOf(node) {
  if (node.type === 'Identifier') return node;
  if (numberOf(node) !== undefined) return literal(numberOf(node) / BYTES);
  const { left, operator, right } = node;
  if (operator === '|' && numberOf(right) === 0) return indexOf(left);
  if (operator !== '+') throw new Error('not an address that is known');
  const [base, offset] = [indexOf(left), indexOf(right)];
  return numberOf(base) === undefined ? binary(base, '+', offset) : literal(numberOf(base) + numberOf(offset));
}

/** How many to notify: a negative number is one from 2^31 on. */
function countOf(node) {
  const value = numberOf(node);
  return value === undefined ? binary(node, '>>>', literal(0)) : literal(value >>> 0);
}

function call(name, args) {
  return { type: 'CallExpression', callee: identifier(name), arguments: args, optional: false };
}
