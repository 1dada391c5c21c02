import { expect, it } from 'vitest';
import { memorySize, memorySizes } from './memory';

it('offers round sizes and the one that holds', () => {
  expect(memorySize(512)).toBe('512 MB');
  expect(memorySize(1536)).toBe('1.5 GB');
  expect(memorySizes(2048).map(({ value }) => value)).not.toContain('3000');
  expect(memorySizes(3072)[3]).toEqual({ value: '3072', label: '3 GB' });
});
