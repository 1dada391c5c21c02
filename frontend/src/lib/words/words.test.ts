import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { de } from './de';
import { en } from './en';
import { es } from './es';
import { fr } from './fr';
import { ja } from './ja';
import { pt } from './pt';
import { zh } from './zh';

/** A text in one line, in small letters, with plain quotation marks. */
const plain = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    .replace(/\\'|[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .toLowerCase();

it('has every word of the window and its tray that the guide quotes', () => {
  const words = ['src/lib/words/en.ts', '../app/words/en.go']
    .map((file) => plain(readFileSync(file, 'utf8')))
    .join(' ');
  const guide = readFileSync('../docs/guide.md', 'utf8').replace(/```[^]*?```/g, '');
  const quoted = [...guide.matchAll(/(?<![*\w`])\*([^*]{3,120}?)\*(?![*\w])/g)].map(
    ([, text = '']) => text,
  );
  expect(quoted.length).toBeGreaterThan(50);
  expect(quoted.filter((text) => !words.includes(plain(text).replace(/[….:]+$/, '')))).toEqual([]);
});

/** What a language says, by where it says it. Functions say something about the first of many. */
function sentences(words: unknown, at = ''): [string, string][] {
  if (typeof words === 'string') return [[at, words]];
  if (typeof words === 'function') return [[at, String(words('3', '4', '5', '6'))]];
  if (typeof words !== 'object' || words === null) return [];
  return Object.entries(words).flatMap(([key, inner]) => sentences(inner, `${at}.${key}`));
}

it.each(Object.entries({ de, es, fr, ja, pt, zh }))('says everything in %s', (_, words) => {
  const english = new Map(sentences(en));
  const other = sentences(words);
  expect(other.filter(([, text]) => text.trim() === '')).toEqual([]);
  // Names, commands and short words may be the same.
  const same = other.filter(([at, text]) => text.length > 15 && english.get(at) === text);
  expect(same).toEqual([]);
});

it('explains errors that the daemon has', () => {
  const server = readFileSync('../backend/server/errors.go', 'utf8');
  expect(Object.keys(de.codes ?? {}).filter((code) => !server.includes(`"${code}"`))).toEqual([]);
});
