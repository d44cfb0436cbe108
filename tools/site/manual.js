/**
 * manual.js: what stands above the declarations of a C header or of a .d.ts file, as Markdown.
 *
 * Both are read by their layout, which tools decide (clang-format, tsc): a comment begins a line,
 * and what it is about follows, up to the next one.
 */

/** What such a comment introduces is for the library itself. */
const INTERNAL = new RegExp(
  [
    /\bCall (that|those)( function| functions)?\s+instead\b/,
    /For the functions that are inlined/,
    /What co_await takes/,
    /clang-format o/,
  ]
    .map(({ source }) => source)
    .join('|'),
);
const COMMENT = /^\/\*\*?(?: |\n)([^]*?)\s*\*\/$/;

/** Comments, and what follows each of them. */
function entriesOf(source) {
  const entries = [];
  for (const part of source.split(/^(\/\*[^]*?\*\/)$/m)) {
    const comment = part.match(COMMENT)?.[1].replace(/^ \* ?/gm, '');
    if (comment !== undefined) entries.push({ text: comment.trim(), code: '' });
    else if (entries.length > 0) entries.at(-1).code += part;
  }
  return entries;
}

const fenced = (language, code) => `\`\`\`${language}\n${code}\n\`\`\``;
const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;
const codes = (names) => names.map((name) => `\`${name}\``).join(', ');

/** What is a name, wherever it stands in a sentence; code that is marked is left as it is. */
const NAMES = [
  /\*?(?:\w+::)*\w*_\w+(?:\(\))?/,
  /\w+(?:::\w+)+/,
  /\bE[A-Z]{4,}\b/,
  /\*\w+/,
  /<?[\w/]+\.(?:h|hpp|js)\b>?/,
  /\w+\(\)/,
];
const NAME = new RegExp(`\`[^\`]*\`|(${NAMES.map(({ source }) => source).join('|')})|[<>]`, 'g');
const ESCAPES = { '<': '&lt;', '>': '&gt;' };

/**
 * A comment of C, where names have no marks: these get them. What it promises, and what is illegal,
 * stand out.
 */
