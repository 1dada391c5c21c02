/**
 * Which rows of a long list are drawn, and where. Browsers give no element more height than some
 * millions of pixels (Firefox about 17.8), so in a longer list a pixel of the scroll bar stands for
 * more than one of the rows.
 */
export interface Rows {
  /** Height of the whole list as the browser knows it. */
  readonly height: number;
  readonly first: number;
  /** Behind the last row that is drawn. */
  readonly last: number;
  /** Where the first row that is drawn begins, in pixels of the list. */
  readonly shift: number;
}

const MAX_HEIGHT = 10_000_000;
const OVERSCAN = 8;

/** Rows that are lower than the others; few. */
export interface Headings {
  /** Their indices, in order. */
  readonly at: readonly number[];
  readonly height: number;
}

const NO_HEADINGS: Headings = { at: [], height: 0 };

/** Where a row begins, in pixels of the list. That of `count` is where the list ends. */
export function startOf(index: number, rowHeight: number, headings = NO_HEADINGS): number {
  const above = headings.at.filter((heading) => heading < index).length;
  return index * rowHeight - above * (rowHeight - headings.height);
}

/** The row at a place, in pixels of the list, and how far into it. */
function rowOf(place: number, rowHeight: number, { at, height }: Headings): number {
  let even = place; // where it would be if all rows had one height
  for (const heading of at) {
    if (even < heading * rowHeight + height) break;
    even += rowHeight - height;
  }
  return even / rowHeight;
}

/** The rows at a scroll position, in a viewport of some height. */
export function rowsAt(
  top: number,
  viewport: number,
  count: number,
  rowHeight: number,
  headings = NO_HEADINGS,
): Rows {
  const all = startOf(count, rowHeight, headings);
  const height = Math.min(all, MAX_HEIGHT);
  const position = top * scale(all, viewport);
  const first = Math.max(0, Math.floor(rowOf(position, rowHeight, headings)) - OVERSCAN);
  const end = Math.ceil(rowOf(position + viewport, rowHeight, headings));
  const last = Math.min(count, end + OVERSCAN);
  return { height, first, last, shift: startOf(first, rowHeight, headings) - position + top };
}

/**
 * The scroll position at which a place of the list, in pixels of its rows, is at the viewport's
 * top.
 */
export function scrollFor(
  place: number,
  viewport: number,
  count: number,
  rowHeight: number,
  headings = NO_HEADINGS,
): number {
  return place / scale(startOf(count, rowHeight, headings), viewport);
}

/** Pixels of rows for a pixel of scrolling. */
function scale(all: number, viewport: number): number {
  return all <= MAX_HEIGHT ? 1 : (all - viewport) / (MAX_HEIGHT - viewport);
}
