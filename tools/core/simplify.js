/**
 * From asm.js, where everything is a number and says so, to plain JavaScript: no coercion where the kind of a value is known, booleans where
 * the C has them.
 */
import { binary, choice, literal, logical, numberOf, rewrite, walk } from './syntax.js';

const INVERSE = { '===': '!==', '!==': '===', '<': '>=', '>=': '<', '>': '<=', '<=': '>' };
const COMPARISONS = new Set(['==', '!=', ...Object.keys(INVERSE)]);
const INTEGERS = new Set(['|', '&', '^', '<<', '>>']);

/**
 * The kinds of a function's values: 'int', 'bool', 'bit' (0 or 1, which may stand for either) or 'any'. Parameters are int32 by contract,
 * addresses apart, which are only ever added to and shifted by >>>.
 */
class Kinds {
  /** @param {(name: string) => string} kindOfCall */
  constructor(node, kindOfCall) {
    this.kindOfCall = kindOfCall;
    this.variables = new Map(node.params.map(({ name }) => [name, 'int']));
    for (let before = ''; before !== String([...this.variables]);) {
      before = String([...this.variables]);
      walk(node.body, (inner) => {
        if (inner.type === 'VariableDeclarator' && inner.init) this.learn(inner.id.name, inner.init);
        if (inner.type === 'AssignmentExpression') this.learn(inner.left.name, inner.right);
      });
    }
  }

  learn(name, value) {
    this.variables.set(name, join(this.variables.get(name), this.of(value)));
  }

  of(node) {
    const value = numberOf(node);
    if (value !== undefined) return value === 0 || value === 1 ? 'bit' : value === (value | 0) ? 'int' : 'any';
    switch (node.type) {
      case 'Literal':
        return 'bool';
      case 'Identifier':
        return this.variables.get(node.name);
      case 'UnaryExpression':
        return node.operator === '!' ? 'bool' : node.operator === '~' ? 'int' : 'any';
      case 'BinaryExpression':
        if (node.operator === '>>>') return numberOf(node.right) > 0 ? 'int' : 'any';
        if (isCoercion(node)) return this.of(node.left) === 'any' ? 'int' : this.of(node.left);
        if (this.isOfBooleans(node)) return 'bool';
        return INTEGERS.has(node.operator) ? 'int' : COMPARISONS.has(node.operator) ? 'bool' : 'any';
      case 'LogicalExpression':
        return 'bool';
      case 'ConditionalExpression':
        return join(this.of(node.consequent), this.of(node.alternate));
      case 'AssignmentExpression':
        return this.of(node.right);
      case 'MemberExpression':
        return 'int';
      case 'CallExpression':
        return node.callee.type === 'Identifier' ? this.kindOfCall(node.callee.name) : 'int';
      default:
        return 'any';
    }
  }

  /** Whether it is & or | of two booleans, of which one can be computed last, or not at all if the other decides. */
  isOfBooleans({ operator, left, right }) {
    const areBooleans = (operator === '&' || operator === '|') && this.of(left) === 'bool' && this.of(right) === 'bool';
    return areBooleans && (isPure(right) || (isPure(left) && !contains(right, 'AssignmentExpression')));
  }

  isInt(node) {
    const kind = this.of(node);
    return kind === 'int' || kind === 'bit';
  }
}

function join(a, b) {
  if (a === undefined || a === b) return b;
  if (b === undefined) return a;
  if (a === 'bit') return b;
  return b === 'bit' ? a : 'any';
}

/**
 * @param {object} node a function
 * @param {boolean} returnsBool
 * @param {(name: string) => string} kindOfCall
 */
export function simplify(node, returnsBool, kindOfCall) {
  const kinds = new Kinds(node, kindOfCall);
  if (returnsBool) returnBooleans(node, kinds);
  rewrite(node.body, (inner) => {
    switch (inner.type) {
      case 'VariableDeclarator':
        return inner.init ? { ...inner, init: as(kinds, kinds.variables.get(inner.id.name), inner.init) } : inner;
      case 'AssignmentExpression':
        return { ...inner, right: as(kinds, kinds.variables.get(inner.left.name), inner.right) };
      case 'BinaryExpression':
        return simplerBinary(kinds, inner);
      case 'UnaryExpression':
        return inner.operator === '!' ? not(kinds, inner.argument) : inner;
      case 'ConditionalExpression':
      case 'IfStatement':
        return { ...inner, test: test(kinds, inner.test) };
      default:
        return inner;
    }
  });
}

function returnBooleans(node, kinds) {
  const bare = (value) => (isCoercion(value) ? value.left : value);
  const returns = [];
  walk(node.body, (inner) => {
    if (inner.type === 'ReturnStatement') returns.push(inner);
  });
  for (const statement of returns) {
    const value = bare(statement.argument);
    if (value.type === 'Identifier' && kinds.of(value) === 'bit') kinds.variables.set(value.name, 'bool');
    statement.argument = as(kinds, 'bool', value);
  }
}

