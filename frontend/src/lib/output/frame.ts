import createPurify, { type Config, type DOMPurify } from 'dompurify';
import { marked } from 'marked';
import { FIGURE_SCRIPT, FRAME_SCRIPT } from './frame-script';
import { plotly } from '$lib/output/plotly';

/**
 * The SHA-256 of FRAME_SCRIPT, and of Plotly and FIGURE_SCRIPT, as a policy has them, put in by
 * vite.shared.ts.
 */
declare const __FRAME_SCRIPT_DIGEST__: string;
declare const __FIGURE_SCRIPT_DIGESTS__: string;

/**
 * HTML from a machine is hostile. It is cleaned, and shown only in a frame of its own that
 *  - has an origin of its own (no `allow-same-origin`): nothing in it can reach the page, its storage or the token;
 *  - loads nothing from anywhere and runs no script but ours, by its policy and the inherited one of the page;
 *  - cannot be led elsewhere (links lose their address; the page's `frame-src 'none'` refuses the rest).
 */
export function frameDocument(html: string): string {
  return page(sanitize(html));
}

/**
 * A document that draws an interactive figure of Plotly's, in a frame with the same bounds: of a
 * machine's there is only data in it, which Plotly reads. That is code of five megabytes, which the
 * page has only once a figure is seen.
 */
export async function figureDocument(figure: string): Promise<string> {
  const code = await plotly();
  const data = figure.replaceAll('<', '\\u003c'); // so that nothing ends the element that holds it
  return page(
    `<div id="plot"></div><script type="application/json" id="figure">${data}</script>` +
      `<script>${code}</script><script>${FIGURE_SCRIPT}</script>`,
    __FIGURE_SCRIPT_DIGESTS__,
  );
}

/** Markdown becomes HTML first and is then treated alike. */
export function markdownHtml(markdown: string): string {
  return marked.parse(markdown, { async: false, gfm: true });
}

const CLEANING: Config = {
  FORCE_BODY: true, // keeps a <style> that stands first, as pandas' styled tables have
  FORBID_TAGS: [
    'form',
    'input',
    'button',
    'select',
    'textarea',
    'dialog',
    'audio',
    'video',
    'meta',
    'link',
    'base',
  ],
  FORBID_ATTR: ['action', 'formaction', 'ping', 'srcset', 'autofocus', 'tabindex', 'target'],
  USE_PROFILES: { html: true, svg: true, mathMl: true },
};

let cleaner: DOMPurify | undefined;

function sanitize(html: string): string {
  cleaner ??= makeCleaner();
  return cleaner.sanitize(html, CLEANING);
}

function makeCleaner(): DOMPurify {
  const purify = createPurify(window);
  purify.addHook('afterSanitizeAttributes', (element) => {
    if (element instanceof HTMLTableElement) align(element);
    for (const attribute of ['href', 'xlink:href']) {
      const address = element.getAttribute(attribute);
      if (address === null || address.startsWith('#')) continue;
      if (element.localName === 'image' && address.startsWith('data:image/')) continue;
      element.removeAttribute(attribute);
      if (element.localName === 'a') element.setAttribute('title', address);
    }
  });
  return purify;
}

const NUMBER = /^[-+−]?(\d[\d.,\s]*(e[-+]?\d+)?\s?%?|inf)$/i;
const NOTHING = /^(|nan|nat|none|<na>|\.\.\.|…)$/i;

/** Numbers stand at the right, and so does the name of a column that has nothing else. */
function align(table: HTMLTableElement): void {
  const numeric: boolean[] = [];
  for (const row of table.tBodies[0]?.rows ?? []) {
    [...row.cells].forEach((cell, i) => {
      const text = (cell.textContent ?? '').trim();
      const number = cell.localName === 'td' && NUMBER.test(text);
      if (number) cell.classList.add('number');
      numeric[i] = (numeric[i] ?? true) && (number || NOTHING.test(text));
    });
  }
  for (const row of [...(table.tHead?.rows ?? []), ...(table.tBodies[0]?.rows ?? [])]) {
    if (row.cells.length !== numeric.length) continue;
    [...row.cells].forEach((cell, i) => {
      if (numeric[i]) cell.classList.add('number');
    });
  }
}

