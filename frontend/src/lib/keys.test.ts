import { expect, it } from 'vitest';
import { keyOf } from './keys';

const press = (key: string, held: Partial<KeyboardEvent> = {}) =>
  keyOf({ key, altKey: false, ctrlKey: false, metaKey: false, shiftKey: false, ...held } as never);

it('tells keys apart by what is held with them', () => {
  expect(press('k')).toBe('previous');
  expect(press('k', { ctrlKey: true })).toBe('palette');
  expect(press('k', { metaKey: true })).toBe('palette');
  expect(press('K', { shiftKey: true })).toBeUndefined();
  expect(press('k', { altKey: true })).toBeUndefined();
  expect(press('?', { shiftKey: true })).toBe('help');
  expect(press('/')).toBe('search');
  expect(press('n', { ctrlKey: true })).toBeUndefined();
});
