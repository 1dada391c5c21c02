import { describe, expect, it } from 'vitest';
import { rowsAt, scrollFor } from './rows';

describe('rowsAt', () => {
  it('draws what is seen of a short list, and a little around it', () => {
    expect(rowsAt(0, 100, 50, 20)).toEqual({ height: 1_000, first: 0, last: 13, shift: 0 });
    expect(rowsAt(500, 100, 50, 20)).toEqual({ height: 1_000, first: 17, last: 38, shift: 340 });
    expect(rowsAt(0, 100, 0, 20)).toEqual({ height: 0, first: 0, last: 0, shift: 0 });
  });

  it('reaches the end of a list that is higher than a browser makes an element', () => {
    const count = 5_000_000;
    const end = rowsAt(10_000_000 - 600, 600, count, 20);
    expect(end.height).toBeLessThan(17_800_000);
    expect(end.last).toBe(count);
    // The last row ends where the list ends.
    expect(end.shift + (end.last - end.first) * 20).toBeCloseTo(end.height, 3);
    expect(rowsAt(0, 600, count, 20)).toMatchObject({ first: 0, shift: 0 });
    const middle = rowsAt(5_000_000, 600, count, 20);
    expect(middle.first).toBeGreaterThan(2_499_000);
    expect(middle.last).toBeLessThan(2_501_000);
  });

  it('finds the scroll position of a row', () => {
    for (const [count, row] of [
      [100, 40],
      [5_000_000, 4_000_000],
    ] as const) {
      const { first, last } = rowsAt(scrollFor(row * 20, 600, count, 20), 600, count, 20);
      expect(row).toBeGreaterThanOrEqual(first);
      expect(row).toBeLessThan(last);
    }
  });
});
