/** A whole output as plain lines: for the viewer, where only a window of them is ever drawn. */

/* eslint-disable no-control-regex -- escapes are what it takes out */
const ESCAPES =
  /\u001b\[[0-9;:?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
/* eslint-enable no-control-regex */

/**
 * Longer lines are cut: no display can show them. The file that the person saves has the same cut.
 */
const MAX_COLUMNS = 100_000;

/** Of a line rewritten with `\r` the last state is kept, as a terminal would show it. */
export function plainLines(text: string): string[] {
  const lines = text.replace(ESCAPES, '').split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => {
    const parts = line.replace(/\r+$/, '').split('\r');
    const last = parts.at(-1) ?? '';
    return last.length > MAX_COLUMNS ? `${last.slice(0, MAX_COLUMNS)} …` : last;
  });
}
