/**
 * What clang and the text of a file of the C core tell of it: its functions, its constants, and
 * where each of its comments stands.
 */
import { read } from './toolchain.js';

/** The greatest uint32_t that is the same number as an int32. */
export const LARGEST = 0x7fffffff;

const MACRO = /^#define ([A-Z_0-9]+) +(.+?)(?: *\/\*.*)?$/gm;
const COMMENT = /\/\*[^]*?\*\//g;

/**
 * The constants that headers and C files define by enumerators and macros, with what they are made
 * of.
 *
 * @typedef {object} Constant
 * @property {string} js its value, as an expression
 * @property {number} value unsigned
 * @property {number[]} place by which they are sorted: the file's number, and where in it
 * @property {boolean} isPublic of a header
 * @property {string} comment at the end of its line
 */

/**
 * Tells where each node of clang's tree begins and ends. clang names a file only when it is another
 * one than before.
 *
 * @param {any} tree
 * @param {string} main the file that clang was given
 */
function locate(tree, main) {
  let file = main;
  const place = (location) => {
    for (const part of [location?.spellingLoc, location?.expansionLoc, location]) {
      if (part?.file) ({ file } = part);
      if (part) part.in = file;
    }
    const { offset, tokLen, in: at } = location?.expansionLoc ?? location ?? {};
    return {
      offset,
      after: offset + tokLen,
      file: offset === undefined ? undefined : at,
      isMacro: location?.expansionLoc !== undefined,
    };
  };
  const visit = (node) => {
    const own = place(node.loc);
    const [begin, end] = [place(node.range?.begin), place(node.range?.end)];
    node.at = { own, begin: begin.offset, after: end.after, file: begin.file ?? own.file };
    node.macro = begin.isMacro &&
      end.isMacro &&
      begin.offset === end.offset && [begin.offset, begin.after];
    node.inner?.forEach(visit);
  };
  visit(tree);
}

/** A file of the core, with the headers that it includes. */
export class Source {
  /** Files: their texts, and which of their comments stand in the JavaScript. */
  #files = new Map();
  /** @type {Map<string, Constant>} */
  constants = new Map();
  /** Functions by name: where they are defined, and the comment above their prototype. */
  declared = new Map();

  /**
   * @param {string} name of the primitive
   * @param {any} tree what clang dumps of src/core/NAME.c, called core.c
   */
  constructor(name, tree) {
    this.name = name;
    this.source = `src/core/${name}.c`;
    this.header = `include/lockword/core/${name}.h`;
    locate(tree, 'core.c');
    this.nodes = tree.inner.filter(({ at }) => /^(core\.c|include\/)/.test(at.file ?? ''));
    for (const node of this.nodes) this.#declare(node);
    this.file('core.c');
  }

  /** The text and the comments of a file. */
  file(file) {
    if (!this.#files.has(file)) {
      const text = read(file === 'core.c' ? this.source : file);
      const comments = [...text.matchAll(COMMENT)].map(({ 0: comment, index }) => ({
        comment,
        begin: index,
        after: index + comment.length,
        isPrinted: false,
      }));
      this.#files.set(file, { text, comments });
      this.#macros(file, text);
    }
    return this.#files.get(file);
  }

  /** @returns {never} */
  fail(node, what) {
    const { file, begin } = node.at;
    const line = this.file(file).text.slice(0, begin).split('\n').length;
    throw new Error(`${file === 'core.c' ? this.source : file}:${line}: ${what}`);
  }

