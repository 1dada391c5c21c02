import { expect, test } from 'vitest';
import { crumbs, fileName, join, parseTable, previewOf, readsAsText, shownName } from './files';

test('a table with quotes, separators and newlines in its cells', () => {
  expect(parseTable('a;b\r\n"x;y";"say ""hi""\nthere"\n1;2', 10, 10)).toEqual([
    ['a', 'b'],
    ['x;y', 'say "hi"\nthere'],
    ['1', '2'],
  ]);
  expect(parseTable('a,b,c\n1,2,3\n4,5,6\n', 2, 2)).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ]);
  expect(parseTable('', 5, 5)).toEqual([]);
});

test('how files are looked at', () => {
  expect(['a.CSV', 'b.png', 'c.parquet', 'notes', '.bashrc', 'd.svg'].map(previewOf)).toEqual([
    'table',
    'image',
    'none',
    'text',
    'text',
    'text',
  ]);
  expect(readsAsText(new Uint8Array([0xc3]))).toBe(true); // cut in the middle of a character
  expect(readsAsText(new Uint8Array([0xc3, 0x28]))).toBe(false);
  expect(readsAsText(new Uint8Array([65, 0]))).toBe(false);
});

test('names that would look like others', () => {
  expect(shownName('a\u202egnp.exe')).toBe('a‹U+202E›gnp.exe');
  expect(shownName('\u2066a\u200b\u001b[2J')).toBe('‹U+2066›a‹U+200B›‹U+001B›[2J');
  expect(shownName('Ünï 日本 مرحبا.txt')).toBe('Ünï 日本 مرحبا.txt');
});

test('paths', () => {
  expect(crumbs('/root/data')).toEqual([
    { name: '/', path: '/' },
    { name: 'root', path: '/root' },
    { name: 'data', path: '/root/data' },
  ]);
  expect(join('/', 'a')).toBe('/a');
  expect(join('/root', 'a')).toBe('/root/a');
});

test('titles as names of files', () => {
  expect(fileName('Café sales 2025')).toBe('Café sales 2025');
  expect(fileName('Reads a/b.csv: "all"?')).toBe('Reads a b.csv all');
  expect(fileName('..\\..\\x\u202e\u0000')).toBe('x');
  expect(fileName('x'.repeat(200))).toHaveLength(80);
  expect(fileName(' / ')).toBe('ForeverVM');
});
