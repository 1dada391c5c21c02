import createPurify, { type Config, type DOMPurify } from 'dompurify';
import { words } from '$lib/words';
import type { Format } from './picture';

/**
 * A machine's picture as a file that a person saves. Throws what is meant for the person where it
 * is none.
 */
export async function fileOf(picture: Blob, format: Format): Promise<Blob> {
  return format === 'svg' ? harmlessSvg(picture) : picture;
}

/**
 * A machine's SVG as a file. A person opens it where no policy of ours holds, so it has no script
 * in it, and nothing that would be loaded from elsewhere: what a picture shows is in it.
 */
async function harmlessSvg(picture: Blob): Promise<Blob> {
  const drawn = new DOMParser().parseFromString(await picture.text(), 'image/svg+xml');
  const root = drawn.documentElement;
  if (root.localName !== 'svg' || drawn.querySelector('parsererror'))
    throw new Error(words.output.noPicture);
  cleaner ??= makeCleaner();
  cleaner.sanitize(root, CLEANING);
  return new Blob([new XMLSerializer().serializeToString(root)], { type: 'image/svg+xml' });
}

const CLEANING: Config = {
  IN_PLACE: true,
  USE_PROFILES: { svg: true, svgFilters: true },
  ADD_TAGS: ['use'], // Matplotlib's letters; leads only to what is in the picture, see below
};

let cleaner: DOMPurify | undefined;

function makeCleaner(): DOMPurify {
  const purify = createPurify(window);
  purify.addHook('uponSanitizeElement', (node) => {
    if (node.nodeName.toLowerCase() === 'style') node.textContent = rulesWithin(node.textContent);
  });
  purify.addHook('uponSanitizeAttribute', (_, attribute) => {
    const { attrName: name, attrValue: value } = attribute;
    const within = /(^|:)(href|src)$/.test(name) ? isWithin(value) : !leadsOut(value);
    // A namespace's name looks like an address, and is none.
    if (!within && !/^xmlns(:|$)/.test(name)) attribute.keepAttr = false;
  });
  return purify;
}

/**
 * Whether an address is in the picture itself, or holds a picture: one in a picture neither runs
 * nor loads anything.
 */
function isWithin(address: string): boolean {
  return /^(#|data:image\/)/.test(address);
}

/**
 * Whether what a property is set to may lead out of the picture. What is written with escapes is
 * not read.
 */
function leadsOut(value: string): boolean {
  const rest = value.replaceAll(/url\(\s*(["']?)(?:#|data:(?:image|font)\/)[^"')]*\1\s*\)/gi, '');
  return /\\|(?:url|src|image|image-set)\s*\(|@import/i.test(rest);
}

/** The rules that lead nowhere, as the browser reads them; a constructed sheet imports nothing. */
function rulesWithin(css: string | null): string {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css ?? '');
  return [...sheet.cssRules]
    .map((rule) => rule.cssText)
    .filter((text) => !leadsOut(text))
    .join('\n');
}
