import type { Machine } from '$lib/api/types';

/** Whether every word of the search is in the machine's name, title or tags. */
export function matches(
  machine: Pick<Machine, 'name' | 'title' | 'tags'>,
  search: string,
): boolean {
  const tags = Object.entries(machine.tags).map(([key, value]) => `${key}=${value}`);
  const text = [machine.name, machine.title ?? '', ...tags].join('\n').toLocaleLowerCase();
  return search
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
