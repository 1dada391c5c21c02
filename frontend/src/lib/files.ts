/**
 * What the page makes of a machine's files. Names and contents are the machine's, and may be
 * anything.
 */

import { codeOf, INVISIBLE } from '$lib/invisible';

export type Preview = 'text' | 'table' | 'image' | 'none';

const IMAGES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};
const BINARY = new Set(
  'parquet feather arrow pickle pkl npy npz h5 hdf5 xlsx xls docx pptx pdf zip gz bz2 xz 7z tar whl so o pyc db sqlite duckdb bin exe dll mp3 mp4 wav avi mov tif tiff bmp ico woff woff2 ttf'.split(
    ' ',
  ),
);

function ending(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : '';
}

/** A name as people see it: "a\u202egnp.exe" would look like "aexe.png". */
export function shownName(name: string): string {
  return name.replace(INVISIBLE, (character) => `‹${codeOf(character)}›`);
}

/** How a file can be looked at, by its name. */
export function previewOf(name: string): Preview {
  const end = ending(name);
  if (end in IMAGES) return 'image';
  if (end === 'csv' || end === 'tsv') return 'table';
  return BINARY.has(end) ? 'none' : 'text';
}

export function imageType(name: string): string {
  return IMAGES[ending(name)] ?? 'application/octet-stream';
}

/** Whether bytes read as text; the last character may be cut off. */
export function readsAsText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * The first rows of a table; quoted cells may hold separators and newlines. The separator is what
 * the first line has most of.
 */
export function parseTable(text: string, rows: number, columns: number): string[][] {
  const first = text.slice(0, text.indexOf('\n') + 1 || text.length);
  const separator = [',', ';', '\t', '|'].reduce((best, next) =>
    first.split(next).length > first.split(best).length ? next : best,
  );
  const table: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  const endCell = (): void => {
    if (row.length < columns) row.push(cell);
    cell = '';
  };
  for (let i = 0; i < text.length && table.length < rows; i += 1) {
    const c = text.charAt(i);
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text.charAt(i + 1) === '"') {
        cell += '"';
        i += 1;
      } else quoted = false;
    } else if (c === '"' && cell === '') quoted = true;
    else if (c === separator) endCell();
    else if (c === '\n') {
      endCell();
      table.push(row);
      row = [];
    } else if (c !== '\r') cell += c;
  }
  if (table.length < rows && (cell !== '' || row.length > 0)) {
    endCell();
    table.push(row);
  }
  return table;
}

/** A path's folders, each with the path that leads there. */
export function crumbs(path: string): { name: string; path: string }[] {
  const out = [{ name: '/', path: '/' }];
  let at = '';
  for (const name of path.split('/')) {
    if (name === '') continue;
    at += `/${name}`;
    out.push({ name, path: at });
  }
  return out;
}

export function join(folder: string, name: string): string {
  return folder.endsWith('/') ? folder + name : `${folder}/${name}`;
}

const MOST_LETTERS_OF_A_NAME = 80;

/** A title as the name of a file that every system takes, without its end. */
export function fileName(title: string): string {
  const name = title
    .replace(/[\\/:*?"<>|\p{Cc}\p{Cf}]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .slice(0, MOST_LETTERS_OF_A_NAME)
    .replace(/^[\s.]+|[\s.]+$/g, '');
  return name === '' ? 'ForeverVM' : name;
}
