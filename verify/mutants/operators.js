/**
 * operators.js: finds what can be mutated in the C sources, and writes the sources in which all
 * mutants stand at once: each is switched on by the number in `lw_mutant` (mutant.h).
 *
 * It reads clang's syntax tree, so it depends on no layout. A mutation point is a range of the
 * source with the texts that may replace it. Points nest; a mutant's text is made of the original
 * text, since only one mutant is on at a time.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';

/**
 * @typedef {object} Mutant
 * @property {string} file from the root
 * @property {number} line
 * @property {string} operator
 * @property {string} key the function, and the part of its statement that changes: `f: a « b → c »`
 */

const BYTES_OF_TREE = 1 << 28;

/**
 * Gives each location of a tree its file: clang names a file only where it is another one than
 * before.
 */
function resolveFiles(tree) {
  let file = '';
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    if ('offset' in node) node.file = file = node.file ?? file;
    for (const key in node) if (key !== 'includedFrom') visit(node[key]);
  };
  visit(tree);
  return tree;
}

function parse(source, flags) {
  const options = [...flags, '-w', '-fsyntax-only', '-Xclang', '-ast-dump=json', source];
  return resolveFiles(
    JSON.parse(execFileSync('clang', options, { maxBuffer: BYTES_OF_TREE }).toString()),
  );
}

const isComparison = (node) =>
  node.kind === 'BinaryOperator' && /^([<>]=?|[=!]=)$/.test(node.opcode);
const isLogical = (node) => node.kind === 'BinaryOperator' && /^(&&|\|\|)$/.test(node.opcode);
const isNot = (node) => node.kind === 'UnaryOperator' && node.opcode === '!';
const typeOf = (node) => node.type?.desugaredQualType ?? node.type?.qualType ?? '';
const plainType = (node) => typeOf(node).replace(/^const /, '');
const children = (node) => (node.inner ?? []).filter((child) => child.kind);

/** What an implicit cast or a parenthesis is about. */
function bare(node) {
  while (/^(ImplicitCastExpr|ParenExpr|ConstantExpr)$/.test(node.kind)) node = children(node)[0];
  return node;
}

/** So many other variables are taken for one. */
const MOST_VARIABLES = 2;

/** The macros that tell tools what happens. */
const IS_ABOUT_TOOLS = /\bLW_(ANNOTATE|NOTE)/;

/** The other side of the boundary, and the negation. */
const BOUNDARIES = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };

class Source {
  constructor(file, root) {
    this.file = file;
    this.path = relative(root, file);
    this.text = readFileSync(file, 'utf8');
    this.bytes = Buffer.from(this.text);
    this.regions = new Map();
    this.insertions = [];
  }

  slice(start, end) {
    return this.bytes.subarray(start, end).toString();
  }

  /** The node's range, in bytes. A macro's is that of its name and arguments. */
  range(node) {
    const { begin, end } = node.range ?? {};
    const first = begin?.expansionLoc ?? begin;
    const last = end?.expansionLoc ?? end;
    if (first?.offset === undefined || first.file !== this.file || last.file !== this.file)
      return null;
    let stop = last.offset + last.tokLen;
    if (end.expansionLoc && /^\s*\(/.test(this.slice(stop, stop + 8))) stop = this.closing(stop);
    return {
      start: first.offset,
      end: stop,
      isMacro: !!begin.expansionLoc && first.offset === last.offset,
    };
  }

  textOf(node) {
    const { start, end } = this.range(node);
    return this.slice(start, end);
  }

  /** Behind the parenthesis that closes the next one. */
  closing(at) {
    for (let depth = 0; ; at++) {
      const character = String.fromCharCode(this.bytes[at]);
      if (character === '(') depth++;
      if (character === ')' && --depth === 0) return at + 1;
    }
  }
}

/** Finds the mutants of the functions in some files. */
export class Mutator {
  /**
   * @param {string} root
   * @param {string[]} files to mutate
   * @param {string[]} flags for clang
   */
  constructor(root, files, flags) {
    this.root = root;
    this.flags = flags;
    this.sources = new Map(
      files.map((file) => [resolve(root, file), new Source(resolve(root, file), root)]),
    );
    this.families = new Map();
    this.seen = new Set();
    /** @type {Mutant[]} */
    this.mutants = [];
  }

