import { expect, test } from 'vitest';
import { showable, showableMarkdown } from './bounds';

test('what people make is shown', () => {
  const row = '<tr>' + '<td>1.0</td>'.repeat(12) + '</tr>';
  expect(showable('<table><tbody>' + row.repeat(1000) + '</tbody></table>')).toBe(true);
  expect(showable('<table>' + '<tr><td>1<td>2'.repeat(1000) + '</table>')).toBe(true);
  expect(showable('a < b '.repeat(1000) + '<br>'.repeat(1000))).toBe(true);
  expect(showableMarkdown('# Title\n'.repeat(1000))).toBe(true);
});

test('what would hold up the page is not', () => {
  expect(showable('<b a=1><i>x'.repeat(40_000))).toBe(false);
  expect(showable('<b a=1><i>x'.repeat(200))).toBe(false);
  expect(showable('<br>'.repeat(100_000))).toBe(false);
  expect(showable('x'.repeat(5 << 20))).toBe(false);
  expect(showableMarkdown('['.repeat(300 << 10))).toBe(false);
});
