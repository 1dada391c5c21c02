/**
 * How well a text fits what was typed: 0 for not at all. What stands in it whole fits better than
 * letters that only follow each other in it, and what begins a word fits better than the rest.
 */
export function fits(text: string, typed: string): number {
  const wanted = typed.trim().toLocaleLowerCase();
  const given = text.toLocaleLowerCase();
  if (wanted === '') return 1;
  const at = given.indexOf(wanted);
  if (at >= 0) return at === 0 || /[\s/.·-]/.test(given.charAt(at - 1)) ? 4 : 3;
  let from = 0;
  for (const letter of wanted.replace(/\s/g, '')) {
    from = given.indexOf(letter, from) + 1;
    if (from === 0) return 0;
  }
  return wanted.length > 1 ? 2 : 0;
}
