import { expect, it } from 'vitest';
import { columnWidth, shownNumber, shownValue } from './cell';

it('rounds numbers that have too many digits, and nothing else', () => {
  expect(
    ['151.20000000000002', '-0.3333333333333333', '12.5', '7', '1234567.123456789'].map(
      shownNumber,
    ),
  ).toEqual(['151.2', '-0.333333', '12.5', '7', '1234567']);
  expect(['nan', '1.2.3', 'abc 1.234567', '2024-01-01'].map(shownNumber)).toEqual([
    'nan',
    '1.2.3',
    'abc 1.234567',
    '2024-01-01',
  ]);
  expect(shownNumber('1.6666666666666666e-07')).toBe('1.66667e-7');
});

it('shows numpy’s values as the values that they are', () => {
  expect(
    ['np.float64(1983.38)', 'np.int64(-3)', "np.str_('a')", 'np.True_', 'np.float64(nan)'].map(
      shownValue,
    ),
  ).toEqual(['1983.38', '-3', "'a'", 'True', 'nan']);
  for (const other of ['[np.float64(1.0)]', 'np.array([1])', 'np.float64', '3', "'np.int64(3)'"]) {
    expect(shownValue(other)).toBe(other);
  }
});

it('makes columns as wide as they need, within bounds', () => {
  expect(columnWidth('n', ['1', '20', null])).toBe(9);
  expect(columnWidth('a long name of a column', [])).toBe(26);
  expect(columnWidth('n', ['x'.repeat(100)])).toBe(40);
});
