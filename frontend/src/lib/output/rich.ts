import type { Representation } from '$lib/api/types';
import { MAX_FIGURE } from './bounds';

/** The ways in which something rich is shown. */
export type RichKind =
  'html' | 'svg' | 'image' | 'markdown' | 'latex' | 'figure' | 'interactive' | 'json' | 'text';

export interface Rich {
  readonly kind: RichKind;
  readonly representation: Representation;
}

/** The best form first. An interactive chart's own HTML only loads scripts from elsewhere. */
const ORDER: readonly [RegExp, RichKind][] = [
  [/^application\/vnd\.plotly\.v1\+json$/, 'figure'],
  [/^text\/html$/, 'html'],
  [/^image\/svg\+xml$/, 'svg'],
  [/^image\/(png|jpeg|gif|webp)$/, 'image'],
  [/^text\/markdown$/, 'markdown'],
  [/^text\/latex$/, 'latex'],
  [/^application\/vnd\.[\w.-]+\+json$/, 'interactive'],
  [/^application\/(json|[\w.-]+\+json)$/, 'json'],
  [/^text\//, 'text'],
];

/** A drawing of many parts takes the browser long: it is shown as the picture that comes along. */
const MAX_SVG = 512 << 10;

/**
 * Chooses how to show something that comes in several forms; null when the page can show none of
 * them.
 */
export function choose(representations: readonly Representation[]): Rich | null {
  const png = representations.some(({ mime }) => mime === 'image/png');
  const interactive = representations.some(({ mime }) => mime.startsWith('application/vnd.'));
  for (const [pattern, kind] of ORDER) {
    if (interactive && kind === 'html') continue;
    const representation = representations.find(
      ({ mime, size }) =>
        pattern.test(mime) &&
        !(kind === 'svg' && png && size > MAX_SVG) &&
        !(kind === 'figure' && png && size > MAX_FIGURE),
    );
    if (representation) return { kind, representation };
  }
  return null;
}
