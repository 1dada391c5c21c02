import { expect, it } from 'vitest';
import { csvField, hasTable, isOpenable, isSaveable, wholeAsCsv } from './tables';

it('writes fields that are only what they say', () => {
  expect(
    ['plain', 'a,b', 'say "hi"', 'two\nlines', '-1.5', '+3e-7', '-12,000', '10%'].map(csvField),
  ).toEqual([
    'plain',
    '"a,b"',
    '"say ""hi"""',
    '"two\nlines"',
    '-1.5',
    '+3e-7',
    '"-12,000"',
    '10%',
  ]);
  for (const hostile of [
    '=1+1',
    '@SUM(A1)',
    '+cmd|x',
    "-2+3+cmd|' /C calc'!A0",
    '\t=1',
    '=HYPERLINK("x")',
  ]) {
    expect(csvField(hostile).replace(/^"/, '')).toMatch(/^'/);
  }
});

it('opens what has rows or items, and saves what is a table', () => {
  const of = (type: string, shape: string) => ({ name: 'x', type, shape });
  expect([of('DataFrame', '(2, 2)'), of('list', '3'), of('dict', '1')].map(isOpenable)).toEqual([
    true,
    true,
    true,
  ]);
  expect([of('list', '0'), of('int', ''), of('Odd', '3')].map(isOpenable)).toEqual([
    false,
    false,
    false,
  ]);
  expect([of('DataFrame', '(2, 2)'), of('list', '3')].map(isSaveable)).toEqual([true, false]);
});

it('offers only what has a table', () => {
  expect([hasTable('<div><TABLE border=1>'), hasTable('<tablet>'), hasTable('no')]).toEqual([
    true,
    false,
    false,
  ]);
});

it('writes a whole table, of which no cell is a formula', () => {
  expect(wholeAsCsv(',city,note\n0,"Paris, 1",=1+1\n1,"two\nlines",-2.5\n')).toBe(
    ',city,note\r\n0,"Paris, 1",\'=1+1\r\n1,"two\nlines",-2.5\r\n',
  );
});
