import type { Entry } from './entry.svelte';

/**
 * Steps that follow each other, which a view draws or leaves out as one: the browser looks after
 * each element, and of steps there may be thousands.
 */
export interface Stretch {
  /** The same for as long as the timeline is shown, whatever is loaded before it. */
  readonly key: number;
  readonly entries: readonly Entry[];
}

/** What is drawn in one go must take less than a frame or two. */
const STEPS = 8;

/**
 * Steps in ascending order, in stretches. Those of `before` that are as they were come again, so
 * that nobody looks at them again.
 */
export function stretches(entries: readonly Entry[], before: readonly Stretch[] = []): Stretch[] {
  const known = new Map(before.map((stretch) => [stretch.key, stretch]));
  const all: Stretch[] = [];
  for (let from = 0; from < entries.length;) {
    const key = Math.floor((entries[from]?.seq ?? 0) / STEPS);
    let to = from + 1;
    while (Math.floor((entries[to]?.seq ?? -1) / STEPS) === key) to += 1;
    const same = known.get(key);
    const own = entries.slice(from, to);
    all.push(same && equal(same.entries, own) ? same : { key, entries: own });
    from = to;
  }
  return all;
}

function equal(a: readonly Entry[], b: readonly Entry[]): boolean {
  return a.length === b.length && a.every((entry, i) => entry === b[i]);
}
