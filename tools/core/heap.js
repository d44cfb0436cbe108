/** From wasm2js's view of memory to ours: a heap that is a parameter, addresses that are unsigned, and a notify that is imported. */
import { binary, identifier, mentions, numberOf, rewrite, walk } from './syntax.js';

const HEAP = identifier('heap');

/** The functions that touch memory, themselves or by those they call. */
export function touchers(functions) {
  const names = new Set();
  let before;
  do {
    before = names.size;
    for (const { id, body } of functions) {
      walk(body, ({ type, name }) => {
        if (type === 'Identifier' && (name === 'HEAP32' || name === 'lw_notify' || names.has(name))) names.add(id.name);
      });
    }
  } while (names.size > before);
  return names;
}

/** Lets a function reach memory through a parameter `heap`. */
export function passHeap(node, touching) {
  rewrite(node.body, (inner) => {
    if (inner.type === 'MemberExpression' && inner.object.name === 'HEAP32')
      return { ...inner, object: HEAP, property: indexOf(inner.property) };
    if (inner.type !== 'CallExpression') return inner;
    const { callee, arguments: args } = inner;
    if (callee.object?.name === 'Atomics') return { ...inner, arguments: [HEAP, indexOf(args[1]), ...args.slice(2)] };
    if (callee.name === 'lw_notify')
      return call('notify', [HEAP, binary(unsigned(args[0]), '>>>', { type: 'Literal', value: 2 }), countOf(args[1])]);
    return touching.has(callee.name) ? call(callee.name, [HEAP, ...args]) : inner;
  });
  for (const view of ['HEAP8', 'HEAPU8', 'HEAP16', 'HEAPU16', 'HEAPU32', 'HEAP32']) {
    if (mentions(node.body, view)) throw new Error(`${node.id.name} reaches memory through ${view}: the core is made of words`);
  }
  if (touching.has(node.id.name)) node.params.unshift(HEAP);
}

/** wasm2js shifts addresses as if they were signed, which from 2 GiB on makes a negative index of them. */
function indexOf(node) {
  if (node.type !== 'BinaryExpression' || node.operator !== '>>' || numberOf(node.right) !== 2)
    throw new Error('not the address of a word');
  return { ...node, operator: '>>>', left: unsigned(node.left) };
}

/** What is shifted by >>> needs no other conversion. */
function unsigned(node) {
  return node.operator === '|' && numberOf(node.right) === 0 ? node.left : node;
}

/** How many to notify: a negative number is one from 2^31 on. */
function countOf(node) {
  const value = numberOf(node);
  return value === undefined ? binary(node, '>>>', { type: 'Literal', value: 0 }) : { type: 'Literal', value: value >>> 0 };
}

function call(name, args) {
  return { type: 'CallExpression', callee: identifier(name), arguments: args, optional: false };
}
