/**
 * node tools/amalgamation.js [FOLDER]
 *
 * Writes the library as one source and one header, lockword.c and lockword.h, with lockword.hpp for
 * C++: into build/amalgamation, or into the folder. Programs compile lockword.c, as C, with their
 * own sources, and include the header from beside it. The text is that of include and src, with its
 * comments.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const list = (folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.c'))
    .map((name) => `${folder}/${name}`);
const { version } = JSON.parse(read('package.json'));

const INCLUDE = /^#include (?:<(lockword\/[^>]+)>|"([^"]+)")\n/gm;
const SYSTEM_INCLUDE = /^#include <(?!lockword\/)[^>]+>$/;
const FEATURES = /^#define _\w+_SOURCE\b.*\n/gm;

/** The file that an #include in another file means. */
const target = (from, [, ours, beside]) =>
  ours ? `include/${ours}` : normalize(join(dirname(from), beside));

/**
 * A text without the system's headers that it includes in any case, and these. A header that it
 * includes on a condition stays there; an include guard is none.
 */
function split(text) {
  let depth = 0;
  const system = [];
  const rest = text.split('\n').filter((line) => {
    if (/^#if(?!ndef LOCKWORD_\w+_H$)/.test(line)) depth++;
    else if (/^#endif/.test(line)) depth = Math.max(0, depth - 1); // a guard's comes last
    const isPart = depth === 0 && SYSTEM_INCLUDE.test(line);
    if (isPart) system.push(`${line}\n`);
    return !isPart;
  });
  return { system, rest: rest.join('\n') };
}

/** The text of headers, each once; what a header includes stands where it includes that. */
function headers(paths, seen) {
  let text = '';
  for (const path of paths) {
    if (seen.has(path)) continue;
    seen.add(path);
    const inlined = read(path).replace(INCLUDE, (...match) => headers([target(path, match)], seen));
    text += inlined.trimEnd() + '\n\n';
  }
  return text;
}

/** A text of C without its comments, strings and directives. */
const bare = (text) =>
  text
    .replace(/\/\*.*?\*\/|\/\/[^\n]*/gs, ' ')
    .replace(/"(\\.|[^"\\\n])*"|'(\\.|[^'\\\n])*'/g, '""')
    .replace(/^#(.*\\\n)*.*$/gm, '');

/** What a source declares for itself alone: functions, variables, types and enumerators. */
function ownNames(text) {
  const names = new Set();
  let depth = 0;
  let outside = '';
  let inside = '';
  for (const character of bare(text)) {
    if (character === '{' && depth++ === 0) {
      inside = '';
      const [, tag] = /\b(?:struct|union|enum)\s+(\w+)\s*$/.exec(outside) ?? [];
      if (tag) names.add(tag);
    } else if (character === '}' && --depth === 0) {
      if (/\benum\b[^()]*$/.test(outside))
        for (const [, name] of inside.matchAll(/(?:^|,)\s*(\w+)/g)) names.add(name);
      // A function ends here; a type or a variable goes on to its semicolon.
      if (/\)\s*$/.test(outside)) outside += ';';
    } else if (depth > 0) {
      inside += character;
      continue;
    } else {
      outside += character;
    }
    if (depth > 0 || !outside.endsWith(';')) continue;
    const declaration = outside.replace(/__attribute__\s*\(\([^;]*?\)\)/g, ' ');
    const [, name] = /\bstatic\b[^(=[;]*?(\w+)\s*[(=[;]/.exec(declaration) ?? [];
    if (name) names.add(name);
    outside = '';
  }
  return names;
}

const engine = ['src/wait/wasm.c'];
const native = ['src/wait/self.c', 'src/wait/awake.c'];
const linux = ['src/wait/linux.c', ...list('src/region')];
linux.push('src/loop/linux.c', 'src/loop/lot.c', 'src/loop/loop.c');
const table = ['src/wait/table.c', 'src/loop/none.c'];
/** The systems that wait by the table, by what their compilers define. */
const systems = {
  _WIN32: ['src/wait/windows.c'],
  __APPLE__: ['src/wait/pthreads.c', 'src/wait/darwin.c'],
  __FreeBSD__: ['src/wait/pthreads.c', 'src/wait/freebsd.c'],
  __OpenBSD__: ['src/wait/pthreads.c', 'src/wait/openbsd.c'],
};
const posix = ['src/wait/pthreads.c', 'src/wait/posix.c'];
const everywhere = [...list('src').filter((path) => path !== 'src/symbols.c')];
everywhere.push(...list('src/core'), 'src/wait/poll.c');

const users = new Map();
const all = new Set(
  [everywhere, engine, native, linux, table, posix, ...Object.values(systems)].flat(),
);
for (const path of all)
  for (const name of ownNames(read(path))) users.set(name, [...(users.get(name) ?? []), path]);

/** The only header that is a part of the source that includes it. */
const MEANINGS = 'src/meanings.h';
const inside = (path) => (path === MEANINGS ? read(path) : '');

/** One source. A name that other sources also have for themselves begins with the file's here. */
function source(path) {
  const text = split(read(path)).rest.replace(FEATURES, '');
  const prefix = path.replace(/^src\/|\.c$/g, '').replace(/\W/g, '_');
  const names = [...ownNames(text)].filter((name) => users.get(name).length > 1);
  // Comments and strings stay as they are, and so do members of structs.
  const renamed = new RegExp(
    `(/\\*[^]*?\\*/|"(?:\\\\.|[^"\\\\\n])*"|(?:->|\\.)\\w+)|\\b(?:${names.join('|') || '(?!)'})\\b`,
    'g',
  );
  const macros = Array.from(text.matchAll(/^#define (?!LW_)(\w+)/gm), ([, name]) => name);
  return [
    `/* ${'-'.repeat(72)} ${path} */\n\n`,
    text
      .replace(INCLUDE, (...match) => inside(target(path, match)))
      .trim()
      .replace(renamed, (name, kept) => kept ?? `${prefix}_${name}`),
    '\n',
    ...[...new Set(macros)].map((name) => `#undef ${name}\n`),
    '\n',
  ].join('');
}

/** Sources, after the headers that only they include. */
function group(paths, seen) {
  const own = paths.flatMap((path) =>
    Array.from(read(path).matchAll(INCLUDE), (match) => target(path, match)),
  );
  const inner = headers(
    own.filter((path) => path !== MEANINGS),
    seen,
  );
  const { system: needed, rest } = split(inner);
  const system = new Set([...paths.flatMap((path) => split(read(path)).system), ...needed]);
  const texts = paths.map((path) => source(path));
  return [...system].sort().join('') + '\n' + rest + texts.join('');
}

const about = (name, what) => `/*
 * ${name} of lockword ${version}: ${what}
 *
${read('LICENSE').trim().replace(/^/gm, ' * ').replace(/ +$/gm, '')}
 */
`;

/** The condition for a system's own wait. */
const given = (name) =>
  name === '_WIN32' ? 'defined(_WIN32)' : `defined(${name}) && !defined(LOCKWORD_PORTABLE)`;

const seen = new Set();
// The first two are parts of region.h, too, which only Linux has.
const header = headers(
  ['core/permits.h', 'core/robust.h', 'lockword.h', 'describe.h', 'core/waiters.h'].map(
    (name) => `include/lockword/${name}`,
  ),
  seen,
);
const everywhereText = group(everywhere, seen);
const files = {
  'lockword.h': `${about('lockword.h', 'all of its headers for C.')}
${header.trimEnd()}
`,
  'lockword.c': `${about('lockword.c', 'the whole library. Compile it as C, with your own sources.')}
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#elif defined(_WIN32) && !defined(_WIN32_WINNT)
#define _WIN32_WINNT 0x0602
#elif !defined(__linux__) && !defined(__wasm__) && !defined(__APPLE__) && \\
    !defined(__FreeBSD__) && !defined(__OpenBSD__) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

/* The functions of the header that C inlines are symbols, too, for callers in other languages. */
#define LW_API
#undef LW_ANNOTATE
#define LW_ANNOTATE 0
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "lockword.h"

${everywhereText}
#if LW_ENGINE
${group(engine, seen)}
#else
${group(native, seen)}
#if LW_LINUX
${group(linux, seen)}
#else
${group(table, seen)}
${Object.entries(systems)
  .map(([name, paths], i) => `#${i ? 'elif' : 'if'} ${given(name)}\n${group(paths, seen)}`)
  .join('')}#else
${group(posix, seen)}
#endif
#endif
#endif
`,
  'lockword.hpp': `${read('include/lockword/lockword.hpp')}
#if LW_LINUX
${read('include/lockword/region.hpp').replace(INCLUDE, '')}
#endif
`
    .replace('#include <lockword/lockword.h>', '#include "lockword.h"')
    .replace(/<lockword\/\w+\.hp*>/g, '"lockword.h"'),
};

const folder = process.argv[2] ?? join(ROOT, 'build/amalgamation');
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(files)) {
  const tidy = text.replace(/\n{3,}/g, '\n\n');
  const [left] = /^#include (<lockword|"(?!lockword\.h")).*/m.exec(tidy) ?? [];
  if (left) throw new Error(`${name} would need another file: ${left}`);
  writeFileSync(join(folder, name), tidy);
}
console.log(`${relative(process.cwd(), folder) || '.'}/{${Object.keys(files).join(',')}}`);
