import { expect, it } from 'vitest';
import { spanChoices, spanText } from './spans';

it('says spans in words, and keeps the one that holds', () => {
  expect(spanText('1h30m')).toBe('1 hour 30 minutes');
  expect(spanText('7d')).toBe('7 days');
  expect(spanChoices(['10m', '1h'], '20m')).toEqual(['10m', '20m', '1h']);
  expect(spanChoices(['10m', '1h'], '60m')).toEqual(['10m', '60m']);
});
