import { expect, it } from 'vitest';
import { destination, matching, pageOf, pages } from './pages';
import { addressOf, placeAt, PLACES, placeOf, type Place } from './places';

const has = ({ page, section }: Place): boolean =>
  section === undefined || pageOf({ page }).sections.some(({ id }) => id === section);

it('has each place that the window leads to', () => {
  expect(Object.values(PLACES).filter((place) => !has(place))).toEqual([]);
  for (const code of [
    'DiskFull',
    'EngineUnavailable',
    'CheckpointUnusable',
    'UnknownMaker',
    'Unreachable',
  ]) {
    const place = placeOf(code);
    expect(place && has(place), code).toBe(true);
  }
  expect(placeOf('Internal')).toBeUndefined();
  expect(placeOf(undefined)).toBeUndefined();
});

it('has a heading for each of its links', () => {
  let links = 0;
  for (const { name, html } of pages) {
    for (const [, href = ''] of html.matchAll(/<a href="([^"]*)"/g)) {
      links += 1;
      const place = placeAt(href);
      expect(place && has(place), `${name}: ${href}`).toBe(true);
    }
    expect(html).not.toMatch(/<(img|script)|href="(?!#)/);
  }
  expect(links).toBeGreaterThan(20);
});

it('leads to a place by a hash, and by no other', () => {
  for (const place of Object.values(PLACES)) expect(placeAt(addressOf(place))).toEqual(place);
  for (const hash of [
    '',
    '#/apps',
    '#/help/',
    '#/help/nothing',
    '#/machine/help',
    '#/help/guide/%',
  ])
    expect(placeAt(hash)).toBeNull();
});

it('tells links within the documents from those that lead out', () => {
  expect(destination('guide', '#network')).toEqual({ page: 'guide', section: 'network' });
  expect(destination('guide', 'install.md')).toEqual({ page: 'install' });
  expect(destination('guide', 'install.md#disk')).toEqual({ page: 'install', section: 'disk' });
  expect(destination('guide', '../CONTRIBUTING.md')).toBeNull();
  expect(destination('guide', 'https://example.com/install.md')).toBeNull();
});

it('finds sections that have all words', () => {
  const guide = pageOf({ page: 'guide' });
  expect(matching(guide, ' ')).toEqual(guide.sections);
  const found = matching(guide, 'Shared  FOLDER').map(({ id }) => id);
  expect(found).toContain('share-a-folder');
  expect(found).not.toContain('exporting');
  expect(matching(guide, 'xyzzy')).toEqual([]);
});
