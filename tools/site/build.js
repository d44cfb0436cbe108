/**
 * build.js [FOLDER]: the documentation as a static site, build/site by default; what the
 * folder contains is removed. The site works in any folder of any host.
 *
 * The pages are those of MENU and whatever they link to: Markdown as pages, headers and types as
 * manuals (manual.js), and any other file as a listing. Fails if a link leads nowhere (check.js).
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, extname, join, posix, resolve } from 'node:path';

import { build as vite } from 'vite';

import { check } from './check.js';
import { headerManual, moduleManual } from './manual.js';
import { escaped, listing, page, rendered } from './page.js';

const ROOT = join(import.meta.dirname, '../..');
const SITE = resolve(process.argv[2] ?? join(ROOT, 'build/site'));
const COUNTER = 'examples/counter-page';
const { version, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** The pages by what one looks for. A path is the repository's; `manual/` has what is made here. */
const MENU = {
  Begin: {
    'What it is': 'README.md',
    'The primitives in use': 'docs/primitives.md',
    'Programs to start from': 'examples/README.md',
    'Where it runs': 'docs/runtimes.md',
  },
  Manuals: {
    C: 'manual/c.md',
    'C++': 'include/lockword/lockword.hpp',
    'Regions in C++': 'include/lockword/region.hpp',
    JavaScript: 'manual/javascript.md',
    Rust: 'bindings/rust/README.md',
    'Regions in Node': 'bindings/node/README.md',
    'Regions in Python': 'bindings/python/README.md',
    'The command': 'command/lockword.1',
  },
  'How to': {
    'Share memory on a page': 'docs/cross-origin-isolation.md',
    'Bundle workers': 'docs/bundlers.md',
    'Use Emscripten': 'examples/emscripten/README.md',
    'Build and install': 'docs/building.md',
    'Run commands one at a time': 'docs/command.md',
  },
  Measurements: {
    Benchmarks: 'docs/benchmarks.md',
    Simulation: 'docs/simulation.md',
    Experiments: 'docs/experiments.md',
  },
  Inside: {
    'How it works': 'docs/design.md',
    'Layout of the words': 'docs/layout.md',
    Proof: 'docs/proof.md',
    'The explorer': 'verify/README.md',
    Porting: 'docs/porting.md',
    Contributing: 'CONTRIBUTING.md',
    Changes: 'CHANGELOG.md',
  },
};

const read = (path) => readFileSync(join(ROOT, path), 'utf8');

/** A file of the site, and its folder. */
function write(path, content) {
  mkdirSync(join(SITE, dirname(path)), { recursive: true });
  writeFileSync(join(SITE, path), content);
}

// The types, as the npm package has them.
const tsc = join(ROOT, 'node_modules/typescript/lib/tsc.js');
execFileSync(process.execPath, [tsc, '-p', join(ROOT, 'js/tsconfig.json')], { stdio: 'inherit' });

/**
 * The modules that users import, and those that the first of them exports from; in README.md's
 * order, as far as that names them.
 */
