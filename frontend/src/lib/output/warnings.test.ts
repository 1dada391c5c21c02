import { expect, test } from 'vitest';
import { TerminalText } from './terminal';
import { warningsIn } from './warnings';

const found = (written: string) => {
  const text = new TerminalText();
  text.write(written);
  return warningsIn(text);
};

test('text that is nothing but warnings is told from other text', () => {
  expect(found('<step 3>:1: FutureWarning: ffill is old\n  df.ffill()\n')).toEqual({
    count: 1,
    first: 'ffill is old',
  });
  expect(
    found('/opt/a.py:10: UserWarning: one\n  x()\n\n/opt/b.py:2: RuntimeWarning: two\n  y()\n'),
  ).toEqual({ count: 2, first: 'one' });
  expect(found('WARNING: Running pip as root\n\n[notice] A new release\n')).toEqual({
    count: 2,
    first: 'Running pip as root',
  });
  for (const other of [
    '',
    'hello\n',
    '  indented\n',
    'a.py:1: UserWarning: one\n  x()\nbut this is mine\n',
    'ERROR: no such package\n',
    `a.py:1: UserWarning: one\n${'  x\n'.repeat(100)}`,
  ]) {
    expect(found(other), other).toBeNull();
  }
});
