import { describe, expect, it } from 'vitest';
import type { Entry } from './entry.svelte';
import { stretches } from './stretches';

const steps = (from: number, to: number): Entry[] =>
  Array.from({ length: to - from }, (_, i) => known(from + i));

const all = new Map<number, Entry>();

function known(seq: number): Entry {
  const entry = all.get(seq) ?? ({ seq } as Entry);
  all.set(seq, entry);
  return entry;
}

describe('stretches', () => {
  it('hold every step once, in order', () => {
    for (const entries of [[], steps(0, 1), steps(3, 100), steps(16, 24)]) {
      expect(stretches(entries).flatMap((stretch) => stretch.entries)).toEqual(entries);
    }
  });

  it('stay the same ones when others come before and after them', () => {
    const before = stretches(steps(40, 71));
    const after = stretches(steps(10, 80), before);
    const keys = after.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
    const kept = before.filter((stretch) => after.includes(stretch));
    expect(before.length - kept.length).toBe(1); // the last one has grown
  });

  it('are new where a step is another one', () => {
    const before = stretches(steps(0, 30));
    const changed = steps(0, 30).with(12, { seq: 12 } as Entry);
    const after = stretches(changed, before);
    expect(after.filter((stretch) => !before.includes(stretch))).toEqual([after[1]]);
  });
});
