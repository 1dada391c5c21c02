import { describe, expect, it } from 'vitest';
import { readEnds } from './ends';

/** A text as it comes from the network, in chunks of so many bytes. */
function stream(text: string, size: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, (at += size)));
    },
  });
}

const lines = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `line ${from + i} é`);

describe('readEnds', () => {
  it('keeps a short output whole, wherever it is cut into chunks', async () => {
    for (const size of [1, 7, 1_000]) {
      const ends = await readEnds(stream(`${lines(0, 20).join('\n')}\n`, size), 200);
      expect(ends).toEqual({ head: lines(0, 20), tail: [], hidden: 0 });
    }
    expect(await readEnds(stream('', 1))).toEqual({ head: [], tail: [], hidden: 0 });
  });

  it('keeps both ends of a long one, and knows how many lines lie between', async () => {
    for (const size of [1, 7, 64, 1_000]) {
      for (const end of ['\n', '']) {
        const all = lines(0, 10_000);
        const { head, tail, hidden } = await readEnds(stream(all.join('\n') + end, size), 5_000);
        expect(head).toEqual(all.slice(0, head.length));
        expect(tail).toEqual(all.slice(-tail.length));
        expect(head.length + hidden + tail.length).toBe(10_000);
        expect(head.length).toBeGreaterThan(300);
        expect(tail.length).toBeGreaterThan(300);
        expect(head.length + tail.length).toBeLessThan(1_200);
      }
    }
  });

  it('keeps no more lines than the page bears, however short they are', async () => {
    const { head, tail, hidden } = await readEnds(stream('\n'.repeat(5_000), 512), 10_000, 100);
    expect([head.length, tail.length, hidden]).toEqual([100, 100, 4_800]);
    const long = await readEnds(stream('\n'.repeat(50_000), 512), 10_000, 100);
    expect([long.head.length, long.tail.length, long.hidden]).toEqual([100, 100, 49_800]);
  });
});
