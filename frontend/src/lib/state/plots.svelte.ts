import { given } from '$lib/api/api';
import type { Page, Plot, Representation } from '$lib/api/types';
import type { Source } from './source';

const PAGE = 60;

/** What a machine has drawn, oldest first, loaded from the newest backwards. */
export class Plots {
  list = $state.raw<readonly Plot[]>([]);
  state = $state<'loading' | 'ready' | 'failed'>('loading');
  /** Whether there are plots before the first of the list. */
  hasEarlier = $state(false);

  private cursor: string | undefined;
  private busy = false;
  private again = false;

  constructor(private readonly source: Source) {}

  /** Brings the newest up to date. Throws nothing. */
  async refresh(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      do {
        this.again = false;
        this.take(await this.page());
      } while (this.again);
      this.state = 'ready';
    } catch {
      if (this.state === 'loading') this.state = 'failed';
    }
    this.busy = false;
  }

  async loadEarlier(): Promise<void> {
    const { cursor } = this;
    if (cursor === undefined || this.busy) return;
    this.busy = true;
    try {
      const page = await this.page(cursor);
      this.list = [...page.items.reverse(), ...this.list];
      this.goOnFrom(page.next);
    } finally {
      this.busy = false;
    }
  }

  /** What was drawn before the cursor, newest first. */
  private page(cursor?: string) {
    const query = { ...given({ cursor }), limit: PAGE };
    return this.source.api.get('/api/machines/{name}/plots', {
      params: { path: { name: this.source.name }, query },
    });
  }

  private take(page: Page<Plot>): void {
    const fresh = page.items.reverse();
    const [oldest] = fresh;
    const newest = this.list.at(-1);
    const older = oldest ? this.list.filter((plot) => order(plot, oldest) < 0) : [];
    // Without an overlap there may be plots between them that nobody has loaded.
    if (page.next !== undefined && oldest && newest && order(newest, oldest) >= 0) {
      this.list = [...older, ...fresh];
      return;
    }
    this.list = fresh;
    this.goOnFrom(page.next);
  }

  private goOnFrom(cursor: string | undefined): void {
    this.cursor = cursor;
    this.hasEarlier = cursor !== undefined;
  }
}

/** Names a plot within its machine. */
export function keyOf({ seq, place }: Pick<Plot, 'seq' | 'place'>): string {
  return `${seq}.${place}`;
}

/** What is small enough to be drawn many times; a figure as data has none. */
export function thumbnail({ representations }: Plot): Representation | undefined {
  return (
    representations.find(({ mime }) => mime === 'image/png') ??
    representations.find(({ mime }) => /^image\/(svg\+xml|jpeg|gif|webp)$/.test(mime))
  );
}

/** A result stands behind what its instruction showed before. */
function order(a: Plot, b: Plot): number {
  const place = (plot: Plot) => (plot.place === 'result' ? Infinity : Number(plot.place));
  return a.seq - b.seq || (place(a) === place(b) ? 0 : place(a) - place(b));
}
