import { of } from '$lib/api/api';
import { isBusy, sentence } from '$lib/api/errors';
import type { Table, TableFilter, TableSort } from '$lib/api/types';
import { parseFilter } from '$lib/filters';
import { saveAs } from '$lib/save';
import { words } from '$lib/words';
import type { Source } from './source';

export const PAGE_ROWS = 100;
export const PAGE_COLUMNS = 30;

/**
 * Saves the file that a step writes a table into, once the step is over. Each look at the step may
 * take so many seconds.
 */
export async function saveWritten(
  { api, name }: Source,
  seq: number,
  file: string,
  seconds: number,
): Promise<void> {
  const { status } = await api.ended(name, seq, seconds);
  if (status !== 'ok') throw new Error(words.table.notSaved(seq));
  const content = await api.get('/api/machines/{name}/files/content', {
    params: { path: { name }, query: { path: file } },
    parseAs: 'blob',
  });
  saveAs(file, content);
}

/** Looks at a table in a machine a page at a time; the machine sorts and filters. */
export class TableLook {
  /** Null until it has come once. */
  page = $state.raw<Table | null>(null);
  loading = $state(false);
  problem = $state('');
  offset = $state(0);
  firstColumn = $state(0);
  sort = $state.raw<TableSort | null>(null);
  /** What is typed above the columns, by their number in the whole. */
  typed = $state.raw<ReadonlyMap<number, string>>(new Map());

  private asked = new AbortController();
  private numbers = new Map<number, boolean>();

  constructor(
    private readonly source: Source,
    private readonly variable: string,
  ) {}

  readonly last = $derived(
    Math.max(0, Math.floor(((this.page?.matching ?? 0) - 1) / PAGE_ROWS) * PAGE_ROWS),
  );

  async load(): Promise<void> {
    this.asked.abort();
    const { signal } = (this.asked = new AbortController());
    this.loading = true;
    try {
      const page = await this.source.api.post('/api/machines/{name}/table', {
        ...of(this.source.name),
        body: {
          variable: this.variable,
          offset: this.offset,
          limit: PAGE_ROWS,
          first_column: this.firstColumn,
          columns: PAGE_COLUMNS,
          ...(this.sort ? { sort: this.sort } : {}),
          filters: this.filters,
        },
        signal,
      });
      if (signal.aborted) return;
      page.columns.forEach(({ number }, i) => this.numbers.set(page.first_column + i, number));
      this.page = page;
      this.problem = '';
    } catch (reason) {
      if (signal.aborted) return;
      this.problem = isBusy(reason) ? words.table.busy : sentence(reason);
    }
    this.loading = false;
  }

  close(): void {
    this.asked.abort();
  }

  async goTo(offset: number): Promise<void> {
    this.offset = Math.min(Math.max(0, offset), this.last);
    await this.load();
  }

  async goToColumn(first: number): Promise<void> {
    const width = this.page?.width ?? 0;
    this.firstColumn = Math.max(0, Math.min(first, width - 1));
    await this.load();
  }

  /** Upwards, then downwards, then as the rows stand. */
  async sortBy(column: number): Promise<void> {
    if (this.sort?.column !== column) this.sort = { column };
    else this.sort = this.sort.descending ? null : { column, descending: true };
    await this.again();
  }

  async filter(column: number, text: string): Promise<void> {
    this.typed = new Map(this.typed).set(column, text);
    await this.again();
  }

  private get filters(): TableFilter[] {
    return [...this.typed]
      .map(([column, text]) => parseFilter(column, this.numbers.get(column) ?? false, text))
      .filter((filter) => filter !== null);
  }

  /** What was the tenth page is another one now. */
  private async again(): Promise<void> {
    this.offset = 0;
    await this.load();
  }
}