/** The same value where one of that kind is wanted. */
function as(kinds, kind, node) {
  if (kind !== 'bool') return kinds.of(node) === 'bool' ? asNumber(kinds, node) : node;
  if (node.type === 'LogicalExpression') return logical(as(kinds, kind, node.left), node.operator, as(kinds, kind, node.right));
  if (node.type === 'UnaryExpression' && kinds.isInt(node.argument)) return binary(node.argument, '===', literal(0));
  if (kinds.of(node) === 'bool') return node;
  return numberOf(node) === undefined ? binary(node, '!==', literal(0)) : literal(numberOf(node) !== 0);
}

function simplerBinary(kinds, node) {
  const { operator } = node;
  if (isCoercion(node) && kinds.of(node.left) === 'bool') return node.left;
  if (kinds.isOfBooleans(node)) {
    const [first, last] = isPure(node.right) ? [node.left, node.right] : [node.right, node.left];
    return logical(first, operator.repeat(2), last);
  }
  const left = asNumber(kinds, node.left);
  const right = asNumber(kinds, node.right);
  const value = numberOf(right);
  if (operator === '|' && value === 0 && kinds.isInt(left)) return left;
  if (operator === '>>>' && value === 0 && isNatural(left)) return left;
  if (operator === '^' && value === -1) return { type: 'UnaryExpression', operator: '~', prefix: true, argument: left };
  if (operator === '==' || operator === '!=') return binary(left, `${operator}=`, right);
  return { ...node, left, right };
}

function asNumber(kinds, node) {
  return kinds.of(node) === 'bool' ? choice(node, literal(1), literal(0)) : node;
}

function isNatural(node) {
  const value = node.operator === '&' ? numberOf(node.right) : numberOf(node);
  return value !== undefined && value >= 0;
}

/** The same where only its truth matters. wasm has no && and ||: it computes all operands, and then their union. */
function test(kinds, node) {
  const { type, operator } = node;
  if (operator === '!==' && numberOf(node.right) === 0 && kinds.isInt(node.left)) return node.left;
  if (type === 'BinaryExpression' && operator === '|') {
    const operands = operandsOf(node).filter((operand) => numberOf(operand) !== 0);
    const booleans = operands.filter(isFromBoolean).map((operand) => test(kinds, operand));
    if (!operands.slice(1).every(isPure)) return node;
    const numbers = operands.filter((operand) => !isFromBoolean(operand));
    if (numbers.length > 0) booleans.unshift(numbers.reduce((left, right) => binary(left, '|', right)));
    return booleans.reduce((left, right) => logical(left, '||', right));
  }
  if (type === 'ConditionalExpression') {
    const [yes, no] = [node.consequent, node.alternate];
    if (isFromBoolean(node)) return node.test;
    if (numberOf(yes) === 1) return logical(node.test, '||', test(kinds, no));
    if (numberOf(yes) === 0) return logical(negate(node.test), '&&', test(kinds, no));
    if (numberOf(no) === 1) return logical(negate(node.test), '||', test(kinds, yes));
    if (numberOf(no) === 0) return logical(node.test, '&&', test(kinds, yes));
  }
  return node;
}

function operandsOf(node) {
  return node.operator === '|' ? [...operandsOf(node.left), ...operandsOf(node.right)] : [node];
}

/** Whether it is what asNumber makes. */
function isFromBoolean(node) {
  return node.type === 'ConditionalExpression' && numberOf(node.consequent) === 1 && numberOf(node.alternate) === 0;
}

/** `x | 0`. */
function isCoercion(node) {
  return node.operator === '|' && numberOf(node.right) === 0;
}

/** Whether nobody can tell that it was not computed. A load counts as told: the JavaScript does all that the C does. */
function isPure(node) {
  return !contains(node, 'CallExpression', 'AssignmentExpression', 'MemberExpression');
}

function contains(node, ...types) {
  let found = false;
  walk(node, ({ type }) => (found ||= types.includes(type)));
  return found;
}

/** `!x` as a value: that of `!!i` is true or false, and not `i`. */
function not(kinds, node) {
  const negated = negate(test(kinds, node));
  return kinds.of(negated) === 'bool' ? negated : binary(negated, '!==', literal(0));
}

/** The opposite, where only its truth matters. */
export function negate(node) {
  if (node.type === 'UnaryExpression' && node.operator === '!') return node.argument;
  if (node.type === 'BinaryExpression' && INVERSE[node.operator]) return { ...node, operator: INVERSE[node.operator] };
  if (node.type === 'LogicalExpression') {
    return logical(negate(node.left), node.operator === '||' ? '&&' : '||', negate(node.right));
  }
  return { type: 'UnaryExpression', operator: '!', prefix: true, argument: node };
}
