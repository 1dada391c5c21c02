import { expect, it } from 'vitest';
import { csvField, hasTable, wholeAsCsv } from './tables';

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
