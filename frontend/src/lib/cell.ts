/** So many digits of a number are shown; all of them stand in its title. */
const DIGITS = 6;

/** A number as a table shows it: `151.20000000000002` is 151.2. What is no long number stays. */
export function shownNumber(text: string): string {
  if (!/^-?\d+\.\d{5,}(e[+-]?\d+)?$/.test(text)) return text;
  const whole = text.replace(/^-/, '').indexOf('.');
  return String(Number(Number(text).toPrecision(Math.max(DIGITS, whole))));
}

/** A value as people read it: numpy's `np.float64(1983.38)` is 1983.38. */
export function shownValue(text: string): string {
  if (text.length > 200) return text;
  const [, inside] =
    /^np\.(?:u?int|float|longdouble|str_|datetime|timedelta)\d*\(([^()]*)\)$/.exec(text) ?? [];
  const [, truth] = /^np\.(True|False)_$/.exec(text) ?? [];
  return inside ?? truth ?? text;
}

/** How wide a column is, in characters: as its name and what is in it, within bounds. */
export function columnWidth(name: string, cells: readonly (string | null | undefined)[]): number {
  const longest = Math.max(name.length + 3, ...cells.map((cell) => cell?.length ?? 0));
  return Math.min(Math.max(longest, 9), 40);
}
