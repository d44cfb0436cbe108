/**
 * Prints a file of the C core as JavaScript, from the syntax tree that clang makes of it: the same
 * functions, statements, names and comments, in the same order. It knows the subset of C in which
 * the core is written (docs/design.md, 'The core in JavaScript') and fails, with file and line, on
 * everything else.
 *
 * A uint32_t is represented by the int32 with the same bits, as an Int32Array holds it. Bit
 * operations return that anyway. The sum or difference of two may be another number, equal modulo
 * 2^32: `| 0` makes it an int32 where that could be seen. `>>> 0` makes an int32 the unsigned
 * number that it stands for, where its order counts. Neither is printed where bounds tell that it
 * changes nothing.
 */
import {
  asLines,
  blank,
  byPlace,
  definition,
  LARGEST,
  linesOf,
  namesIn,
  parametersOf,
  Source,
} from './source.js';
import { camelCase } from './toolchain.js';

/**
 * What a C type is in JavaScript. `max` is the greatest value of a number that cannot be negative
 * as an int32.
 */
const TYPES = {
  _Bool: { kind: 'bool', doc: 'boolean' },
  bool: { kind: 'bool', doc: 'boolean' },
  uint32_t: { kind: 'number', doc: 'number' },
  int32_t: { kind: 'number', doc: 'number' },
  lw_phase: { kind: 'number', doc: 'number', max: 0xffff },
  lw_answer: { kind: 'answer', doc: 'Answer' },
  'lw_word *': { kind: 'words', doc: 'Words' },
  'const lw_word *': { kind: 'words', doc: 'Words' },
  void: { kind: 'void', doc: 'void' },
};

/** Where the types are defined that are not JavaScript's own. */
const TYPEDEFS = { Answer: '../blocking.js', Words: '../wait.js' };

/** The functions of word.h and step.h that JavaScript has already. */
const LOAD = 'lw_load';
const SWAP = 'lw_cas';
const ATOMICS = { [LOAD]: 'load', lw_store: 'store', [SWAP]: 'compareExchange' };

/** The order of an access that JavaScript makes without Atomics. */
const UNORDERED = 'lw_unordered';
const ALL = 'LW_ALL';
const NOTIFY = /^lw_notify(_async|_both)?$/;
const SHARED = 'waiters';
const ANSWER = 'lw_answer_of';
const ANSWER_FIELDS = ['what', 'word', 'phase', 'expected'];

const COMPARISONS = { '==': '===', '!=': '!==', '<': '<', '>': '>', '<=': '<=', '>=': '>=' };
const RESERVED =
  /^(arguments|await|delete|eval|export|function|import|in|instanceof|let|new|of|this|typeof|var|with|yield)$/;

/** The least 2^n - 1 that is not less: what the union of two such numbers can be. */
const ones = (value) => (value === 0 ? 0 : 2 ** (32 - Math.clz32(value)) - 1);

/** One C file, with the headers that it includes, on its way to JavaScript. */
export class Printer extends Source {
  #variables = new Map();
  #usedConstants = new Set();
  #usedFunctions = new Set();
  #imports = new Map();

  /**
   * @param {string} name of the primitive
   * @param {any} tree what clang dumps of src/core/NAME.c, called core.c
   * @param {string[]} primitives the names of all
   * @param {(name: string) => boolean} isRead whether JavaScript, other than this file, reads it
   */
  constructor(name, tree, primitives, isRead) {
    super(name, tree);
    this.primitives = primitives;
    this.isRead = isRead;
    this.functions = this.#own();
  }

  // The module.

  /** What other modules may call, as C declares it. */
  get prototypes() {
    return this.functions.filter(isExported).map(({ node }) => ({
      name: node.name,
      returns: node.type.qualType.replace(/ ?\(.*$/, ''),
      parameters: parametersOf(node).map(({ name, type }) => ({ name, type: type.qualType })),
      isInline: node.inline === true,
    }));
  }

  /**
   * The functions that the primitive's file defines, and those that its header inlines and
   * JavaScript reads.
   */
  #own() {
    const isOwn = ({ kind, name, at, inner }) => {
      if (kind !== 'FunctionDecl' || !inner.some((node) => node.kind === 'CompoundStmt'))
        return false;
      return at.file === 'core.c' || (at.file === this.header && this.isRead(camelCase(name)));
    };
    const own = this.nodes.filter(isOwn).map(({ name }) => this.declared.get(name));
    for (const declared of own) declared.isOwn = true;
    return own;
  }

