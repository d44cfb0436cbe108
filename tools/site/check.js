/** check.js: follows the links of a static site within itself. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * Every link and image of every page leads to a file of the site, and every anchor to an element.
 *
 * @param {string} site a folder
 * @returns {{ pages: number, links: number, broken: string[] }}
 */
export function check(site) {
  const pages = readdirSync(site, { recursive: true }).filter((path) => path.endsWith('.html'));
  const anchors = new Map(
    pages.map((path) => {
      const html = readFileSync(join(site, path), 'utf8');
      return [
        path,
        { html, ids: new Set([...html.matchAll(/\bid="([^"]*)"/g)].map(([, id]) => id)) },
      ];
    }),
  );
  const broken = [];
  let links = 0;
  for (const [path, { html }] of anchors) {
    for (const [, link] of html.matchAll(/<[^>]*?\b(?:href|src|srcset)="([^"]*)"/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      links++;
      const [to, anchor] = link.split('#');
      const target = to ? relative(site, join(site, dirname(path), to)) : path;
      if (!existsSync(join(site, target))) broken.push(`${path}: ${link}: no such file`);
      else if (anchor && !anchors.get(target)?.ids.has(anchor))
        broken.push(`${path}: ${link}: no such anchor`);
    }
  }
  return { pages: pages.length, links, broken };
}
