import { describe, expect, it } from 'vitest';
import { rowsAt, scrollFor, startOf } from './rows';

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

  it('has headings that are lower', () => {
    const headings = { at: [0, 40], height: 10 };
    const at = (top: number) => rowsAt(top, 100, 50, 20, headings);
    expect(at(0)).toEqual({ height: 980, first: 0, last: 14, shift: 0 });
    // Row 40 begins at 790 and ends at 800.
    expect([39, 40, 41].map((row) => startOf(row, 20, headings))).toEqual([770, 790, 800]);
    expect([at(789), at(790), at(799), at(800)].map(({ first }) => first + 8)).toEqual([
      39, 40, 40, 41,
    ]);
    const end = at(880);
    expect([end.last, end.shift]).toEqual([50, startOf(end.first, 20, headings)]);
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
