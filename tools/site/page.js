/** page.js: Markdown as HTML, and a page around it. */
import GithubSlugger from 'github-slugger';
import hljs from 'highlight.js';
import { Marked } from 'marked';

import { plain } from '../../test/docs/pages.js';

const LANGUAGES = { sh: 'bash', mjs: 'js', cjs: 'js', hpp: 'cpp', h: 'c', html: 'xml', txt: '' };

export const escaped = (text) =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

/** Code in colours, where its language is known. */
function code(text, lang = '') {
  const language = LANGUAGES[lang] ?? lang;
  const { value } = hljs.getLanguage(language)
    ? hljs.highlight(text, { language })
    : { value: escaped(text) };
  // A keyboard scrolls only what can have the focus.
  return `<pre tabindex="0"><code>${value}</code></pre>\n`;
}

/**
 * Markdown as HTML, with GitHub's anchors.
 *
 * @param {string} markdown
 * @param {string} [language] of code that does not say its own
 * @returns {{ html: string, headings: { depth: number, id: string, html: string }[] }}
 */
export function rendered(markdown, language) {
  const slugger = new GithubSlugger();
  const headings = [];
  const renderer = {
    heading({ tokens, depth }) {
      const html = this.parser.parseInline(tokens);
      const id = slugger.slug(plain(tokens));
      headings.push({ depth, id, html });
      return depth === 1
        ? `<h1 id="${id}">${html}</h1>\n`
        : `<h${depth} id="${id}"><a href="#${id}">${html}</a></h${depth}>\n`;
    },
    code: ({ text, lang }) => code(text, lang?.split(/[ ,]/)[0] ?? language),
    html: ({ text }) => text.replace(/<!--[^]*?-->\s*/g, ''),
    table(token) {
      const cell = ({ tokens, align }, tag) =>
        `<${tag}${align ? ` class="${align}"` : ''}>${this.parser.parseInline(tokens)}</${tag}>`;
      const row = (cells, tag) => `<tr>${cells.map((one) => cell(one, tag)).join('')}</tr>`;
      const isNamed = token.header.some(({ text }) => text !== '');
      const head = isNamed ? `<thead>${row(token.header, 'th')}</thead>` : '';
      const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
      return `<div class="table" tabindex="0"><table>${head}
<tbody>${body}</tbody></table></div>\n`;
    },
  };
  return { html: new Marked({ renderer }).parse(markdown), headings };
}

/** A file as a page shows it. */
export const listing = (path, text) =>
  `<h1 class="path">${escaped(path)}</h1>\n${code(text, path.split('.').at(-1))}`;

/** A longer list of a page's headings leaves out the small ones. */
const LONGEST_LIST = 80;

const contents = (headings) => {
  const listed = headings.filter(({ depth }) => depth === 2 || depth === 3);
  const shown = listed.length > LONGEST_LIST ? listed.filter(({ depth }) => depth === 2) : listed;
  if (shown.length < 2) return '';
  const items = shown.map(
    ({ depth, id, html }) =>
      `<li class="of-${depth}"><a href="#${id}">${html.replace(/<\/?a\b[^>]*>/g, '')}</a></li>`,
  );
  return `<nav id="contents" class="contents" popover
  onclick="this.hidePopover()" aria-label="On this page">
<p>On this page</p><ul>${items.join('')}</ul></nav>`;
};

/**
 * A whole page.
 *
 * @param {object} page
 * @param {string} page.title
 * @param {string} page.html what it contains
 * @param {{ depth: number, id: string, html: string }[]} [page.headings]
 * @param {string} page.root what leads from the page to the site's root: `../` or the like
 * @param {string} page.menu links to the other pages
 * @param {string} page.direct links to a few of them, where there is room
 * @param {string} page.footer
 * @param {{ head: string, hero: string, demo: string, state: string }} [page.home]
 */
export function page({ title, html, headings = [], root, menu, direct, footer, home }) {
  const list = contents(headings);
  const inner = `<div class="columns">
<nav id="menu" class="menu" popover aria-label="Pages">${menu}</nav>
<article>${html}</article>
${list}
</div>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escaped(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${root}icon.svg">
${home ? home.head : `<link rel="stylesheet" href="${root}look.css">`}
<link rel="stylesheet" href="${root}site.css">
</head>
<body${home ? ' class="home"' : ''}>
<header class="bar">
<a class="name" href="${root}index.html"><img src="${root}icon.svg" alt="" width="24" height="24">
lockword</a>
<span><span class="direct">${direct}</span>
${list && '<button type="button" popovertarget="contents">On this page</button>'}
<button type="button" popovertarget="menu">Pages</button></span>
</header>
<main ${home?.state ?? ''}>
${home ? `${home.hero}\n${home.demo}` : ''}
${inner}
</main>
<footer>${footer}</footer>
</body>
</html>
`;
}
