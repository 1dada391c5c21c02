import { expect, test } from 'vitest';
import { hostOf, isElsewhere } from './elsewhere';

test.each([
  ['native', false],
  ['docker', false],
  ['ssh:me@far', true],
  ['kubernetes:company', true],
  ['cluster:company', true],
])('%s is elsewhere: %s', (engine, elsewhere) => {
  expect(isElsewhere(engine)).toBe(elsewhere);
});

test('a place is called what follows its kind', () => {
  expect(hostOf('ssh:me@far')).toBe('me@far');
  expect(hostOf('kubernetes:company')).toBe('company');
});
