import { expect, it } from 'vitest';
import type { Variable } from '$lib/api/types';
import { extent, grouped } from './variables';

const variable = (name: string, type: string, kind = 'value', shape?: string): Variable => ({
  name,
  type,
  kind,
  size: -1,
  ...(shape ? { shape } : {}),
});

it('puts tables first, then values, then code', () => {
  const { tables, values, code } = grouped([
    variable('LinearRegression', 'type', 'class'),
    variable('a', 'int'),
    variable('df', 'DataFrame', 'value', '(7300, 6)'),
    variable('f', 'function', 'function'),
    variable('names', 'list', 'value', '3'),
  ]);
  const named = (list: readonly Variable[]) => list.map(({ name }) => name);
  expect([named(tables), named(values), named(code)]).toEqual([
    ['df'],
    ['a', 'names'],
    ['LinearRegression', 'f'],
  ]);
});

it('reads how large a table is', () => {
  expect(extent(variable('df', 'DataFrame', 'value', '(7300, 6)'))).toEqual({
    rows: 7300,
    columns: 6,
  });
  expect(extent(variable('s', 'Series', 'value', '(12,)'))).toEqual({ rows: 12 });
  expect(extent(variable('cube', 'ndarray', 'value', '(2, 3, 4)'))).toBeNull();
  expect(extent(variable('a', 'int'))).toBeNull();
});
