/**
 * A line of the table: what was measured, how much it was, and how much it may be; without an aim
 * it only explains another.
 */
export interface Row {
  readonly what: string;
  readonly measured: string;
  readonly aim?: string;
}

/** The value that a share of all do not exceed: 0.5 is the median. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)];
  if (value === undefined) throw new Error('Nothing was measured.');
  return value;
}

export const ms = (value: number): string => `${value.toFixed(0)} ms`;
export const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;

export function table(rows: readonly Row[]): string {
  const cells = [
    ['window', 'measured', 'aim'],
    ...rows.map(({ what, measured, aim }) => [what, measured, aim ?? '']),
  ];
  const widths = [0, 1].map((column) =>
    Math.max(...cells.map((row) => (row[column] ?? '').length)),
  );
  return cells
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}
