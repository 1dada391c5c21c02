/**
 * Whether HTML can be cleaned and laid out without holding up the page. Cleaning happens in one go,
 * and deep nesting costs browsers the square of its depth: a hostile 440 KB took half a minute.
 * What people really make (tables of pandas, even of a thousand rows) stays far below these bounds.
 * The count is a guess made in one pass; it need not be exact.
 */
export function showable(html: string): boolean {
  if (html.length > MAX_LENGTH) return false;
  let tags = 0;
  let depth = 0;
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at + 1)) {
    if (++tags > MAX_TAGS) return false;
    if (html[at + 1] === '/') {
      if (depth > 0) depth--;
      continue;
    }
    const name = /^[a-z][a-z0-9]*/i.exec(html.slice(at + 1, at + 12))?.[0].toLowerCase();
    if (name === undefined || UNNESTED.has(name)) continue;
    if (++depth > MAX_DEPTH) return false;
  }
  return true;
}

/** Whether Markdown is small enough to be turned into HTML in one go. */
export function showableMarkdown(markdown: string): boolean {
  return markdown.length <= MAX_MARKDOWN;
}

/**
 * Whether a figure's data is small enough to be drawn: a million points take the browser seconds.
 */
export function showableFigure(json: string): boolean {
  return json.length <= MAX_FIGURE;
}

export const MAX_FIGURE = 16 << 20;
const MAX_LENGTH = 4 << 20;
const MAX_TAGS = 60_000;
const MAX_DEPTH = 256;
const MAX_MARKDOWN = 256 << 10;

/** Elements that hold nothing, or whose end may be left out. */
const UNNESTED = new Set(
  'area br col embed hr img input link meta source track wbr p li td th tr dt dd option path line rect circle use'.split(
    ' ',
  ),
);
