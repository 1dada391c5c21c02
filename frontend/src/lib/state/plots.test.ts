import { expect, it } from 'vitest';
import type { Api } from '$lib/api/api';
import type { Page, Plot } from '$lib/api/types';
import { keyOf, Plots } from './plots.svelte';

const plot = (seq: number, place: string): Plot => ({ seq, place, at: '', representations: [] });

/** A machine's plots: the daemon gives so many at a time. */
function machine(all: Plot[], size: number) {
  const get = (_: string, { params }: { params: { query: { cursor?: string } } }) => {
    const { cursor } = params.query;
    const newest = [...all].reverse();
    const from = cursor === undefined ? 0 : newest.findIndex((one) => keyOf(one) === cursor) + 1;
    const items = newest.slice(from, from + size);
    const last = items.at(-1);
    const more = from + size < newest.length && last !== undefined;
    const page: Page<Plot> = { items, ...(more ? { next: keyOf(last) } : {}) };
    return Promise.resolve(page);
  };
  return new Plots({ api: { get } as unknown as Api, name: 'm' });
}

it('keeps what was loaded before, goes on with what is new, and lets go of what was cleared', async () => {
  const all = [plot(0, '1'), plot(0, 'result'), plot(1, '2'), plot(1, '10'), plot(2, '0')];
  const plots = machine(all, 2);
  const shown = () => plots.list.map(keyOf).join(' ');
  await plots.refresh();
  expect([shown(), plots.hasEarlier]).toEqual(['1.10 2.0', true]);
  await plots.loadEarlier();
  await plots.loadEarlier();
  expect([shown(), plots.hasEarlier]).toEqual(['0.1 0.result 1.2 1.10 2.0', false]);
  all.push(plot(3, '0'));
  await plots.refresh();
  expect(shown()).toBe('0.1 0.result 1.2 1.10 2.0 3.0');
  all.splice(-1, 1);
  await plots.refresh();
  expect(shown()).toBe('0.1 0.result 1.2 1.10 2.0');
  // More than a page came meanwhile: what lies between is not known.
  all.push(plot(4, '0'), plot(5, '0'), plot(6, '0'));
  await plots.refresh();
  expect([shown(), plots.hasEarlier]).toEqual(['5.0 6.0', true]);
});