const marked = (text) =>
  text
    .split('\n\n')
    .map((paragraph) =>
      /^ {4}/.test(paragraph)
        ? paragraph
        : paragraph
            .replace(NAME, (found, name) => (name ? `\`${name}\`` : (ESCAPES[found] ?? found)))
            .replace(/^(What [\w `]+|After \S+)\.(?=\s)/, '**$1.**'),
    )
    .join('\n\n');

/** The declarations of a piece of a header, without the bodies of functions. */
function declarationsOf(code) {
  return code
    .replace(/^#(?!define (?!LOCKWORD_)).*(?:\\\n.*)*\n?/gm, '')
    .replace(/^static inline [^;{]*\n\{\n[^]*?\n\}$/gm, '')
    .replace(
      /^LW_API ([^{;]*?)\s*\n\{\n[^]*?\n\}$/gm,
      (body, head) => `${head.replace(/\n {7}/g, '\n')};`,
    )
    .replace(/^(extern "C" \{|\})$/gm, '')
    .replace(/\n{2,}/g, '\n\n')
    .trim();
}

/** Inlined functions without a comment stand for themselves. */
const eachInlined = ({ text, code }) =>
  code.split(/\n\n(?=LW_API )/).map((piece, i) => ({ text: i === 0 ? text : '', code: piece }));

/** What a piece of C declares: its macros, types and functions. */
function namesOf(code) {
  const names = [];
  for (const declaration of code.split(
    /(?<=;)\n|\n(?=#define)|(?<=[^\\])\n(?=typedef|struct|enum)/,
  )) {
    const [, name] =
      declaration.match(/^#define (\w+)/) ??
      declaration.match(/^typedef [^{(]*\b(\w+)(?:\([^]*\))?;$/) ??
      declaration.match(/^(?:typedef )?(?:struct|enum|union) (\w+)(?: \{|;)/) ??
      declaration.match(/\b(lw_\w+)\(/) ??
      [];
    if (name && !names.includes(name)) names.push(name);
  }
  return names;
}

/** What a class of C++ shows to its users: neither what is private, nor bodies. */
function classesOf(code) {
  const [declared = ''] =
    code.match(/^\n*(?:template <.*> )?class \w+[^;]*\n\{\n[^]*?^\};$/m) ?? [];
  return declared
    .replace(/(^\{\n)[^]*?(?=^ {2}public:$)/m, '$1')
    .replace(/^ {2}private:\n[^]*?(?=^ {2}p\w+:$|^\};$)/gm, '')
    .replace(/\n {4}\{\n(?:[^]*?\n)?? {4}\}(?=\n)/g, ';')
    .replace(/^(#| {4}LW_DETAIL_).*\n/gm, '')
    .replace(/(\)(?: noexcept)?)\n? +: \w+\([^;]*;/g, '$1;')
    .replace(/\n{2,}/g, '\n\n')
    .replace(/\n+\};$/, '\n};')
    .trim();
}

/**
 * A header as a manual.
 *
 * @returns {{ title: string, summary: string, markdown: string }}
 */
export function headerManual(source) {
  const [{ text, code }, ...entries] = entriesOf(source);
  const [, title, summary, rest] = text.match(/^(\S+): ([^]*?[.:])(?=\s|$)([^]*)$/);
  const parts = [`# ${title}`, marked(`${sentence(summary)}${rest}`)];
  const isCpp = title.endsWith('.hpp');
  // Structs that the caller has memory for, and whose members it leaves alone.
  let areOpaque = false;
  for (const entry of [{ text: '', code }, ...entries].flatMap(eachInlined)) {
    if (INTERNAL.test(entry.text)) continue;
    const declared = isCpp ? classesOf(entry.code) : declarationsOf(entry.code);
    const names = isCpp
      ? (declared.match(/(?<=^(?:template <.*> )?class )\w+/) ?? [])
      : namesOf(declared);
    if (names.length === 0) {
      // Of what another header declares.
      if (entry.code.trim() === '') parts.push(marked(entry.text));
      continue;
    }
    areOpaque ||= /the library's business/.test(entry.text);
    const title =
      names.length > 3 ? `${codes([names[0]])} … ${codes([names.at(-1)])}` : codes(names);
    const shown = areOpaque ? declared.replace(/(struct \w+ )\{\n[^]*?\n\}/g, '$1{ … }') : declared;
    parts.push(`## ${title}`, fenced(isCpp ? 'cpp' : 'c', shown), marked(entry.text));
  }
  return {
    title,
    summary: marked(sentence(summary).replace(/\s+/g, ' ').replace(/:$/, '.')),
    markdown: parts.filter(Boolean).join('\n\n'),
  };
}

/** `@param`, `@returns` and `@throws` as a list; the signature has the types of the first two. */
function tagsOf(text) {
  const items = [];
  for (const tag of text.split(/^(?=@)/m)) {
    const [, kind, rest] = tag.trim().match(/^@(\w+)\s*([^]*)$/) ?? [];
    // A type in braces, which may have braces of its own.
    const [type, after] = rest?.startsWith('{') ? braced(rest) : ['', rest];
    const said = after?.trim().replace(/\s+/g, ' ');
    if (kind === 'param') {
      const [, name, meaning] = said.match(/^\[?(\w+)[^\s\]]*\]?\s*(.*)$/);
      if (meaning) items.push(`- \`${name}\`: ${meaning}`);
    } else if (kind === 'returns' && said) items.push(`- **Returns** ${said}`);
    else if (kind === 'throws') items.push(`- **Throws** \`${type}\`${said ? `: ${said}` : ''}`);
  }
  return items.join('\n');
}

function braced(text) {
  let depth = 0;
  const end = [...text].findIndex((c) => (depth += { '{': 1, '}': -1 }[c] ?? 0) === 0);
  return [text.slice(1, end).trim(), text.slice(end + 1)];
}

/** A comment of a .d.ts file as Markdown. */
function documented(text) {
  const [said] = text.split(/^@/m);
  return [said.trim(), tagsOf(text.slice(said.length))].filter(Boolean).join('\n\n');
}

const withoutPaths = (code) => code.replace(/import\(["'][^)]*["']\)\./g, '');

/** The members of a class: those with a comment, each under its name, and what the others are. */
function membersOf(body) {
  const parts = [];
  const [bare, ...members] = `\n${body}`.replace(/^ {4}/gm, '').split(/^(?=\/\*\*)/m);
  const plain = (code) =>
    code.replace(/^(#private;|static (BYTE_LENGTH|type)\b.*)\n?/gm, '').trim();
  if (plain(bare)) parts.push(fenced('ts', plain(bare)));
  for (const member of members) {
    const [, text, code] = member.match(/^\/\*\*\s*([^]*?)\s*\*\/\n([^]*)$/);
    const declared = code.trim();
    const meaning = documented(
      text.replace(/^\s*\* ?/gm, '').replace(/^(?:@readonly )?@type \{.*?\} ?/, ''),
    );
    const name = declared.match(/^(?:static |readonly |get )*([\w[\]]+)/)?.[1];
    if (!name || !meaning) continue;
    const isCall = !/^(static )?(readonly )?(get )?[\w[\]]+:|^get /.test(declared);
    const title = `${/^static/.test(declared) ? 'static ' : ''}${name}${isCall ? '()' : ''}`;
    parts.push(`### \`${title}\``, fenced('ts', withoutPaths(declared)), meaning);
  }
  return parts;
}

/**
 * A module's types as a manual.
 *
 * @param {string} source
 * @param {string} name the file's
 * @returns {{ title: string, summary: string, markdown: string, names: string[] }} `names`: of what
 *   it exports
 */
export function moduleManual(source, name) {
  const entries = entriesOf(source);
  const described = {};
  // What tsc prints of a @typedef, it prints apart from what is said of it.
  for (const { text } of entries.filter(({ text }) => text.includes('@typedef'))) {
    const [lead, ...tags] = text.split(/^(?=@typedef)/m);
    for (const tag of tags) {
      const [, after] = braced(tag.slice(tag.indexOf('{')));
      const [, name, said] = after
        .split(/^@/m)[0]
        .trim()
        .match(/^(\w+)\s*([^]*)$/);
      described[name] = said.trim() || lead.split(/^@/m)[0].trim();
    }
  }
  const parts = [];
  const typeParts = [];
  const names = [];
  const typeNames = [];
  const summary = documented(entries[0].text);
  for (const { text, code } of entries) {
    const types = code.matchAll(
      /^export type (\w+)(?:<.*>)? = (?!import\()[^{;]*(?:\{[^]*?^\})?;/gm,
    );
    const all = [
      ...code.matchAll(/^export declare (?:class|function|const) (\w+)[^]*?(?=^export|(?![^]))/gm),
    ];
    if (all.length === 0 && !text.includes('@typedef') && parts.length === 0)
      parts.push(documented(text));
    for (const [declared, name] of types) {
      typeNames.push(name);
      typeParts.push(`## \`${name}\``, described[name] ?? '', fenced('ts', withoutPaths(declared)));
    }
    for (const [declaration, name] of all) {
      const [head, body] =
        declaration.match(/^export declare (class[^{]*)\{\n([^]*)^\}/m)?.slice(1) ?? [];
      const isFunction = declaration.startsWith('export declare function');
      names.push(name);
      parts.push(`## \`${name}${isFunction ? '()' : ''}\``);
      const signature = head?.trim() ?? declaration.replace(/^export declare /, '').trim();
      parts.push(fenced('ts', withoutPaths(signature)), documented(text));
      if (body) parts.push(...membersOf(body));
    }
  }
  // A module of one class has its name, and any other one its own.
  const title = names.length > 3 || names.length === 0 ? sentence(name) : names[0];
  return {
    title,
    summary: summary.match(/^[^]*?\.(?=\s|$)/)?.[0].replace(/\s+/g, ' ') ?? '',
    markdown: [...parts, ...typeParts].filter(Boolean).join('\n\n'),
    names: [...names, ...typeNames],
  };
}
