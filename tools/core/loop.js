/** From wasm's loops, which end unless they are told to go on, to JavaScript's, which go on unless they are left. */
import { negate } from './simplify.js';
import { assigned, block, count, rewrite, walk } from './syntax.js';

const isContinue = (node) => node?.type === 'ContinueStatement' && !node.label;
const isBreak = (node) => node?.type === 'BreakStatement' && !node.label;
const bodyOf = (node) => node.body ?? [node];

/**
 * `while (1)` in its plainest form.
 *
 * @param {object} node
 * @param {(name: string) => boolean} isPassing whether a variable is set once, and read once
 */
export function loop(node, isPassing) {
  const { body } = node.body;
  return doWhile(body) ?? forever(again(body, isPassing) ?? body);
}

function forever(body) {
  return { type: 'ForStatement', init: null, test: null, update: null, body: block(body) };
}

function doWhile(body) {
  const [before, last] = body.slice(-2);
  if (!isBreak(last) || before?.type !== 'IfStatement' || before.alternate) return undefined;
  const [first, ...others] = bodyOf(before.consequent);
  const rest = block(body.slice(0, -2));
  if (!isContinue(first) || others.length > 0 || assigned(body.at(-4) ?? last) === before.test.name) return undefined;
  return count(rest, isContinue) === 0 ? { type: 'DoWhileStatement', test: before.test, body: rest } : undefined;
}

/**
 * `if (c) { a; continue; } break;` is `if (!c) break; a`. Undefined if the loop does not go on in the end.
 *
 * @param {object[]} statements the last ones of a loop
 * @param {(name: string) => boolean} isPassing
 */
function again(statements, isPassing) {
  const last = statements.at(-1);
  if (isContinue(last)) return statements.slice(0, -1);
  if (!isBreak(last)) return undefined;
  const whole = unlabeled(statements.slice(0, -1));
  const choice = whole.at(-1);
  if (choice?.type !== 'IfStatement' || choice.alternate) return undefined;
  const body = bodyOf(choice.consequent);
  const rest = again(isContinue(body.at(-1)) ? body : [...body, last], isPassing);
  if (!rest) return undefined;
  const before = whole.slice(0, -1);
  const seen = rest.length === 0 && unchanged(before, choice.test, isPassing);
  if (seen) return [...before.slice(0, -2), { ...choice, test: seen, consequent: last }, before.at(-1)];
  return [...before, { ...choice, test: negate(choice.test), consequent: last }, ...rest];
}

/** `changed = a !== b; b = a;`, if it goes on where that is true: then it does not where `a === b`, and there is nothing to copy. */
function unchanged(before, test, isPassing) {
  const [change, copy] = before.slice(-2);
  if (!copy || !test.name || assigned(change) !== test.name || !isPassing(test.name)) return undefined;
  const { operator, left = {}, right = {} } = change.expression.right;
  const [to, from] = [assigned(copy), copy.expression?.right.name];
  const isCopy = to && from && [left.name, right.name].includes(to) && [left.name, right.name].includes(from);
  return operator === '!==' && isCopy ? negate(change.expression.right) : undefined;
}

/** What stands in a labeled block at the end: leaving that is leaving the loop. */
function unlabeled(statements) {
  const last = statements.at(-1);
  if (last?.type !== 'LabeledStatement' || last.body.type !== 'BlockStatement') return statements;
  const isLeaving = ({ type, label }) => type === 'BreakStatement' && label?.name === last.label.name;
  let inner = 0;
  walk(last.body, (node) => {
    if (/^(For|While|DoWhile|Switch)Statement$/.test(node.type)) inner += count(node, isLeaving);
  });
  if (inner > 0) return statements;
  rewrite(last.body, (node) => (isLeaving(node) ? { ...node, label: null } : node));
  return unlabeled([...statements.slice(0, -1), ...last.body.body]);
}
