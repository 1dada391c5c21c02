import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Api } from '$lib/api/api';
import type { Instruction, Item } from '$lib/api/types';
import { Entry } from './entry.svelte';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * An instruction that has put out so many lines of some length, one item each, in pages of a
 * thousand.
 */
function source(items: number, length = 10) {
  const asked: number[] = [];
  const instruction = { seq: 0, status: 'ok', items, output_bytes: items * length } as Instruction;
  const api = {
    get(path: string, { params }: { params: { query: { from: number } } }) {
      if (!path.endsWith('/items')) return Promise.resolve(instruction);
      const { from } = params.query;
      asked.push(from);
      const to = Math.min(from + 1_000, items);
      const page = Array.from(
        { length: to - from },
        (_, i) => ({ index: from + i, kind: 'output', text: `${from + i}\n` }) as Item,
      );
      return Promise.resolve({ items: page, ...(to < items ? { next: String(to) } : {}) });
    },
  } as unknown as Api;
  return { entry: new Entry({ api, name: 'm' }, instruction), asked };
}

const kinds = (entry: Entry) => entry.transcript.blocks.map(({ kind }) => kind);

function lastLine(entry: Entry): string | undefined {
  const block = entry.transcript.blocks.at(-1);
  return block?.kind === 'text' ? block.text.ends(1, 1).tail.at(-1)?.spans[0]?.text : undefined;
}

describe('Entry', () => {
  it('loads what fits whole', async () => {
    const { entry, asked } = source(3_500);
    await entry.load();
    expect(asked).toEqual([0, 1_000, 2_000, 3_000]);
    expect(kinds(entry)).toEqual(['text']);
    expect(lastLine(entry)).toBe('3499');
  });

  it('loads the beginning and the end of what is long, in a few requests', async () => {
    const { entry, asked } = source(3_000_000);
    await entry.load();
    expect(asked).toEqual([0, 1_000, 2_999_000]);
    expect(kinds(entry)).toEqual(['text', 'gap', 'text']);
    expect(lastLine(entry)).toBe('2999999');
    expect(entry.loading).toBe('yes');
  });

  it('loads fewer items of the end when they are large', async () => {
    const { entry, asked } = source(100_000, 128 << 10);
    await entry.load();
    expect(asked).toEqual([0, 1_000, 100_000 - 32]);
    expect(lastLine(entry)).toBe('99999');
  });

  it('lets views look at once, then twenty times a second, and at the end', async () => {
    const { entry } = source(0);
    await entry.load();
    const item = (index: number) => ({ index, kind: 'output', text: 'x\n' }) as Item;
    vi.advanceTimersByTime(1_000);
    const before = entry.version;
    entry.add(item(0));
    expect(entry.version).toBe(before + 1);
    for (let i = 1; i < 1_000; i += 1) {
      entry.add(item(i));
      vi.advanceTimersByTime(1);
    }
    const meanwhile = entry.version - before;
    expect(meanwhile).toBeGreaterThan(15);
    expect(meanwhile).toBeLessThan(25);
    vi.advanceTimersByTime(50);
    expect(entry.version).toBe(before + meanwhile + 1);
  });
});