  #declare(node) {
    const { file } = node.at;
    this.file(file);
    if (node.kind === 'EnumDecl') this.#enumerators(node);
    if (node.kind === 'FunctionDecl') {
      const known = this.declared.get(node.name);
      const body = node.inner?.find(({ kind }) => kind === 'CompoundStmt');
      const doc = this.#commentAbove(node) ?? known?.doc;
      this.declared.set(node.name, body || !known ? { node, body, file, doc } : { ...known, doc });
    } else if (file === 'core.c' && !['EnumDecl', 'EmptyDecl'].includes(node.kind)) {
      this.fail(node, `${node.kind}: the core consists of functions and constants`);
    }
  }

  #enumerators(node) {
    const { text, comments } = this.file(node.at.file);
    let next = 0;
    for (const { name, at, inner } of node.inner.filter(
      ({ kind }) => kind === 'EnumConstantDecl',
    )) {
      const value = inner
        ? Number(inner[0].value ?? this.fail(node, `${name}: what is its value?`))
        : next;
      next = value + 1;
      const { length } = text.slice(at.after).match(/^[ ,]*/)[0];
      const behind = comments.find(({ begin }) => begin === at.after + length);
      const js = value > 9 ? hex(value) : `${value}`;
      this.constants.set(name, { js, value, behind, ...this.#placeOf(at.file, at.begin) });
    }
  }

  #macros(file, text) {
    for (const { 0: line, 1: name, 2: body, index } of text.matchAll(MACRO)) {
      const js = body.replace('UINT32_MAX', '-1').replace(/\b(0x[0-9a-f]+|[0-9]+)u\b/gi, '$1');
      if (!/^([A-Z_0-9]+|0x[0-9a-f]+|[()|+*\- ])+$/.test(js)) continue;
      const numbers = js.replace(
        /\b[A-Z_][A-Z_0-9]*\b/g,
        (other) => this.constants.get(other)?.value ?? 'unknown',
      );
      if (numbers.includes('unknown')) continue;
      const { comments } = this.#files.get(file);
      const behind = comments.find(
        ({ begin, after }) => begin > index && after === index + line.length,
      );
      const value = Number(new Function(`return ${numbers}`)()) >>> 0;
      this.constants.set(name, { js, value, behind, ...this.#placeOf(file, index) });
    }
  }

  #placeOf(file, index) {
    return { place: [[...this.#files.keys()].indexOf(file), index], isPublic: file !== 'core.c' };
  }

  /**
   * The comment above a constant, or above the `#ifndef` or the list that it stands in, and a blank
   * line.
   */
  aboveConstant({ place: [, index] }) {
    const { text, comments } = this.file('core.c');
    const above = comments.findLast(
      ({ after }) =>
        after < index && /^\s*(#ifndef \w+|enum \w* ?{)?\s*$/.test(text.slice(after, index)),
    );
    const isBlank = /\n\n(#ifndef \w+\n|enum \w* ?{\n *)?$/.test(text.slice(0, index));
    if (!above || above.isPrinted) return isBlank ? '\n' : '';
    above.isPrinted = true;
    return `\n${asLines(above.comment)}\n`;
  }

  /** Fails if a comment has found no place in the JavaScript. */
  checkComments() {
    for (const { comment, begin, isPrinted } of this.file('core.c').comments) {
      if (!isPrinted)
        this.fail(
          { at: { file: 'core.c', begin } },
          `no place in JavaScript for ${comment.split('\n')[0]}`,
        );
    }
  }

  /** The comment that ends just above a declaration. */
  #commentAbove(node) {
    const { text, comments } = this.file(node.at.file);
    return comments.find(
      ({ after }) =>
        after < node.at.begin && /^[ \t]*\n[ \t]*$/.test(text.slice(after, node.at.begin)),
    );
  }
}

export const parametersOf = ({ inner }) => inner.filter(({ kind }) => kind === 'ParmVarDecl');

export const byPlace = ([, one], [, other]) =>
  one.place[0] - other.place[0] || one.place[1] - other.place[1];

/** The constants that an expression is made of. */
export const namesIn = (js) => js.match(/\b[A-Z_][A-Z_0-9]*\b/g) ?? [];

const hex = (value) => `0x${value.toString(16)}`;

/** A constant in JavaScript: one with the highest bit is negative, as an int32. */
export function definition(name, { js, value }) {
  return `const ${name} = ${value > LARGEST && /^\d|[+*]| -/.test(js) ? `(${js}) | 0` : js};`;
}

export function linesOf(comment) {
  const lines = comment.slice(2, -2).split('\n');
  return lines
    .map((line, i) => (i === 0 ? line : line.replace(/^ *\*? ?/, '')).trimEnd())
    .join('\n')
    .trim()
    .split('\n');
}

export function asLines(comment) {
  return linesOf(comment)
    .map((line) => `// ${line}`.trimEnd())
    .join('\n');
}

export function blank(gap) {
  return /\n[ \t]*\n/.test(gap) ? '\n' : '';
}
