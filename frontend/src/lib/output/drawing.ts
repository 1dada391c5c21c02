/**
 * Figures whose drawing was begun. A machine's data can keep Plotly busy forever, and the page
 * with it, as a browser may run a frame on the page's own thread: what was not drawn before the
 * page had to be loaded again is not begun again on its own.
 */
const KEY = 'forevervm.drawing';

const unfinished = new Set(read());
/** Those of this page. */
const open = new Set<string>();

// A page that hangs is ended without a word; who leaves one that works has seen nothing wrong with
// it.
if (typeof window !== 'undefined') addEventListener('pagehide', () => open.forEach(drawn));

/** Whether a figure, named by the address of its data, held up the page when it was last drawn. */
export function heldUp(figure: string): boolean {
  return unfinished.has(figure);
}

export function begun(figure: string): void {
  open.add(figure);
  write([...new Set([...read(), figure])].slice(-20));
}

/** Says that it was drawn, or that nobody looks at it any more. */
export function drawn(figure: string): void {
  if (!open.delete(figure)) return;
  unfinished.delete(figure);
  write(read().filter((other) => other !== figure));
}

function read(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : [];
  } catch {
    return []; // a browser may keep nothing
  }
}

function write(figures: string[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(figures));
  } catch {
    // see above
  }
}
