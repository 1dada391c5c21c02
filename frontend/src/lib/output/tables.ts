import { parse } from 'papaparse';
import type { Variable } from '$lib/api/types';

/** Whether a variable can be looked at in rows and columns. */
export function isTable({ type, shape }: Pick<Variable, 'type' | 'shape'>): boolean {
  if (type === 'DataFrame' || type === 'Series') return true;
  return type === 'ndarray' && /^\(\d+,( \d+)?\)$/.test(shape ?? '');
}

/** Whether a variable can be opened: a table, or what has items, one in each row. */
export function isOpenable(variable: Pick<Variable, 'type' | 'shape'>): boolean {
  const { type, shape } = variable;
  return isTable(variable) || (/^(list|tuple|dict|set|frozenset)$/.test(type) && shape !== '0');
}

/** How a whole table is saved. */
export type TableFormat = 'csv' | 'xlsx';

/**
 * Whether code can name a variable: what a hostile machine calls its variables is put into none.
 */
export function isSaveable(variable: Pick<Variable, 'name' | 'type' | 'shape'>): boolean {
  const { name } = variable;
  return isTable(variable) && /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name);
}

/**
 * The first table in a machine's HTML as comma-separated values; null where there is none. The HTML
 * is read and never shown.
 */
export function tableAsCsv(html: string): string | null {
  const table = new DOMParser().parseFromString(html, 'text/html').querySelector('table');
  if (!table) return null;
  const rows = [...table.rows].map((row) =>
    [...row.cells].map((cell) => csvField(cell.textContent?.trim() ?? '')).join(','),
  );
  return `${rows.join('\r\n')}\r\n`;
}

/** A whole table in comma-separated values, so that spreadsheets take no cell for a formula. */
export function wholeAsCsv(csv: string): string {
  const { data } = parse<string[]>(csv, { skipEmptyLines: true });
  return data.map((row) => `${row.map(csvField).join(',')}\r\n`).join('');
}

/**
 * Whether a table in a machine's HTML is not all there: pandas leaves out rows and columns in the
 * middle of large ones, and cuts long texts. It says how many there are below the table.
 */
export function isShortened(html: string): boolean {
  const parsed = new DOMParser().parseFromString(html, 'text/html');
  const table = parsed.querySelector('table');
  if (!table) return false;
  const [, rows, columns] = /(\d+) rows × (\d+) columns/.exec(parsed.body.textContent ?? '') ?? [];
  const body = table.tBodies[0]?.rows;
  if (body && rows && Number(rows) > body.length) return true;
  const cells = [...(body?.[0]?.cells ?? [])].filter((cell) => cell.localName === 'td');
  if (columns && Number(columns) > cells.length) return true;
  return [...table.querySelectorAll('th, td')].some((cell) =>
    /(\.\.\.|…)$/.test(cell.textContent?.trim() ?? ''),
  );
}

/**
 * A field that spreadsheets take for what it says: never for a formula, which a hostile table could
 * bring along.
 */
export function csvField(text: string): string {
  const formula = /^[=+\-@\t\r]/.test(text) && !/^[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?$/.test(text);
  const safe = formula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Whether it is worth offering: a guess that costs nothing. */
export function hasTable(html: string): boolean {
  return /<table[\s>]/i.test(html);
}
