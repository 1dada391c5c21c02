import { pythonLanguage } from '@codemirror/lang-python';
import { highlightCode, tagHighlighter, tags } from '@lezer/highlight';
import { codeOf, INVISIBLE } from '$lib/invisible';

/** A piece of code and what it is; `kind` is a class name, or '' for plain text. */
export interface Piece {
  readonly text: string;
  readonly kind: string;
}

/** The classes that code is shown with, in the timeline and in the editor. */
export const highlighter = tagHighlighter([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.self], class: 'keyword' },
  { tag: [tags.string, tags.special(tags.string)], class: 'string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'number' },
  { tag: [tags.comment, tags.meta], class: 'comment' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))],
    class: 'name',
  },
  { tag: [tags.className, tags.definition(tags.className)], class: 'class' },
]);

/** Parsing more than this would make the page wait; longer code is shown plain. */
const MAX_PARSED = 200_000;

export function highlight(code: string): Piece[] {
  const pieces: Piece[] = [];
  if (code.length > MAX_PARSED) {
    pushVisible(pieces, code, '');
    return pieces;
  }
  highlightCode(
    code,
    pythonLanguage.parser.parse(code),
    highlighter,
    (text, kind) => pushVisible(pieces, text, kind),
    () => pieces.push({ text: '\n', kind: '' }),
  );
  return pieces;
}

function pushVisible(pieces: Piece[], text: string, kind: string): void {
  let at = 0;
  for (const match of text.matchAll(INVISIBLE)) {
    if (match.index > at) pieces.push({ text: text.slice(at, match.index), kind });
    pieces.push({ text: codeOf(match[0]), kind: 'invisible' });
    at = match.index + match[0].length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), kind });
}
