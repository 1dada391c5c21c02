import type { Machine } from '$lib/api/types';

/** Whether every word of the search is in the machine's name, titles or tags. */
export function matches(
  machine: Pick<Machine, 'name' | 'title' | 'derived_title' | 'tags'>,
  search: string,
): boolean {
  const tags = Object.entries(machine.tags).map(([key, value]) => `${key}=${value}`);
  const titles = [machine.title ?? '', machine.derived_title ?? ''];
  const text = [machine.name, ...titles, ...tags].join('\n').toLocaleLowerCase();
  return search
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