  /**
   * Reads a translation unit: all functions of .c files, and those of headers that these or
   * `isRoot` lead to.
   */
  read(unit, isRoot) {
    const tree = parse(resolve(this.root, unit), this.flags);
    const functions = new Map();
    for (const node of tree.inner) {
      if (node.kind === 'EnumDecl') this.addEnum(node);
      if (
        node.kind === 'FunctionDecl' &&
        children(node).some(({ kind }) => kind === 'CompoundStmt')
      )
        functions.set(node.name, node);
    }
    for (const source of this.sources.values()) this.addDefines(source);
    this.addDefines(new Source(resolve(this.root, unit), this.root));
    const reached = new Set();
    const reach = (node) => {
      const name =
        node.referencedDecl?.kind === 'FunctionDecl' ? node.referencedDecl.name : undefined;
      if (name && functions.has(name) && !reached.has(name)) {
        reached.add(name);
        reach(functions.get(name));
      }
      // What only tools are told is not explored.
      const file = node.kind === 'DeclStmt' && this.sources.get(node.range.begin.file);
      if (!file || !IS_ABOUT_TOOLS.test(file.textOf(node))) children(node).forEach(reach);
    };
    for (const [name, node] of functions) {
      if (!isRoot(node)) continue;
      reached.add(name);
      reach(node);
    }
    for (const name of reached) this.addFunction(functions.get(name));
  }

  addEnum(node) {
    const names = children(node)
      .filter(({ kind }) => kind === 'EnumConstantDecl')
      .map(({ name }) => name);
    for (const name of names) this.families.set(name, names);
  }

