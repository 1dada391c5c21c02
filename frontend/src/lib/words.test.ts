import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** A text in one line, in small letters, with plain quotation marks. */
const plain = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/\\'|[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .toLowerCase();

it('has every word of the window and its tray that the guide quotes', () => {
  const words = ['src/lib/words.ts', '../app/tray/menu.go']
    .map((file) => plain(readFileSync(file, 'utf8')))
    .join(' ');
  const guide = readFileSync('../docs/guide.md', 'utf8').replace(/```[^]*?```/g, '');
  const quoted = [...guide.matchAll(/(?<![*\w`])\*([^*]{3,120}?)\*(?![*\w])/g)].map(
    ([, text = '']) => text,
  );
  expect(quoted.length).toBeGreaterThan(50);
  expect(quoted.filter((text) => !words.includes(plain(text).replace(/[….:]+$/, '')))).toEqual([]);
});