function modules() {
  const entries = Object.values(exports).flatMap(
    ({ types }) => types?.match(/(\w[\w-]*)\.d\.ts$/)[1] ?? [],
  );
  const index = read('js/types/index.d.ts').matchAll(/['"]\.\/([\w-]+)\.js['"]/g);
  const all = new Set([...[...index].map(([, name]) => name), ...entries]);
  const named = [...read('README.md').matchAll(/\(js\/src\/([\w-]+)\.js\)/g)].map(
    ([, name]) => name,
  );
  return [...new Set([...named, ...all])].filter((name) => all.has(name) && name !== 'index');
}

/** Headers that are for the others, and not for users. */
const NO_MANUAL = ['annotate', 'api', 'compiler'];
const headers = readdirSync(join(ROOT, 'include/lockword'))
  .filter((name) => /\.h(pp)?$/.test(name) && !NO_MANUAL.includes(basename(name, '.h')))
  .map((name) => `include/lockword/${name}`);

/** The manuals, by the path of what they are the manual of. */
const manuals = {};
for (const path of headers)
  manuals[path] = { ...headerManual(read(path)), at: `manual/${basename(path)}` };
for (const name of modules()) {
  const manual = moduleManual(read(`js/types/${name}.d.ts`), name);
  const title = exports[`./${name}`] ? `lockword/${name}` : manual.title;
  const markdown = `# ${title}\n\n${manual.markdown}`;
  manuals[`js/src/${name}.js`] = { ...manual, title, markdown, at: `manual/${name}.js` };
}

/** Where the manuals of C and of JavaScript declare what, by name. */
const declared = { h: new Map(), js: new Map() };
for (const [path, manual] of Object.entries(manuals)) {
  const language = extname(path).slice(1);
  const names = declared[language];
  manual.page = rendered(manual.markdown, language);
  names?.set(basename(path), path);
  for (const { depth, html, id } of manual.page.headings)
    // A range of names does not name them all.
    if (depth === 2 && !html.includes('…'))
      for (const [, name] of html.matchAll(/<code>(\w+)/g)) names?.set(name, `${path}#${id}`);
}

/** Names that another manual declares become links to it. */
const crossReferenced = (path, html) =>
  html.replace(
    /<(h\d|pre)\b[^]*?<\/\1>|<code>(?:&lt;lockword\/)?([\w.]+)(?:\(\)|&gt;)?<\/code>/g,
    (found, tag, name) => {
      const target = declared[extname(path).slice(1)]?.get(name);
      if (tag || !target || target.startsWith(path)) return found;
      return `<a href="${posix.relative(dirname(path), target)}">${found}</a>`;
    },
  );

/** A page that leads to the manuals. */
const overview = (title, text, rows) =>
  [
    `# ${title}`,
    text,
    `| | |\n|---|---|\n${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}`,
  ].join('\n\n');
const overviews = {
  'manual/c.md': overview(
    'C',
    'Each header is the manual of what it declares. `lockword/lockword.h` includes the primitives.',
    headers.map((path) => [`[\`${basename(path)}\`](../${path})`, manuals[path].summary]),
  ),
  'manual/javascript.md': overview(
    'JavaScript',
    'Import these from `lockword`; what is called `lockword/…` is a module of its own.',
    modules().map((name) => {
      const { title, names, summary } = manuals[`js/src/${name}.js`];
      const shown = title.includes('/') ? [title] : names;
      return [shown.map((shown) => `[\`${shown}\`](../js/src/${name}.js)`).join(', '), summary];
    }),
  ),
};

/** Where the site has a file of the repository. */
function addressOf(path) {
  if (manuals[path]) return `${manuals[path].at}.html`;
  if (/\.(svg|png)$/.test(path)) return path;
  if (path.endsWith('.md'))
    return path.replace(/(README)?\.md$/, (_, readme) => `${readme ? 'index' : ''}.html`);
  if (path === 'command/lockword.1') return 'manual/lockword.1.html';
  return `source/${path}.html`;
}

/** A folder stands for its README.md. */
function fileOf(path) {
  const absolute = join(ROOT, path);
  return existsSync(absolute) && statSync(absolute).isDirectory()
    ? posix.join(path, 'README.md')
    : path;
}

/** What has to be written, by the repository's paths, in the order in which it was found. */
const wanted = new Set(Object.values(MENU).flatMap((pages) => Object.values(pages)));

/** The address of one file's page, from that of another; it is written, too. */
function addressFrom(path, target) {
  wanted.add(target);
  return posix.relative(dirname(addressOf(path)), addressOf(target));
}

/** The address of a link, as the file has it. */
function linkFrom(path, link) {
  if (/^([a-z]+:|#)/.test(link)) return link;
  const [, to, anchor] = link.match(/^([^#]*)(.*)$/);
  return addressFrom(path, fileOf(posix.join(dirname(path), to))) + anchor;
}

const withLinks = (path, html) =>
  html.replace(
    /\b(href|src|srcset)="([^"]*)"/g,
    (_, name, link) => `${name}="${linkFrom(path, link)}"`,
  );

/** A link to one of MENU's pages, from another page. */
function menuLink(path, [name, target]) {
  const current = target === path ? ' aria-current="page"' : '';
  return `<a href="${addressFrom(path, target)}"${current}>${name}</a>`;
}

const menuOf = (path) =>
  Object.entries(MENU)
    .map(([title, pages]) => {
      const items = Object.entries(pages).map((page) => `<li>${menuLink(path, page)}</li>`);
      return `<p>${title}</p><ul>${items.join('')}</ul>`;
    })
    .join('\n');

/** What stands in the bar, where there is room. */
const DIRECT = ['C', 'JavaScript', 'Rust', 'Benchmarks', 'How it works'];
const directOf = (path) =>
  Object.values(MENU)
    .flatMap(Object.entries)
    .filter(([name]) => DIRECT.includes(name))
    .map((page) => menuLink(path, page))
    .join('\n');

/** A manual page, without what stands around it in a terminal. */
function manualPage(path) {
  const printed = execFileSync('mandoc', ['-T', 'html', '-O', 'fragment', join(ROOT, path)], {
    encoding: 'utf8',
  });
  const [, text] = printed.match(/(<div class="manual-text">[^]*)<table class="foot">/);
  const html = text.replace(/<(\/?)h1\b/g, '<$1h2');
  const headings = [...html.matchAll(/<h2 class="Sh" id="([^"]*)"><a [^>]*>(.*?)<\/a>/g)].map(
    ([, id, name]) => ({ depth: 2, id, html: `${name[0]}${name.slice(1).toLowerCase()}` }),
  );
  const title = `${basename(path, '.1')}(1)`;
  return { html: `<h1>${title}</h1>${html}`, headings: [{ depth: 1, html: title }, ...headings] };
}

/** What a page of this path contains. */
function contentOf(path) {
  if (overviews[path]) return rendered(overviews[path]);
  const manual = manuals[path];
  if (manual)
    return { html: crossReferenced(path, manual.page.html), headings: manual.page.headings };
  if (path.endsWith('.md')) return rendered(read(path));
  if (path === 'command/lockword.1') return manualPage(path);
  return { html: listing(path, read(path)), headings: [] };
}

/** What the first page has besides: the counter page as Vite has built it, live. */
function home(html) {
  const built = readFileSync(join(SITE, 'index.html'), 'utf8');
  const [, state, demo] = built.match(/<main ([^>]*)>([^]*)<\/main>/);
  const [, said] = built.match(/<header>[^]*?<p>([^]*?)<\/p>/);
  const head = built
    .match(/<(?:script|link rel="(?:stylesheet|modulepreload)")[^>]*>(<\/script>)?/g)
    .join('\n');
  // From its title to the first list; then what the list says.
  const at = html.indexOf('<ul>');
  const title = html.slice(0, at).replace('<h1 ', '<h1 class="unseen" ');
  const install = html.match(/<pre[^]*?<\/pre>\n/)[0];
  return {
    home: {
      head,
      state,
      demo,
      hero: `<div class="hero">${title}${install}<p class="note">${said}</p></div>`,
    },
    html: html.slice(at).replace(install, ''),
  };
}

/** The site's page for a file. */
function pageOf(path) {
  const { html, headings } = contentOf(path);
  const address = addressOf(path);
  const root = posix.relative(dirname(address), '.') || '.';
  const linked = withLinks(path, html);
  const title = headings.find(({ depth }) => depth === 1)?.html.replace(/<[^>]*>/g, '') ?? path;
  const source = overviews[path] ? '' : `<p>This page is made of <code>${escaped(path)}</code></p>`;
  return page({
    title: path === 'README.md' ? 'lockword: fair locks for shared memory' : `${title} · lockword`,
    headings: headings.filter(({ depth }) => depth > 1),
    root: `${root}/`,
    menu: menuOf(path),
    direct: directOf(path),
    footer: `<p>lockword ${escaped(version)} · MIT</p>${source}`,
    ...(path === 'README.md' ? home(linked) : { html: linked }),
  });
}

await vite({
  configFile: join(ROOT, COUNTER, 'vite.config.js'),
  build: { outDir: SITE, emptyOutDir: true },
  logLevel: 'warn',
});
copyFileSync(join(ROOT, COUNTER, 'look.css'), join(SITE, 'look.css'));
copyFileSync(join(import.meta.dirname, 'site.css'), join(SITE, 'site.css'));
for (const path of wanted) {
  // check.js tells of links that lead nowhere.
  if (!overviews[path] && !existsSync(join(ROOT, path))) continue;
  if (/\.(svg|png)$/.test(path)) write(path, readFileSync(join(ROOT, path)));
  else write(addressOf(path), pageOf(path));
}

const { pages, links, broken } = check(SITE);
for (const problem of broken) console.error(problem);
console.log(`${SITE}: ${pages} pages, ${links} links, of which ${broken.length} lead nowhere`);
process.exitCode = broken.length === 0 ? 0 : 1;
