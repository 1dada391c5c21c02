import { expect, it } from 'vitest';
import { fits } from './fuzzy';

it('prefers what begins a word, then what is in it, then letters in their order', () => {
  const found = ['Put to sleep', 'Oversleeping', 'Save as a Jupyter notebook'];
  expect(found.map((text) => fits(text, 'sleep'))).toEqual([4, 3, 0]);
  expect(found.map((text) => fits(text, 'SJN'))).toEqual([0, 0, 2]);
  expect(found.map((text) => fits(text, ''))).toEqual([1, 1, 1]);
  expect(fits('Settings', 'z')).toBe(0);
  expect(fits('Settings', 'tx')).toBe(0);
});