  /** @returns {string} the JavaScript, unformatted */
  print() {
    const printed = this.functions.map((declared) => this.#function(declared));
    const copies = [...this.#usedFunctions].map((name) => this.#function(this.declared.get(name)));
    const constants = this.#constantsUsed();
    const functions = [...copies, ...printed].join('\n\n');
    const module = [
      this.#head(),
      this.#importLines(),
      this.#typedefs(functions),
      constants,
      functions,
    ]
      .filter(Boolean)
      .join('\n\n');
    this.checkComments();
    return module;
  }

  #head() {
    const first = this.file('core.c').comments[0];
    first.isPrinted = true;
    const about = linesOf(first.comment).join('\n * ');
    return `/*\n * ${about}\n *\n * Printed by \`make core\` from ${this.source} and ${this.header}: do not edit.\n */`;
  }

  /**
   * The constants of its headers that the printed file or a driver imports, with those that they
   * are made of.
   */
  get publicConstants() {
    const imported = this.#imports.get('./constants.js') ?? new Set();
    const isImported = ([name, { isPublic }]) =>
      isPublic && (imported.has(name) || this.isRead(name));
    const names = [...this.constants]
      .filter(isImported)
      .flatMap(([name, { js }]) => [...namesIn(js), name]);
    return [...this.constants].filter(([name]) => names.includes(name)).sort(byPlace);
  }

  #importLines() {
    const line = ([from, names]) => `import { ${[...names].sort().join(', ')} } from '${from}';`;
    return [...this.#imports].map(line).join('\n');
  }

  #typedefs(functions) {
    const used = Object.entries(TYPEDEFS).filter(([type]) => functions.includes(`{${type}}`));
    return `/**\n${used.map(([type, from]) => ` * @typedef {import('${from}').${type}} ${type}\n`).join('')} */`;
  }

