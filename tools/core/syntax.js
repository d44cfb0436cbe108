/** Small helpers over ESTree syntax trees. */

export const identifier = (name) => ({ type: 'Identifier', name });
export const literal = (value) => ({ type: 'Literal', value });
export const binary = (left, operator, right) => ({ type: 'BinaryExpression', operator, left, right });
export const logical = (left, operator, right) => ({ type: 'LogicalExpression', operator, left, right });
export const choice = (test, consequent, alternate) => ({ type: 'ConditionalExpression', test, consequent, alternate });
export const block = (body) => ({ type: 'BlockStatement', body });

const isNode = (value) => typeof value?.type === 'string';

/** Calls `visit` on every node, parents first. */
export function walk(node, visit) {
  visit(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) walk(child, visit);
  }
}

/** Replaces every node by what `replace` makes of it, children first. An array stands for several statements, or for none. */
export function rewrite(node, replace) {
  for (const [key, value] of Object.entries(node)) {
    if (Array.isArray(value)) node[key] = value.flatMap((child) => (isNode(child) ? rewrite(child, replace) : child));
    else if (isNode(value)) node[key] = rewrite(value, replace);
  }
  return replace(node);
}

export function mentions(node, name) {
  return count(node, (inner) => inner.type === 'Identifier' && inner.name === name) > 0;
}

export function count(node, matches) {
  let found = 0;
  walk(node, (inner) => {
    if (matches(inner)) found++;
  });
  return found;
}

/** The number that an expression is, or undefined. */
export function numberOf(node) {
  if (node.type === 'Literal' && typeof node.value === 'number') return node.value;
  if (node.type === 'UnaryExpression' && node.operator === '-') {
    const value = numberOf(node.argument);
    return value === undefined ? undefined : -value;
  }
  return undefined;
}

/** The name that a statement like `name = …;` assigns to, or undefined. */
export function assigned(statement) {
  const { type, expression } = statement;
  if (type !== 'ExpressionStatement' || expression.type !== 'AssignmentExpression' || expression.operator !== '=') return undefined;
  return expression.left.name;
}
