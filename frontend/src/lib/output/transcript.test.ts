import { describe, expect, it } from 'vitest';
import type { Item } from '$lib/api/types';
import { Transcript } from './transcript';

const at = '2026-01-01T00:00:00Z';

function output(index: number, text: string, stream: 'stdout' | 'stderr' = 'stdout'): Item {
  return { index, kind: 'output', at, stream, text };
}

function display(index: number, mime: string, extra: Partial<Item> = {}): Item {
  const representations = [{ mime, size: 1, href: `/api/${index}` }];
  return { index, kind: 'display', at, representations, ...extra };
}

function shown(transcript: Transcript): string[] {
  return transcript.blocks.map((block) =>
    block.kind === 'gap'
      ? '…'
      : block.kind === 'display'
        ? (block.representations[0]?.mime ?? '')
        : `${block.stream}:${block.text
            .ends(99, 99)
            .head.map(({ spans }) => spans.map(({ text }) => text).join(''))
            .join('|')}`,
  );
}

function of(...items: Item[]): Transcript {
  const transcript = new Transcript();
  for (const item of items) transcript.add(item);
  return transcript;
}

describe('Transcript', () => {
  it('joins what one stream wrote and keeps the order of what is shown', () => {
    const transcript = of(
      output(0, 'a'),
      output(1, 'b\n'),
      output(2, 'oh', 'stderr'),
      display(3, 'image/png'),
      output(4, 'c'),
    );
    expect(shown(transcript)).toEqual(['stdout:ab', 'stderr:oh', 'image/png', 'stdout:c']);
  });

  it('ignores what it has seen, so that a reload and the events may overlap', () => {
    const transcript = of(output(0, 'a'), output(1, 'b'), output(0, 'a'), output(1, 'b'));
    expect(shown(transcript)).toEqual(['stdout:ab']);
    expect(transcript.next).toBe(2);
  });

  it('goes on after numbers that the daemon left out', () => {
    expect(shown(of(output(0, 'a\n'), output(900, 'z')))).toEqual(['stdout:a|z']);
  });

  it('shows where it went on at a later item', () => {
    const transcript = of(output(0, 'a\n'));
    transcript.skipTo(500);
    transcript.add(output(3, 'between'));
    transcript.add(output(500, 'z'));
    transcript.skipTo(400);
    expect(shown(transcript)).toEqual(['stdout:a', '…', 'stdout:z']);
  });

  it('clears at once, or when the next item comes', () => {
    const transcript = of(output(0, 'a'), { index: 1, kind: 'clear', at, wait: true });
    expect(shown(transcript)).toEqual(['stdout:a']);
    transcript.add(output(2, 'b'));
    expect(shown(transcript)).toEqual(['stdout:b']);
    transcript.add({ index: 3, kind: 'clear', at });
    expect(shown(transcript)).toEqual([]);
  });

  it('replaces a display in its place', () => {
    const transcript = of(
      display(0, 'text/html', { display_id: 'd' }),
      output(1, 'x'),
      display(2, 'image/png', { display_id: 'd', update: true }),
      display(3, 'image/gif', { display_id: 'unknown', update: true }),
    );
    expect(shown(transcript)).toEqual(['image/png', 'stdout:x']);
  });

  it('keeps its number of blocks bounded when two streams take turns', () => {
    const transcript = new Transcript();
    for (let i = 0; i < 5_000; i += 1) {
      transcript.add(output(i, `${i}\n`, i % 2 ? 'stdout' : 'stderr'));
    }
    expect(transcript.blocks.length).toBe(400);
    expect(transcript.omitted).toBe(4_600);
    expect(shown(transcript).at(0)).toBe('stderr:0');
    expect(shown(transcript).at(-1)).toBe('stdout:4999');
  });
});