  #import(from, name) {
    this.#imports.set(from, (this.#imports.get(from) ?? new Set()).add(name));
    return name;
  }

  /** The file's own constants. Those of headers are imported: bundlers put in their values. */
  #constantsUsed() {
    const defined = new Set();
    const use = (name) => {
      const { js, isPublic } = this.constants.get(name);
      if (isPublic) return this.#import('./constants.js', name);
      namesIn(js).forEach(use);
      return defined.add(name);
    };
    [...this.#usedConstants].forEach(use);
    const ordered = [...this.constants].filter(([name]) => defined.has(name)).sort(byPlace);
    const lines = ordered.map(([name, constant]) => {
      const { behind } = constant;
      if (behind) behind.isPrinted = true;
      return `${this.aboveConstant(constant)}${definition(name, constant)}${behind ? ` ${asLines(behind.comment)}` : ''}`;
    });
    return lines.join('\n');
  }

  #function(declared) {
    const { node, body, file, doc } = declared;
    this.#variables = new Map();
    const parameters = parametersOf(node);
    for (const parameter of parameters)
      this.#variables.set(parameter.id, this.#typeOf(parameter, parameter.type.qualType));
    const returns = this.#typeOf(node, node.type.qualType.replace(/ ?\(.*$/, ''));
    const types = parameters.map((parameter) => {
      return `@param {${this.#variables.get(parameter.id).doc}} ${this.#name(parameter)}`;
    });
    if (doc) doc.isPrinted = true;
    const about = doc ? [...linesOf(doc.comment).map((line) => this.#speak(line)), ''] : [];
    const jsdoc = [
      ...about,
      ...types,
      ...(returns.kind === 'void' ? [] : [`@returns {${returns.doc}}`]),
    ];
    const comment = `/**\n${jsdoc.map((line) => ` * ${line}`).join('\n')}\n */\n`;
    this.returns = returns;
    this.copies = declared.isOwn && (node.inline || isFast(body)) ? new Set() : undefined;
    const text = this.#block(body, file).replace('{', `{${this.#copied()}`);
    const list = parameters.map((parameter) => this.#name(parameter)).join(', ');
    return `${comment}${isExported(declared) ? 'export ' : ''}function ${camelCase(node.name)}(${list}) ${text}`;
  }

  /**
   * The constants of headers that a fast function uses. It has copies of them, since an import
   * costs an engine a fraction of a nanosecond, and bundlers put in the values of these, too.
   */
  #copied() {
    const use = (name) => {
      this.copies.add(name);
      namesIn(this.constants.get(name).js).forEach(use);
    };
    [...(this.copies ?? [])].forEach(use);
    const ordered = [...this.constants].filter(([name]) => this.copies?.has(name)).sort(byPlace);
    return ordered.map(([name, constant]) => `${definition(name, constant)}\n`).join('');
  }

  /** A comment with the names of functions as they are in JavaScript. */
  #speak(text) {
    return text.replace(/\blw_\w+/g, (name) =>
      this.declared.get(name)?.node.at.file.includes('core') ? camelCase(name) : name,
    );
  }

  #typeOf(node, name) {
    const plain = name.replace(/^const (?!lw_word)/, '');
    return (
      TYPES[plain] ??
      (plain.startsWith('enum ')
        ? TYPES.uint32_t
        : this.fail(node, `${name}: not a type of the core`))
    );
  }

  #name(node) {
    const name = camelCase(node.name);
    return RESERVED.test(name) ? this.fail(node, `${name} is a word of JavaScript`) : name;
  }

  // Statements.

  #block(node, file) {
    const statements = node.inner ?? [];
    let at = node.at.begin + 1;
    const lines = statements.map((statement) => {
      const before = this.#between(file, at, statement.at.begin);
      at = statement.at.after;
      return before + this.#statement(statement, file);
    });
    return `{${lines.join('')}${this.#between(file, at, node.at.after - 1)}}`;
  }

  /** What stands between two statements: comments, and a blank line. */
  #between(file, begin, end) {
    const { text, comments } = this.file(file);
    let js = '';
    let at = begin;
    for (const comment of comments.filter(
      (candidate) => candidate.begin >= begin && candidate.after <= end,
    )) {
      comment.isPrinted = true;
      const gap = text.slice(at, comment.begin);
      js += gap.includes('\n')
        ? `${blank(gap)}\n${this.#speak(asLines(comment.comment))}`
        : ` ${this.#speak(asLines(comment.comment))}`;
      at = comment.after;
    }
    return `${js}${blank(text.slice(at, end))}\n`;
  }

  #statement(node, file) {
    const { kind, inner = [] } = node;
    const body = (statement) => this.#statement(statement, file);
    switch (kind) {
      case 'CompoundStmt':
        return this.#block(node, file);
      case 'DeclStmt':
        return inner.map((variable) => this.#variable(variable)).join('\n');
      case 'ReturnStmt':
        return inner.length > 0 ? `return ${this.#as(this.returns.kind, inner[0])};` : 'return;';
      case 'IfStmt': {
        const [test, yes, no] = inner;
        return `if (${this.#condition(test)}) ${body(yes)}${no ? ` else ${body(no)}` : ''}`;
      }
      case 'WhileStmt':
        return `while (${this.#condition(inner[0])}) ${body(inner[1])}`;
      case 'DoStmt':
        return `do ${body(inner[0])} while (${this.#condition(inner[1])});`;
      case 'ForStmt': {
        const [first, , test, next, repeated] = inner;
        const [begin, step] = [
          first.kind ? body(first) : ';',
          next.kind ? body(next).replace(/;$/, '') : '',
        ];
        return `for (${begin}${test.kind ? this.#condition(test) : ''};${step}) ${body(repeated)}`;
      }
      case 'SwitchStmt':
        return `switch (${this.#exact(inner[0])}) ${body(inner[1])}`;
      case 'CaseStmt':
        return `case ${this.#exact(inner[0])}: ${body(inner[1])}`;
      case 'DefaultStmt':
        return `default: ${body(inner[0])}`;
      case 'BreakStmt':
        return 'break;';
      case 'ContinueStmt':
        return 'continue;';
      case 'BinaryOperator':
      case 'CompoundAssignOperator':
        return this.#assignment(node);
      case 'CallExpr':
        return `${this.#call(node).js};`;
      case 'CStyleCastExpr':
        // `(void)parameter` says in C that it is not used.
        return node.castKind === 'ToVoid' && nameIn(inner[0])
          ? ''
          : this.fail(node, 'a cast that is a statement');
      default:
        return this.fail(node, `${kind} is no statement of the core`);
    }
  }

  #variable(node) {
    if (node.kind !== 'VarDecl' || node.storageClass) this.fail(node, 'not a plain variable');
    const isConst = node.type.qualType.startsWith('const ');
    const type = this.#typeOf(node, node.type.qualType);
    const [value] = (node.inner ?? []).filter(
      ({ kind }) => kind.endsWith('Expr') || kind.endsWith('Operator') || kind.endsWith('Literal'),
    );
    const { max = type.max } =
      value && isConst && type.kind === 'number' ? this.#number(value) : {};
    this.#variables.set(node.id, { ...type, max: isConst ? max : type.max });
    return `${isConst ? 'const' : 'let'} ${this.#name(node)}${value ? ` = ${this.#as(type.kind, value)}` : ''};`;
  }

  #assignment(node) {
    const { opcode, inner } = node;
    if (!['=', '|=', '&='].includes(opcode)) this.fail(node, `${opcode} as a statement`);
    const { js, kind } = this.#reference(inner[0]);
    if (kind !== 'number' && opcode !== '=') this.fail(node, `${opcode} of a ${kind}`);
    return `${js} ${opcode} ${this.#as(kind, inner[1])};`;
  }

  // Expressions. Parentheses stand around all of them: prettier takes away those that are not
  // needed.

  /** An expression where one of that kind is wanted. */
  #as(kind, node) {
    if (kind === 'bool') return this.#bool(node);
    if (kind === 'number') return this.#exact(node);
    const value = this.#value(node);
    return value.kind === kind ? value.js : this.fail(node, `a ${value.kind} instead of a ${kind}`);
  }

  /** An expression of which only its truth matters. */
  #condition(node) {
    const { js, kind, isExact } = this.#value(node, true);
    if (kind === 'bool') return js;
    return kind === 'number'
      ? isExact
        ? js
        : `(${js} | 0)`
      : this.fail(node, `a ${kind} as a condition`);
  }

  #bool(node) {
    const { js, kind } = this.#value(node);
    return kind === 'bool' ? js : `(${this.#exact(node)} !== 0)`;
  }

  /** A number, as an int32. */
  #exact(node) {
    const { js, isExact } = this.#number(node);
    return isExact ? js : `(${js} | 0)`;
  }

  /** A number, as it is in C. */
  #unsigned(node) {
    const { js, max } = this.#number(node);
    return max === undefined ? `(${js} >>> 0)` : js;
  }

  #number(node) {
    const value = this.#value(node);
    return value.kind === 'number' ? value : this.fail(node, `a ${value.kind} in arithmetic`);
  }

  /**
   * @param {any} node
   * @param {boolean} [isCondition] whether only its truth matters
   * @returns {{ js: string, kind: string, isExact?: boolean, value?: number, max?: number }}
   *   isExact: an int32; value: what is known of
   *   a constant; max: see TYPES
   */
  #value(node, isCondition = false) {
    const { kind, inner } = node;
    if (node.macro) return this.#constant(node, this.file(node.at.file).text.slice(...node.macro));
    switch (kind) {
      case 'ParenExpr':
      case 'ConstantExpr':
        return this.#value(inner[0], isCondition);
      case 'ImplicitCastExpr':
      case 'CStyleCastExpr':
        return this.#cast(node, isCondition);
      case 'IntegerLiteral': {
        const value = Number(node.value);
        const js = this.file(node.at.file)
          .text.slice(node.at.begin, node.at.after)
          .replace(/u$/i, '');
        return {
          js,
          kind: 'number',
          isExact: value <= LARGEST,
          ...(value <= LARGEST && { value, max: value }),
        };
      }
      case 'DeclRefExpr':
        if (node.referencedDecl.kind === 'EnumConstantDecl')
          return this.#constant(node, node.referencedDecl.name);
        return { ...this.#reference(node), isExact: true };
      case 'UnaryOperator':
        if (node.opcode === '!') return { js: `!${this.#condition(inner[0])}`, kind: 'bool' };
        if (node.opcode === '~')
          return { js: `(~${this.#number(inner[0]).js})`, kind: 'number', isExact: true };
        return this.fail(node, `${node.opcode} is no operator of the core`);
      case 'BinaryOperator':
        return this.#binary(node, isCondition);
      case 'ConditionalOperator':
        return this.#choice(node);
      case 'CallExpr':
        return this.#call(node);
      default:
        return this.fail(node, `${kind} is no expression of the core`);
    }
  }

  #constant(node, name) {
    if (name === 'true' || name === 'false') return { js: name, kind: 'bool' };
    if (name === 'UINT32_MAX') return { js: '-1', kind: 'number', isExact: true };
    const constant =
      this.constants.get(name) ?? this.fail(node, `${name}: not a constant of the core`);
    if (this.copies && constant.isPublic) this.copies.add(name);
    else this.#usedConstants.add(name);
    const { value } = constant;
    return {
      js: name,
      kind: 'number',
      isExact: true,
      ...(value <= LARGEST && { value, max: value }),
    };
  }

  #cast(node, isCondition) {
    const [inner] = node.inner;
    switch (node.castKind) {
      case 'LValueToRValue':
      case 'NoOp':
        return this.#value(inner, isCondition);
      case 'IntegralCast':
        if (!/^(_Bool|int|unsigned int|enum \w+)$/.test(typeOf(node)))
          this.fail(node, 'not 32 bits');
        return this.#value(inner, isCondition);
      case 'IntegralToBoolean':
        return { js: this.#bool(inner), kind: 'bool' };
      default:
        return this.fail(node, `${node.castKind} is no cast of the core`);
    }
  }

  #reference(node) {
    const declared = node.kind === 'DeclRefExpr' && this.#variables.get(node.referencedDecl.id);
    if (!declared) this.fail(node, 'not a variable or parameter');
    return { js: camelCase(node.referencedDecl.name), kind: declared.kind, max: declared.max };
  }

  #binary(node, isCondition) {
    const { opcode, inner } = node;
    const [left, right] = inner;
    if (opcode === '&&' || opcode === '||') {
      const operands = inner.map((operand) =>
        isCondition ? this.#condition(operand) : this.#bool(operand),
      );
      return { js: `(${operands.join(` ${opcode} `)})`, kind: 'bool' };
    }
    if (COMPARISONS[opcode]) {
      const isOrder = /[<>]/.test(opcode);
      if (isOrder && typeOf(left) !== 'unsigned int') this.fail(node, 'an order of signed numbers');
      const operands = inner.map((operand) =>
        isOrder ? this.#unsigned(operand) : this.#exact(operand),
      );
      return { js: `(${operands.join(` ${COMPARISONS[opcode]} `)})`, kind: 'bool' };
    }
    const [a, b] = [this.#number(left), this.#number(right)];
    const known = a.max !== undefined && b.max !== undefined;
    const result = (js, isExact, max) => ({ js: `(${js})`, kind: 'number', isExact, max });
    switch (opcode) {
      case '&':
        return result(
          `${a.js} & ${b.js}`,
          true,
          a.max === undefined || b.max === undefined ? (a.max ?? b.max) : Math.min(a.max, b.max),
        );
      case '|':
      case '^':
        return result(
          `${a.js} ${opcode} ${b.js}`,
          true,
          known ? ones(Math.max(a.max, b.max)) : undefined,
        );
      case '+': {
        const max = known && a.max + b.max <= LARGEST ? a.max + b.max : undefined;
        return result(`${a.js} + ${b.js}`, max !== undefined, max);
      }
      case '-':
        return result(`${a.js} - ${b.js}`, known, a.value >= b.max ? a.value : undefined);
      case '<<':
        return result(`${a.js} << ${b.js}`, true, undefined);
      case '>>': {
        const by = Number(this.constants.get(b.js)?.value ?? right.value);
        if (!(by > 0 && by < 32) || typeOf(node) !== 'unsigned int')
          this.fail(node, 'not an unsigned number, or shifted by something unknown');
        return result(`${a.js} >>> ${b.js}`, true, (a.max ?? 0xffffffff) >>> by);
      }
      default:
        return this.fail(node, `${opcode} is no operator of the core`);
    }
  }

  #choice(node) {
    const [test, yes, no] = node.inner;
    const values = [this.#value(yes), this.#value(no)];
    if (values.every(({ kind }) => kind === 'bool'))
      return { js: `(${this.#condition(test)} ? ${values[0].js} : ${values[1].js})`, kind: 'bool' };
    const [a, b] = [this.#number(yes), this.#number(no)];
    const max = a.max === undefined || b.max === undefined ? undefined : Math.max(a.max, b.max);
    return {
      js: `(${this.#condition(test)} ? ${this.#exact(yes)} : ${this.#exact(no)})`,
      kind: 'number',
      isExact: true,
      max,
    };
  }

  #call(node) {
    const [callee, ...args] = node.inner;
    const name = nameIn(callee) ?? this.fail(node, 'a call of something that has no name');
    if (ATOMICS[name]) {
      if (nameIn(args.at(-1)) === UNORDERED) return this.#plain(node, name, args);
      // Atomics makes an int32 of what it is given.
      const operands = args.slice(1, -1).map((arg) => this.#number(arg).js);
      const js = `Atomics.${ATOMICS[name]}(${[...this.#word(args[0]), ...operands].join(', ')})`;
      return { js, kind: name === 'lw_store' ? 'void' : 'number', isExact: true };
    }
    if (NOTIFY.test(name)) {
      // Without a number, all are notified.
      const n = this.#isAll(args[1]) ? [] : [this.#unsigned(args[1])];
      const js = `${this.#import('../wait.js', 'notify')}(${[...this.#word(args[0]), ...n].join(', ')})`;
      return { js, kind: 'number', isExact: true, max: LARGEST };
    }
    if (name === ANSWER) {
      const fields = args.map((arg) => this.#exact(arg));
      const named = ANSWER_FIELDS.map((field, i) =>
        fields[i] === field ? field : `${field}: ${fields[i]}`,
      );
      return { js: `{ ${named.join(', ')} }`, kind: 'answer' };
    }
    const { node: declared } =
      this.declared.get(name) ?? this.fail(node, `${name} is not declared`);
    const types = parametersOf(declared).map(({ type }) => this.#typeOf(declared, type.qualType));
    const values = args.map((arg, i) => this.#as(types[i].kind, arg));
    const returns = this.#typeOf(declared, declared.type.qualType.replace(/ ?\(.*$/, ''));
    return {
      js: `${this.#useFunction(node, name)}(${values.join(', ')})`,
      ...returns,
      isExact: true,
    };
  }

  /** An access by brackets: a load, or a store. */
  #plain(node, name, args) {
    const [words, index] = this.#word(args[0]);
    const js = `${words}[${index}]`;
    if (name === 'lw_load') return { js, kind: 'number', isExact: true };
    if (name !== 'lw_store') this.fail(node, `${name} needs an order`);
    return { js: `${js} = ${this.#number(args[1]).js}`, kind: 'void' };
  }

  #isAll({ macro, at }) {
    return macro ? this.file(at.file).text.slice(...macro) === ALL : false;
  }

  #useFunction(node, name) {
    const { isOwn, body } = this.declared.get(name);
    if (isOwn) return camelCase(name);
    const owner = this.primitives.find((primitive) => name.startsWith(`lw_${primitive}_`));
    if (owner) {
      if (body && !this.isRead(camelCase(name)))
        this.fail(node, `${name} is inlined, and not in ${owner}.js, since no driver reads it`);
      return this.#import(`./${owner}.js`, camelCase(name));
    }
    if (!body) this.fail(node, `${name} is not of the core`);
    // One file has what all headers share.
    if (this.name !== SHARED) return this.#import(`./${SHARED}.js`, camelCase(name));
    this.#usedFunctions.add(name);
    return camelCase(name);
  }

  /** `&words[index]`, the one expression that is an address. */
  #word(node) {
    if (node.kind === 'ImplicitCastExpr' && node.castKind === 'NoOp')
      return this.#word(node.inner[0]);
    const [subscript] = node.opcode === '&' ? node.inner : [];
    if (subscript?.kind !== 'ArraySubscriptExpr') this.fail(node, 'write &words[index]');
    const [words, index] = subscript.inner;
    return [this.#as('words', words), this.#exact(index)];
  }
}

/** The name that a reference is, below casts. */
function nameIn(node) {
  return node.kind === 'ImplicitCastExpr' || node.kind === 'ParenExpr'
    ? nameIn(node.inner[0])
    : node.referencedDecl?.name;
}

const names = (node, name) =>
  node.referencedDecl?.name === name || (node.inner ?? []).some((inner) => names(inner, name));

/**
 * Whether a function is called often: it begins with a guess, or needs none; or it swaps what its
 * caller has read.
 */
const isFast = (body) =>
  names(body, UNORDERED) || (names(body, SWAP) && !names(body, LOAD) && !names(body, ANSWER));

const typeOf = ({ type }) => type.desugaredQualType ?? type.qualType;

const isExported = ({ node }) => node.storageClass !== 'static' || node.inline;
