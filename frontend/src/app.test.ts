import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** What spacing, type and radius may be: a token, nothing, or a part of what is around. */
const PROPERTY =
  /^\s*(?:font|font-size|(?:padding|margin|gap|row-gap|column-gap)[a-z-]*|border-[a-z-]*radius|border-radius): (.*);/;

it('takes spacing, type and radius from the tokens', () => {
  const src = new URL('.', import.meta.url).pathname;
  const loose = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(svelte|css)$/.test(name))
    .flatMap((name) => {
      const text = readFileSync(src + name, 'utf8');
      const styles = name.endsWith('.css') ? text : (/<style>[^]*<\/style>/.exec(text)?.[0] ?? '');
      return styles
        .split('\n')
        .filter((line) => /[\d.](px|rem|em)/.test(PROPERTY.exec(line)?.[1]?.split('/')[0] ?? ''))
        .map((line) => `${name}: ${line.trim()}`);
    });
  expect(loose).toEqual([]);
});