function page(body: string, scripts = ''): string {
  const policy =
    `default-src 'none'; script-src ${__FRAME_SCRIPT_DIGEST__} ${scripts}; ` +
    `img-src data: blob:; font-src data:; style-src 'unsafe-inline'`;
  return (
    `<!doctype html><html${theme()}><head><meta charset="utf-8">` +
    `<meta http-equiv="Content-Security-Policy" content="${policy}">` +
    `<meta name="referrer" content="no-referrer"><meta http-equiv="x-dns-prefetch-control" content="off">` +
    `<style>${STYLE}</style></head><body>${body}<script>${FRAME_SCRIPT}</script></body></html>`
  );
}

/** A frame is light or dark as the page around it is now; it does not see that itself. */
function theme(): string {
  const chosen = document.documentElement.dataset['theme'];
  return chosen === 'light' || chosen === 'dark' ? ` class="${chosen}"` : '';
}

const DARK =
  '--ink: #e7e8e3; --soft: #a3a69d; --line: #363934; --stripe: #222420; --head: #292c27;';

/** The page's look for what comes without one: text, tables as pandas writes them, Markdown. */
const STYLE = `
:root { color-scheme: light dark; --ink: #1c1d1a; --soft: #5f625b; --line: #dfe0da; --stripe: #f6f6f3; --head: #f0f0ec; }
@media (prefers-color-scheme: dark) { :root:not(.light) { ${DARK} } }
:root.light { color-scheme: light; }
:root.dark { color-scheme: dark; ${DARK} }
html { overflow: auto; }
body { margin: 0; padding: 1px; color: var(--ink); background: transparent; overflow-wrap: break-word;
  font: 13px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Cantarell, sans-serif; }
table { border-collapse: separate; border-spacing: 0; border: 1px solid var(--line) !important; border-radius: 6px;
  font-variant-numeric: tabular-nums; font-size: 12.5px; margin: 0 0 4px; }
th, td { padding: 4px 12px; text-align: left; border: 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
tr:last-child > td, tbody tr:last-child > th { border-bottom: 0; }
thead th { position: sticky; top: 0; background: var(--head); font-weight: 600; border-bottom: 1px solid var(--line); }
thead th:first-child { border-top-left-radius: 5px; } thead th:last-child { border-top-right-radius: 5px; }
table.dataframe thead th { text-align: left; } /* pandas brings a rule of its own */
th.number, td.number, table.dataframe thead th.number { text-align: right; }
tbody th { color: var(--soft); font-weight: 500; }
tbody th:first-child, thead th:first-child { position: sticky; left: 0; background: var(--head); } thead th:first-child { z-index: 1; }
tbody tr:nth-child(even) { background: var(--stripe); }
caption { caption-side: top; text-align: left; color: var(--soft); padding: 0 0 6px; }
table + p { color: var(--soft); font-size: 12px; margin: 4px 0 0; }
h1, h2, h3, h4 { line-height: 1.3; margin: 0.8em 0 0.4em; } h1 { font-size: 1.5em; } h2 { font-size: 1.25em; } h3 { font-size: 1.1em; }
body > :first-child { margin-top: 0; } body > :last-child { margin-bottom: 0; }
p, ul, ol, pre, blockquote { margin: 0 0 0.7em; } ul, ol { padding-left: 1.4em; }
pre, code { font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
:not(pre) > code { background: var(--head); border-radius: 4px; padding: 1px 4px; }
pre { background: var(--stripe); border-radius: 6px; padding: 8px 12px; overflow-x: auto; }
blockquote { border-left: 3px solid var(--line); padding-left: 12px; color: var(--soft); }
math { font-size: 1.2em; } math[display="block"] { text-align: left; margin: 4px 0; }
.temml-error { color: inherit !important; white-space: pre-wrap; }
a { color: inherit; text-decoration: underline dotted; } img, svg { max-width: 100%; height: auto; }
`;
