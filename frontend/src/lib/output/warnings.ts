import type { TerminalText } from './terminal';

/** What Python prints before a warning, and what pip does. */
const WARNING = /^(?:.{0,300}:\d+: )?\[?(?:\w{0,60}Warning|WARNING|notice)\]?:? (\S.*)$/;
/** Programs write more than warnings in more lines. */
const MOST_LINES = 60;
const MOST_LETTERS = 120;

/**
 * What libraries warn of, where a stream's text is nothing else: how many warnings, and the words
 * of the first. Such text seldom concerns who reads the results. Null for any other text.
 */
export function warningsIn(text: TerminalText): { count: number; first: string } | null {
  if (text.count === 0 || text.count > MOST_LINES) return null;
  const lines = text
    .ends(MOST_LINES, 0)
    .head.map(({ spans }) => spans.map((span) => span.text).join(''));
  const said = lines.flatMap((line) => WARNING.exec(line)?.[1] ?? []);
  const [first] = said;
  const rest = lines.filter((line) => !WARNING.test(line));
  // A warning's own further lines are indented: they quote the code.
  if (first === undefined || !rest.every((line) => line.trim() === '' || /^\s/.test(line))) {
    return null;
  }
  return { count: said.length, first: first.slice(0, MOST_LETTERS) };
}
