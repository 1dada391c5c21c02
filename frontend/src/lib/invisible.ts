/**
 * Characters that are not seen but change how text reads (directions, zero widths, controls):
 * people must not take code for other code than what runs, nor a program's file for a picture.
 */
export const INVISIBLE =
  // eslint-disable-next-line no-control-regex -- they are what it looks for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** What is shown in place of one of them. */
export function codeOf(character: string): string {
  return `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}
