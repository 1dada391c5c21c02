import { expect, test } from 'vitest';
import { crumbs, join, parseTable, previewOf, readsAsText } from './files';

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

test('paths', () => {
  expect(crumbs('/root/data')).toEqual([
    { name: '/', path: '/' },
    { name: 'root', path: '/root' },
    { name: 'data', path: '/root/data' },
  ]);
  expect(join('/', 'a')).toBe('/a');
  expect(join('/root', 'a')).toBe('/root/a');
});
