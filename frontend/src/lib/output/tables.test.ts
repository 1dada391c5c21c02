import { expect, it } from 'vitest';
import { csvField, hasTable } from './tables';

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
