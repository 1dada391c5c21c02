/** Python's words. Between two others stands no operator, so such a line is no Python. */
const KEYWORDS = new Set(
  'False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try type while with yield'.split(
    ' ',
  ),
);

/** What a sentence has beside letters, numbers and spaces. */
const SENTENCE = /^[\p{L}\p{M}\p{N}\s.,;?!%'’"“”„«»:/&€$£-]+$/u;

/**
 * Whether what somebody wrote into the box for Python is plain language: a few words that follow
 * each other, which Python never has.
 */
export function isSentence(text: string): boolean {
  const line = text.trim();
  if (!SENTENCE.test(line) || /^[%!]/.test(line)) return false;
  const pieces = line.split(/\s+/);
  if (pieces.length < 3) return false;
  const isName = (piece: string | undefined): boolean =>
    piece !== undefined && /^\p{L}[\p{L}\p{M}\p{N}_]*$/u.test(piece) && !KEYWORDS.has(piece);
  return pieces.some((piece, i) => isName(piece) && isName(pieces[i + 1]));
}
