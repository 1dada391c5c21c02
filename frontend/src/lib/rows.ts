/**
 * Which rows of a long list are drawn, and where. Browsers give no element more height than some millions of pixels
 * (Firefox about 17.8), so in a longer list a pixel of the scroll bar stands for more than one of the rows.
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

/** The rows at a scroll position, in a viewport of some height. */
export function rowsAt(top: number, viewport: number, count: number, rowHeight: number): Rows {
  const all = count * rowHeight;
  const height = Math.min(all, MAX_HEIGHT);
  const position = top * scale(all, viewport);
  const first = Math.max(0, Math.floor(position / rowHeight) - OVERSCAN);
  const last = Math.min(count, Math.ceil((position + viewport) / rowHeight) + OVERSCAN);
  return { height, first, last, shift: first * rowHeight - position + top };
}

/** The scroll position at which a place of the list, in pixels of its rows, is at the viewport's top. */
export function scrollFor(
  place: number,
  viewport: number,
  count: number,
  rowHeight: number,
): number {
  return place / scale(count * rowHeight, viewport);
}

/** Pixels of rows for a pixel of scrolling. */
function scale(all: number, viewport: number): number {
  return all <= MAX_HEIGHT ? 1 : (all - viewport) / (MAX_HEIGHT - viewport);
}
