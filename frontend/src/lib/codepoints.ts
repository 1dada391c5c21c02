/** The daemon counts code points, JavaScript UTF-16 units. */

/** How many code points lie before a UTF-16 position. */
export function codePoints(text: string, position: number): number {
  return [...text.slice(0, position)].length;
}

/** The UTF-16 position of a code point. */
export function utf16(text: string, codePoint: number): number {
  let position = 0;
  let n = 0;
  for (const character of text) {
    if (n === codePoint) break;
    position += character.length;
    n += 1;
  }
  return position;
}
