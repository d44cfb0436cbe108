/**
 * What the Markdown files of the repository contain: samples, links and headings.
 *
 * A fenced block is a sample unless its language is `text`. The comment before a sample says how it
 * is run, or why it is not:
 *
 *     <!-- run: on node deno bun, prints: 400000 of 400000 -->
 *     <!-- not run: needs a registry -->
 *
 * A sample whose first line is a comment with a file's name has that name. Named samples that
 * follow one with a comment, under the same heading, are further files of the same program.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import GithubSlugger from 'github-slugger';
import { lexer, walkTokens } from 'marked';

export const ROOT = join(import.meta.dirname, '../..');

/** A file's name as a comment of JavaScript, C, a shell or HTML: alone, or before a colon. */
const NAME = /^(?:\/\/|\/\*|#|<!--) ([\w./-]+\.\w+)(?:: .*| \*\/| -->)?$/;
const NOTE = /^<!-- (run|not run): ([^]*?) -->\s*$/;
const URL_ATTRIBUTE = /\b(?:href|src|srcset)="([^"]*)"/g;

/** All Markdown files that git knows, from the repository's root. */
export const pages = () =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .trim()
    .split('\n');

/** @returns {{ tokens: import('marked').Token[], text: string }} */
function read(page) {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return { tokens: lexer(text), text };
}

/**
 * The programs of a page, in its order.
 *
 * @returns {{ where: string, run?: string, reason?: string, files: { name?: string, lang: string,
 *   text: string }[] }[]}
 *   `where` is the page and the line; a program has `run` or `reason`, or neither if its comment is
 *   missing
 */
export function programsOf(page) {
  const { tokens, text } = read(page);
  const programs = [];
  let at = 0;
  let note;
  let program;
  for (const token of tokens) {
    const line = text.slice(0, at).split('\n').length;
    at += token.raw.length;
    if (token.type === 'heading') program = undefined;
    if (token.type === 'html' && NOTE.test(token.raw)) note = token.raw.match(NOTE);
    if (token.type !== 'code') continue;
    const { lang = '', text: code } = token;
    const name = code.split('\n', 1)[0].match(NAME)?.[1];
    const file = { name, lang, text: code };
    if (note) {
      program = {
        where: `${page}:${line}`,
        [note[1] === 'run' ? 'run' : 'reason']: note[2],
        files: [file],
      };
      programs.push(program);
    } else if (program && name) program.files.push(file);
    else if (lang !== 'text') programs.push({ where: `${page}:${line}`, files: [file] });
    note = undefined;
  }
  return programs;
}

/** Where a page's links and images lead, as they are written. */
export function linksOf(page) {
  const links = [];
  walkTokens(read(page).tokens, (token) => {
    if (token.type === 'link' || token.type === 'image') links.push(token.href);
    if (token.type === 'html')
      for (const [, url] of token.raw.matchAll(URL_ATTRIBUTE)) links.push(url);
  });
  return links;
}

/** Lines of prose of more than 100 columns. Some pages have generated ones. */
export function longLinesOf(page) {
  const lines = [];
  if (/^docs\/(benchmarks|simulation)\.md$/.test(page)) return lines;
  walkTokens(read(page).tokens, (token) => {
    if (token.type === 'paragraph' || token.type === 'list_item')
      lines.push(...token.raw.split('\n').filter((line) => line.length > 100));
  });
  return lines;
}

/** The anchors that a page's headings have. */
export function anchorsOf(page) {
  const slugger = new GithubSlugger();
  const anchors = [];
  walkTokens(read(page).tokens, (token) => {
    if (token.type === 'heading') anchors.push(slugger.slug(plain(token.tokens)));
  });
  return anchors;
}

/** A heading without its marks. */
export const plain = (tokens) =>
  tokens.map((token) => (token.tokens ? plain(token.tokens) : (token.text ?? ''))).join('');
