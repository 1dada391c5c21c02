import { expect, it } from 'vitest';
import { parseFilter } from './filters';

it('reads what a person types above a column', () => {
  const read = (text: string, number = false) => {
    const filter = parseFilter(2, number, text);
    return filter && `${filter.column} ${filter.test} ${filter.value}`;
  };
  expect([read('ab'), read(' > 5 '), read('>=5'), read('!= x y'), read('=')]).toEqual([
    '2 contains ab',
    '2 gt 5',
    '2 ge 5',
    '2 ne x y',
    null,
  ]);
  expect([read('5', true), read('5x', true), read('5'), read('  ')]).toEqual([
    '2 eq 5',
    '2 contains 5x',
    '2 contains 5',
    null,
  ]);
});
