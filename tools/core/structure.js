/** From wasm's nested blocks, which are only left by breaks, to if, else and loops; and variables declared where they are first set. */
import { assigned, block, count, literal, mentions, rewrite, walk } from './syntax.js';
import { negate } from './simplify.js';

/** @param {object} node a function */
export function structure(node) {
  rewrite(node.body, (inner) => {
    if (inner.type === 'EmptyStatement') return [];
    if (inner.type === 'IfStatement') return withoutCopy(inner);
    if (inner.type === 'BlockStatement') return { ...inner, body: inner.body.flatMap(flat) };
    if (inner.type === 'LabeledStatement') return inner.body.type === 'BlockStatement' ? unlabel(inner) : inner;
    return inner.type === 'WhileStatement' ? loop(inner) : inner;
  });
  declareLocals(node);
}

function flat(statement) {
  return statement.type === 'BlockStatement' ? statement.body : [statement];
}

const breaksTo = (label) => (node) => node.type === 'BreakStatement' && node.label?.name === label;

/** `L: { …; if (c) { a; break L; } b }` is `{ …; if (c) { a } else { b } }`. */
function unlabel(node) {
  const label = node.label.name;
  const body = withoutBreaks(node.body.body, breaksTo(label));
  return count(block(body), breaksTo(label)) > 0 ? { ...node, body: block(body) } : block(body);
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
  const conditional =
    before.length > 0 || !rest
      ? { type: 'IfStatement', test, consequent: block(before), alternate: rest }
      : { type: 'IfStatement', test: negate(test), consequent: rest, alternate: null };
  return [...statements.slice(0, at), withoutCopy(conditional)];
}

/** `if (a === b) a = b; else …` is how wasm lets two names of one value meet. */
function withoutCopy(node) {
  const { test, consequent, alternate } = node;
  const [only, ...others] = consequent.body ?? [consequent];
  const copies = alternate && test.operator === '===' && only && others.length === 0 && assigned(only) === test.left.name;
  if (!copies || only.expression.right.name !== test.right.name || !test.right.name) return node;
  return { ...node, test: negate(test), consequent: alternate, alternate: null };
}

const isContinue = (node) => node?.type === 'ContinueStatement' && !node.label;

/** `while (1)` in its plainest form. */
function loop(node) {
  const { body } = node.body;
  const [before, last] = body.slice(-2);
  const leaves = last?.type === 'BreakStatement' && !last.label;
  if (
    leaves &&
    before?.type === 'IfStatement' &&
    !before.alternate &&
    before.consequent.body?.length === 1 &&
    isContinue(before.consequent.body[0])
  ) {
    const rest = block(body.slice(0, -2));
    if (count(rest, isContinue) === 0) return { type: 'DoWhileStatement', test: before.test, body: rest };
  }
  const rest = isContinue(last) ? body.slice(0, -1) : body;
  return { type: 'ForStatement', init: null, test: null, update: null, body: block(rest) };
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
  const at = home.body.findIndex((statement) => mentions(statement, name));
  const first = home.body[at];
  if (assigned(first) !== name || mentions(first.expression.right, name)) return false;
  const changes = count(body, ({ type, left }) => type === 'AssignmentExpression' && left.name === name);
  home.body[at] = declaration(changes === 1 ? 'const' : 'let', name, first.expression.right);
  return true;
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