  /** Constants that are defined one below the other are alike, comments between them or not. */
  addDefines(source) {
    for (const [block] of source.text.matchAll(/(^(#define \w+ .*|\/\*.*\*\/)\n)+/gm)) {
      const names = [...block.matchAll(/^#define (\w+) /gm)].map(([, name]) => name);
      for (const name of names) this.families.set(name, names);
    }
  }

  addFunction(node) {
    const source = this.sources.get(node.loc.expansionLoc?.file ?? node.loc.file);
    if (!source || this.seen.has(`${source.path}:${node.name}`)) return;
    this.seen.add(`${source.path}:${node.name}`);
    this.source = source;
    this.function = node.name;
    this.result = node.type.qualType.replace(/ ?\(.*/, '');
    this.scope = children(node).filter(({ kind, name }) => kind === 'ParmVarDecl' && name);
    const body = children(node).find(({ kind }) => kind === 'CompoundStmt');
    // What comes to the end without a value is stopped there.
    if (this.result !== 'void')
      source.insertions.push([source.range(body).end - 1, 'lw_stop("ends without a value"); ']);
    this.statement(body, node);
  }

  /** Adds what may replace a node: an expression, or a whole statement. */
  add(node, operator, mutated, kind = 'expression') {
    const range = this.source.range(node);
    if (kind === 'statement' && this.source.slice(range.end, range.end + 1) === ';') range.end++;
    const original = this.source.slice(range.start, range.end);
    if (mutated === original || mutated === `(${original})`) return;
    const id = `${range.start}-${range.end}`;
    let region = this.source.regions.get(id);
    if (!region) this.source.regions.set(id, (region = { ...range, kind, alternatives: [] }));
    if (region.alternatives.some((other) => other.mutated === mutated)) return;
    const number = this.mutants.length + 1;
    region.alternatives.push({ number, mutated });
    this.mutants.push({
      file: this.source.path,
      line: this.source.slice(0, range.start).split('\n').length,
      operator,
      key: this.keyOf(range, original, mutated),
    });
  }

  keyOf({ start, end }, original, mutated) {
    const plain = (text) => text.replace(/\/\*[^]*?\*\//g, ' ').replace(/\s+/g, ' ');
    const short = (text) => (text.length > 70 ? `${text.slice(0, 45)} … ${text.slice(-20)}` : text);
    const { start: first, end: last } = this.context ?? { start, end };
    const before = plain(this.source.slice(Math.min(first, start), start)).trimStart();
    const after = plain(this.source.slice(end, Math.max(last, end))).trimEnd();
    const left = before.length > 24 ? `…${before.slice(-22)}` : before;
    const right = after.length > 24 ? `${after.slice(0, 22)}…` : after;
    const key = `${this.function}: ${left}«${short(plain(original).trim())} → ${short(plain(mutated).trim())}»${right}`;
    for (let n = 1; ; n++) {
      const unique = n === 1 ? key : `${key} #${n}`;
      if (!this.mutants.some((mutant) => mutant.key === unique)) return unique;
    }
  }

  statement(node, parent) {
    const { source } = this;
    const range = source.range(node);
    if (!range || range.isMacro) return;
    this.context = range;
    const parts = children(node);
    switch (node.kind) {
      case 'CompoundStmt': {
        const { scope } = this;
        this.scope = [...scope];
        let chain = null;
        parts.forEach((part, i) => {
          this.statement(part, node);
          chain = this.swapStatements(part, parts[i + 1], chain);
        });
        this.scope = scope;
        return;
      }
      case 'DeclStmt':
        for (const variable of parts) {
          if (!this.isAboutTools(node) && variable.inner) this.value(children(variable)[0]);
          this.scope.push(variable);
        }
        return;
      case 'IfStmt':
        this.head(parts[0], node);
        parts.slice(1).forEach((part) => this.statement(part, node));
        return;
      case 'WhileStmt':
        this.head(parts[0], node);
        this.loop(parts[1]);
        return;
      case 'DoStmt':
        this.loop(parts[0]);
        this.head(parts[1], node);
        return;
      case 'ForStmt': {
        const [init, , condition, increment, body] = node.inner;
        const { scope } = this;
        this.scope = [...scope];
        if (init?.kind) this.statement(init, node);
        if (condition?.kind) this.head(condition, node);
        if (increment?.kind) this.expression(increment);
        this.loop(body);
        this.scope = scope;
        return;
      }
      case 'SwitchStmt':
        this.value(parts[0]);
        this.statement(parts[1], node);
        return;
      case 'CaseStmt':
      case 'DefaultStmt':
        this.statement(parts.at(-1), node);
        return;
      case 'NullStmt':
        return;
      case 'ReturnStmt':
        if (parent.kind !== 'FunctionDecl') this.add(node, 'leave out a return', ';', 'statement');
        if (parts.length > 0 && !this.isAboutTools(node)) {
          this.context = range;
          if (this.result === 'bool') this.condition(parts[0]);
          else this.value(parts[0]);
        }
        return;
      case 'ContinueStmt':
      case 'BreakStmt':
        this.add(node, 'leave out a jump', ';', 'statement');
        return;
      default:
        if (node.kind === 'CStyleCastExpr' || this.isAboutTools(node)) return;
        this.add(node, 'leave out a statement', ';', 'statement');
        this.expression(node);
    }
  }

  /** Of the macros that tell tools what happens, nothing is explored. */
  isAboutTools(node) {
    return IS_ABOUT_TOOLS.test(this.source.textOf(node));
  }

  /** The condition of an if or a loop. */
  head(node) {
    this.context = this.source.range(node);
    if (this.isAboutTools(node)) return;
    this.condition(node);
    this.add(node, 'negate a condition', `!(${this.source.textOf(node)})`);
  }

  /** A loop that does nothing that the explorer sees is stopped. */
  loop(body) {
    const { start, end } = this.source.range(body);
    const whole = this.source.slice(end, end + 1) === ';' ? end + 1 : end;
    this.source.insertions.push([start, '{ lw_turn(); '], [whole, ' }']);
    this.statement(body, { kind: 'loop' });
  }

  /**
   * Two statements in the other order. Of three, the second swap's text begins with the first one's
   * (`chain`), so that mutants nest. Returns where it begins, or null.
   */
  swapStatements(node, next, chain) {
    if (
      !next ||
      ![node, next].every(({ kind }) =>
        /^(CallExpr|BinaryOperator|CompoundAssignOperator|IfStmt)$/.test(kind),
      )
    )
      return null;
    const [one, other] = [node, next].map((part) => this.whole(part));
    const between = this.source.slice(one.end, other.start);
    if (/\breturn\b|LW_NOTE/.test(this.source.slice(one.start, other.end))) return null;
    const text = ({ start, end }) => this.source.slice(start, end);
    this.context = null;
    const start = chain ?? one.start;
    const before = this.source.slice(start, one.start);
    this.addRange(
      { start, end: other.end },
      'swap two statements',
      `${before}${text(other)}${between}${text(one)}`,
    );
    return start;
  }

  addRange({ start, end }, operator, mutated) {
    this.add(
      {
        range: {
          begin: { offset: start, file: this.source.file },
          end: { offset: end, tokLen: 0, file: this.source.file },
        },
      },
      operator,
      mutated,
      'statement',
    );
  }

  /** A statement's range, with its semicolon. */
  whole(node) {
    const range = this.source.range(node);
    return this.source.slice(range.end, range.end + 1) === ';'
      ? { ...range, end: range.end + 1 }
      : range;
  }

  /** What is true or false. `forced`: the values that it is worth to force. */
  condition(node, forced = ['true', 'false']) {
    const range = this.source.range(node);
    if (!range) return;
    const text = this.source.textOf(node);
    const inner = bare(node);
    for (const value of forced) {
      const mutated = /\b\w+\(/.test(text) ? `((void)(${text}), ${value})` : value;
      if (text !== 'true' && text !== 'false')
        this.add(node, `force a condition: ${value}`, mutated);
      else this.add(node, 'negate a constant', text === 'true' ? 'false' : 'true');
    }
    if (range.isMacro) return;
    if (isLogical(inner)) {
      const weaker = inner.opcode === '&&' ? ['true'] : ['false'];
      children(inner).forEach((part) => this.condition(part, weaker));
    } else if (isNot(inner)) {
      const operand = children(inner)[0];
      if (isLogical(bare(operand)))
        children(bare(operand)).forEach((part) =>
          this.condition(part, bare(operand).opcode === '&&' ? ['true'] : ['false']),
        );
      else this.expression(operand);
    } else {
      this.expression(node);
    }
  }

  /** Whether a condition was forced here. */
  isForced(node) {
    const { start, end } = this.source.range(node);
    return (
      this.source.regions
        .get(`${start}-${end}`)
        ?.alternatives.some(({ mutated }) => /\btrue\b/.test(mutated)) ?? false
    );
  }

  /** A value that is used. */
  value(node) {
    this.expression(node);
  }

  /** What stands in an expression, itself included. */
  expression(node) {
    const { source } = this;
    const range = source.range(node);
    if (!range) return;
    if (range.isMacro) return this.constant(node);
    const text = (part) => source.textOf(part);
    const parts = children(node);
    switch (node.kind) {
      case 'ImplicitCastExpr':
      case 'ParenExpr':
        if (node.castKind === 'LValueToRValue' && bare(parts[0]).kind === 'DeclRefExpr')
          return this.variable(node, bare(parts[0]));
        return this.expression(parts[0]);
      case 'ConstantExpr':
      case 'CStyleCastExpr':
        return this.expression(parts.at(-1));
      case 'IntegerLiteral':
      case 'DeclRefExpr':
        return this.constant(node);
      case 'UnaryOperator':
        return this.unary(node, parts[0], text);
      case 'BinaryOperator':
        return this.binary(node, parts, text);
      case 'CompoundAssignOperator':
        return this.expression(parts[1]);
      case 'ConditionalOperator':
        this.condition(parts[0]);
        parts.slice(1).forEach((part) => this.expression(part));
        return;
      case 'CallExpr':
        return this.call(node, parts, text);
      default:
        parts.forEach((part) => this.expression(part));
    }
  }

  unary(node, operand, text) {
    if (node.opcode === '&') {
      // What is called changes a copy: what it found is stale from here on.
      const variable = bare(operand);
      if (variable.kind === 'DeclRefExpr')
        this.add(node, 'a stale value', `&(${plainType(variable)}){${text(variable)}}`);
      else this.expression(operand);
      return;
    }
    if (/^[~-]$/.test(node.opcode)) this.add(node, 'drop an operator', text(operand));
    if (isNot(node)) return this.condition(node);
    this.expression(operand);
  }

  binary(node, [left, right], text) {
    const { opcode } = node;
    if (opcode === '=') {
      if (/\(/.test(text(right)) && !/void/.test(typeOf(right)))
        this.add(node, 'a stale value', text(right));
      return this.expression(right);
    }
    if (opcode === ',') return [left, right].forEach((part) => this.expression(part));
    if (isLogical(node)) return this.condition(node);
    if (isComparison(node)) {
      if (BOUNDARIES[opcode])
        this.add(node, 'off by one', `${text(left)} ${BOUNDARIES[opcode]} ${text(right)}`);
    } else {
      this.add(node, opcode === '|' ? 'drop a flag' : 'drop an operand', text(left));
      // Of a mask in a condition that would be the condition forced.
      if (/^[|^+]$/.test(opcode) || (opcode === '&' && !this.isForced(node)))
        this.add(node, opcode === '|' ? 'drop a flag' : 'drop an operand', text(right));
      const other = { '+': '-', '-': '+', '<<': '>>', '>>': '<<' }[opcode];
      if (other) this.add(node, 'another operator', `${text(left)} ${other} ${text(right)}`);
    }
    this.expression(left);
    this.expression(right);
  }

  call(node, [callee, ...parts], text) {
    const name = bare(callee).referencedDecl?.name;
    if (name === '__builtin_expect')
      return this.typeIsBool(parts[0]) ? this.condition(parts[0]) : this.expression(parts[0]);
    if (
      /^(unsigned int|unsigned long|int)$/.test(plainType(node)) &&
      !/^lw_(cas|answer_of|waiters_wait|waiters_change)$/.test(name)
    ) {
      if (name === 'lw_load') this.add(node, 'a guess', '0');
      else if (this.context && !this.source.textOf(node).startsWith('lw_notify'))
        this.add(node, 'ignore a result', `((void)(${text(node)}), 0)`);
    }
    for (const part of parts) this.expression(part);
  }

  typeIsBool(node) {
    const inner = bare(node);
    return (
      isLogical(inner) || isComparison(inner) || isNot(inner) || /^_?[Bb]ool$/.test(typeOf(inner))
    );
  }

  /** A variable's value, for which another one of the same type is taken. */
  variable(node, reference) {
    const { referencedDecl } = reference;
    if (!/^(VarDecl|ParmVarDecl)$/.test(referencedDecl.kind)) return this.constant(node);
    if (!/^(unsigned int|int|enum .*)$/.test(plainType(referencedDecl))) return;
    const others = this.scope.filter(
      (other) =>
        other.name !== referencedDecl.name && plainType(other) === plainType(referencedDecl),
    );
    // The latest are the most alike.
    for (const { name } of others.slice(-MOST_VARIABLES)) this.add(node, 'another variable', name);
  }

  /** A constant, for which one that is like it is taken, or a number next to it. */
  constant(node) {
    const text = this.source.textOf(node);
    const family = this.families.get(text);
    if (/^lw_/.test(text)) return; // a memory order: Relacy's
    if (family) {
      const at = family.indexOf(text);
      for (const step of [1, family.length - 1])
        this.add(node, 'another constant', family[(at + step) % family.length]);
    } else if (/^LW_ALL$/.test(text)) {
      this.add(node, 'another constant', '1');
      this.add(node, 'another constant', '0');
    } else if (/^(0x[\da-f]+|\d+)u?$/i.test(text)) {
      const value = parseInt(text);
      this.add(node, 'off by one', `${value + 1}u`);
      if (value > 0) this.add(node, 'off by one', `${value - 1}u`);
    } else if (/^(true|false)$/.test(text)) {
      this.add(node, 'negate a constant', text === 'true' ? 'false' : 'true');
    }
  }

  /** The source with all its mutants. */
  *schemata() {
    for (const source of this.sources.values()) {
      const edits = [...source.regions.values()].sort(
        (a, b) => a.start - b.start || b.end - a.end || (a.kind === 'statement' ? -1 : 1),
      );
      const open = [];
      for (const edit of edits) {
        while (open.length > 0 && open.at(-1).end <= edit.start) open.pop();
        if (open.length > 0 && edit.end > open.at(-1).end)
          throw new Error(
            `${source.path}: two mutants overlap: ${source.slice(edit.start, edit.end)}`,
          );
        open.push(edit);
      }
      yield { path: source.path, text: render(source, edits) };
    }
  }
}

/** Writes a source with its regions, which are sorted, and its insertions. */
function render(source, regions) {
  let next = 0;
  const insertions = source.insertions.sort(([a], [b]) => a - b);
  const part = (start, end) => {
    let text = '';
    let at = start;
    while (next < regions.length && regions[next].start < end) {
      const region = regions[next++];
      text += plain(at, region.start);
      text += wrap(region);
      at = region.end;
    }
    return text + plain(at, end);
  };
  const plain = (start, end) => {
    let text = '';
    let at = start;
    for (const insertion of insertions) {
      const [place, inserted] = insertion;
      if (place < start || place > end || insertion.used) continue;
      insertion.used = true;
      text += source.slice(at, place) + inserted;
      at = place;
    }
    return text + source.slice(at, end);
  };
  const wrap = ({ start, end, kind, alternatives }) => {
    const original = part(start, end);
    if (kind === 'statement') {
      const chain = alternatives
        .map(({ number, mutated }) => `if (lw_is(${number})) { ${mutated} } else `)
        .join('');
      return `{ ${chain}{ ${original} } }`;
    }
    return `(${alternatives.map(({ number, mutated }) => `lw_is(${number}) ? (${mutated}) : `).join('')}(${original}))`;
  };
  return part(0, source.bytes.length);
}
