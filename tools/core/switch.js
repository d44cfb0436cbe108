/** From wasm's jump tables to the switch that they were. */
import { block, count, numberOf } from './syntax.js';

/**
 * A switch in wasm stands in the innermost of nested blocks, and leaves one of them for each case: what follows that block is the code of the
 * case, and falls through to what follows the next one.
 *
 *     out: { b: { a: { switch (x) { case 1: break a; case 2: break b; default: break out; } } … } … }
 *     switch (x) { case 1: … case 2: … }
 *
 * @param {object} node a labeled block, outermost
 * @returns {object[] | undefined} undefined if it is nothing of the kind
 */
export function jumpTable(node) {
  const blocks = nest(node);
  const table = blocks.at(-1).body.body[0];
  const labels = blocks.map(({ label }) => label.name);
  if (table?.type !== 'SwitchStatement' || blocks.at(-1).body.body.length > 1) return undefined;
  const targets = targetsOf(table);
  if (!targets.every((target) => labels.includes(target))) return undefined;
  const [out, ...inner] = labels;
  const cases = [];
  for (let depth = inner.length; depth > 0; depth--) {
    const code = blocks[depth - 1].body.body.slice(1);
    if (!targets.includes(labels[depth]) || !fitsIntoSwitch(block(code), inner)) return undefined;
    cases.push(...casesOf(table, targets, labels[depth], code));
  }
  const byDefault = targets[table.cases.findIndex(({ test }) => !test)];
  if (byDefault !== out && targets.includes(out)) cases.push(...casesOf(table, targets, out, []));
  const plain = { type: 'SwitchStatement', ...shift(table.discriminant, cases) };
  leaveBy(plain, out);
  return count(plain, isBreakTo(out)) > 0 ? [{ ...node, body: plain }] : [plain];
}

const isBreakTo = (name) => (node) => node.type === 'BreakStatement' && node.label?.name === name;

/** In a switch, a break without a label is not the loop's around it any more; and the inner blocks are none to leave. */
function fitsIntoSwitch(code, inner) {
  return count(code, (node) => node.type === 'BreakStatement' && (!node.label || inner.includes(node.label.name))) === 0;
}

/** Labeled blocks of which each begins with the next. */
function nest(node) {
  const [first] = node.body.body;
  return first?.type === 'LabeledStatement' && first.body.type === 'BlockStatement' ? [node, ...nest(first)] : [node];
}

/** The label that each case leaves; undefined where it does anything else. */
function targetsOf({ cases }) {
  return cases.map((_, i) => {
    const [statement, ...others] = cases.slice(i).find(({ consequent }) => consequent.length > 0)?.consequent ?? [];
    return statement?.type === 'BreakStatement' && others.length === 0 ? statement.label?.name : undefined;
  });
}

function casesOf(table, targets, label, code) {
  const cases = table.cases.filter((_, i) => targets[i] === label).map((one) => ({ ...one, consequent: [] }));
  cases.at(-1).consequent = code;
  return cases;
}

/** `switch (x - 1 | 0)`, counted from 0 as wasm does it, is a switch of x. */
function shift(discriminant, cases) {
  const { operator, left, right } = discriminant;
  const offset = operator === '|' && numberOf(right) === 0 && left.operator === '-' ? numberOf(left.right) : undefined;
  if (offset === undefined) return { discriminant, cases };
  const shifted = cases.map((one) => (one.test ? { ...one, test: { type: 'Literal', value: numberOf(one.test) + offset } } : one));
  return { discriminant: left.left, cases: shifted };
}

/** A break that is not in a loop needs no label. */
function leaveBy(plain, out) {
  const isOwn = isBreakTo(out);
  const shorten = (node) => {
    if (isOwn(node)) node.label = null;
    if (/^(For|While|DoWhile|SwitchStatement)/.test(node.type)) return;
    for (const child of Object.values(node).flat()) if (child?.type) shorten(child);
  };
  plain.cases.forEach(shorten);
}
