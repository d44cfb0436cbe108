/** From wasm's nested blocks, which are only left by breaks, to if and else; and variables declared where they are first set. */
import { loop } from './loop.js';
import { jumpTable } from './switch.js';
import { assigned, block, count, literal, mentions, rewrite, walk } from './syntax.js';
import { negate } from './simplify.js';

/** @param {object} node a function */
export function structure(node) {
  const isPassing = (name) => count(node, (inner) => inner.type === 'Identifier' && inner.name === name) === 3;
  rewrite(node.body, (inner) => {
    if (inner.type === 'EmptyStatement') return [];
    if (inner.type === 'IfStatement') return withoutCopy(inner);
    if (inner.type === 'BlockStatement') return { ...inner, body: inner.body.flatMap(flat) };
    if (inner.type === 'LabeledStatement') return inner.body.type === 'BlockStatement' ? unlabel(inner) : inner;
    return inner.type === 'WhileStatement' ? loop(inner, isPassing) : inner;
  });
  for (const { name } of node.params) splitParameter(node, name);
  declareLocals(node);
}

function flat(statement) {
  return statement.type === 'BlockStatement' ? statement.body : [statement];
}

const breaksTo = (label) => (node) => node.type === 'BreakStatement' && node.label?.name === label;

/** What is done first in a labeled block is as well done before it. */
function unlabel(node) {
  const { body } = node.body;
  const found = body.findIndex(({ type }) => type !== 'ExpressionStatement');
  const start = found < 0 ? body.length : found;
  const rest = { ...node, body: block(body.slice(start)) };
  return [...body.slice(0, start), ...(jumpTable(rest) ?? conditional(rest))];
}

/** `L: { if (c) { a; break L; } b }` is `if (c) { a } else { b }`. */
function conditional(node) {
  const label = node.label.name;
  const body = withoutBreaks(node.body.body, breaksTo(label));
  return count(block(body), breaksTo(label)) > 0 ? [{ ...node, body: block(body) }] : body;
}

function withoutBreaks(statements, isBreak) {
  const at = statements.findIndex((statement) => {
    return (
      statement.type === 'IfStatement' && !statement.alternate && isBreak(statement.consequent.body?.at(-1) ?? statement.consequent)
    );
  });
  const last = statements.at(-1);
  if (at < 0) return last && isBreak(last) ? statements.slice(0, -1) : statements;
  const { test, consequent } = statements[at];
  const before = (consequent.body ?? [consequent]).slice(0, -1);
  const after = withoutBreaks(statements.slice(at + 1), isBreak);
  const rest = after.length === 0 ? null : block(after);
  const choice =
    before.length > 0 || !rest
      ? { type: 'IfStatement', test, consequent: block(before), alternate: rest }
      : { type: 'IfStatement', test: negate(test), consequent: rest, alternate: null };
  return [...statements.slice(0, at), withoutCopy(choice)];
}

/** `if (a === b) a = b; else …` is how wasm lets two names of one value meet. */
function withoutCopy(node) {
  const { test, consequent, alternate } = node;
  const [only, ...others] = consequent.body ?? [consequent];
  const copies = alternate && test.operator === '===' && only && others.length === 0 && assigned(only) === test.left.name;
  if (!copies || only.expression.right.name !== test.right.name || !test.right.name) return node;
  return { ...node, test: negate(test), consequent: alternate, alternate: null };
}

/** A parameter that is of no more use may have become a variable of another meaning. That gets a name of its own. */
function splitParameter(node, name) {
  const last = node.body.body.findLast((statement) => mentions(statement, name));
  if (!last) return;
  const home = innermostBlock(block([last]), name);
  if (home.body[0] === last || !setsFirst(home, name)) return;
  const local = `${name}$`;
  rewrite(home, (inner) => (inner.type === 'Identifier' && inner.name === name ? { ...inner, name: local } : inner));
  node.body.body.unshift(declaration('let', local, literal(0)));
}

/** Declares each variable where it gets its first value, if all its uses can see that; if not, at the top, where it is 0 as in wasm. */
function declareLocals(node) {
  const locals = new Map();
  rewrite(node.body, (inner) => {
    if (inner.type !== 'VariableDeclaration') return inner;
    for (const { id, init } of inner.declarations) locals.set(id.name, init);
    return [];
  });
  const undeclared = [];
  for (const [name, init] of locals) {
    if (mentions(node.body, name) && !declareAtFirstUse(node.body, name))
      undeclared.push(declaration('let', name, init ?? literal(0)));
  }
  node.body.body.unshift(...undeclared);
}

function declareAtFirstUse(body, name) {
  const home = innermostBlock(body, name);
  if (!setsFirst(home, name)) return false;
  const at = home.body.findIndex((statement) => mentions(statement, name));
  const first = home.body[at];
  const changes = count(body, ({ type, left }) => type === 'AssignmentExpression' && left.name === name);
  home.body[at] = declaration(changes === 1 ? 'const' : 'let', name, first.expression.right);
  return true;
}

/** Whether a block gives the variable a value before anything else is done with it there. */
function setsFirst({ body }, name) {
  const first = body.find((statement) => mentions(statement, name));
  return assigned(first) === name && !mentions(first.expression.right, name);
}

/** The smallest block that all mentions of a variable are in. */
function innermostBlock(body, name) {
  let home = body;
  const total = count(body, ({ type, name: other }) => type === 'Identifier' && other === name);
  walk(body, (inner) => {
    if (
      inner.type === 'BlockStatement' &&
      count(inner, ({ type, name: other }) => type === 'Identifier' && other === name) === total
    )
      home = inner;
  });
  return home;
}

function declaration(kind, name, init) {
  return {
    type: 'VariableDeclaration',
    kind,
    declarations: [{ type: 'VariableDeclarator', id: { type: 'Identifier', name }, init }],
  };
}
