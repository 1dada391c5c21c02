import { of } from '$lib/api/api';
import { isBusy, sentence } from '$lib/api/errors';
import type {
  ColumnAbout,
  Table,
  TableFilter,
  TableQuery,
  TableRow,
  TableSort,
} from '$lib/api/types';
import { parseFilter } from '$lib/filters';
import type { TableFormat } from '$lib/output/tables';
import { saveAs } from '$lib/save';
import { words } from '$lib/words';
import type { Source } from './source';

export const PAGE_ROWS = 100;
export const PAGE_COLUMNS = 30;

/** So many pages are kept; those that were loaded first go first. */
const MOST_PAGES = 60;

/** A machine that is busy waits a second before it says so. */
const MOST_ATTEMPTS = 5;

/** Looks at a table in a machine, a page at a time as it is wanted; the machine sorts and filters. */
export class TableLook {
  /** The page that came last, for what it tells of the whole. Null until one has come. */
  head = $state.raw<Table | null>(null);
  /** What columns hold, by their number in the whole, as far as that was told. */
  about = $state.raw<ReadonlyMap<number, ColumnAbout>>(new Map());
  loading = $state(false);
  problem = $state('');
  firstColumn = $state(0);
  sort = $state.raw<TableSort | null>(null);
  /** What is typed above the columns, by their number in the whole. */
  typed = $state.raw<ReadonlyMap<number, string>>(new Map());

  private pages = $state.raw<ReadonlyMap<number, readonly TableRow[]>>(new Map());
  /** The rows that are wanted; the last one is not among them. */
  private wanted = { first: 0, last: 1 };
  private asked = new AbortController();
  private busy = false;
  private numbers = new Map<number, boolean>();

  constructor(
    private readonly source: Source,
    private readonly variable: string,
  ) {}

  /** Gives the person all rows that match, in this order, as a file. */
  async save(format: TableFormat): Promise<void> {
    const { api, name } = this.source;
    const path = await this.write(format);
    const content = await api.get('/api/machines/{name}/files/content', {
      params: { path: { name }, query: { path } },
      parseAs: 'blob',
    });
    saveAs(`${this.variable}.${format}`, content);
    // What stays lies in the machine's /tmp.
    await api
      .delete('/api/machines/{name}/files', { params: { path: { name }, query: { path } } })
      .catch(() => undefined);
  }

  /** A row of those that match; undefined until it has come. */
  row(index: number): TableRow | undefined {
    return this.pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS];
  }

  /** Has rows loaded, up to `last`, which is not among them. Throws nothing. */
  async show(first: number, last: number): Promise<void> {
    this.wanted = { first, last };
    if (this.busy || !this.head) return;
    this.busy = true;
    const { signal } = this.asked;
    for (let next = this.missing(); next !== undefined; next = this.missing()) {
      const page = await this.fetch(next, signal);
      if (!page) break;
      this.keep(next, page, this.pages);
    }
    if (signal === this.asked.signal) this.busy = false;
  }

  /** Loads the first page again: at first, and after a sort, a filter or other columns. */
  async load(): Promise<void> {
    this.asked.abort();
    const { signal } = (this.asked = new AbortController());
    this.busy = this.loading = true;
    this.wanted = { first: 0, last: 1 };
    const page = await this.fetch(0, signal);
    if (signal.aborted) return;
    this.busy = this.loading = false;
    if (!page) return;
    page.columns.forEach(({ number }, i) => this.numbers.set(page.first_column + i, number));
    this.keep(0, page, new Map());
    void this.tellAbout(signal);
  }

  close(): void {
    this.asked.abort();
  }

  async goToColumn(first: number): Promise<void> {
    const width = this.head?.width ?? 0;
    this.firstColumn = Math.max(0, Math.min(first, width - 1));
    await this.load();
  }

  /** Upwards, then downwards, then as the rows stand. */
  async sortBy(column: number): Promise<void> {
    if (this.sort?.column !== column) this.sort = { column };
    else this.sort = this.sort.descending ? null : { column, descending: true };
    await this.load();
  }

  async filter(column: number, text: string): Promise<void> {
    this.typed = new Map(this.typed).set(column, text);
    await this.load();
  }

  /** Whether something was typed above a column. */
  get filtered(): boolean {
    return this.filters.length > 0;
  }

  async clearFilters(): Promise<void> {
    this.typed = new Map();
    await this.load();
  }

  private get filters(): TableFilter[] {
    return [...this.typed]
      .map(([column, text]) => parseFilter(column, this.numbers.get(column) ?? false, text))
      .filter((filter) => filter !== null);
  }

  /** The first page that is wanted and has not come. */
  private missing(): number | undefined {
    const last = Math.min(this.wanted.last, this.head?.matching ?? 0);
    for (let page = Math.floor(this.wanted.first / PAGE_ROWS); page * PAGE_ROWS < last; page += 1) {
      if (!this.pages.has(page)) return page;
    }
    return undefined;
  }

  private keep(page: number, table: Table, beside: ReadonlyMap<number, readonly TableRow[]>): void {
    this.head = table;
    const all = [...beside, [page, table.items] as const];
    this.pages = new Map(all.slice(-MOST_PAGES));
  }

  /** Has the machine write the rows that match to a file, and returns its path. */
  private async write(format: TableFormat): Promise<string> {
    const { api, name } = this.source;
    const sort = this.sort ? { sort: this.sort } : {};
    const body = { variable: this.variable, format, filters: this.filters, ...sort };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return (await api.post('/api/machines/{name}/table/save', { ...of(name), body })).path;
      } catch (reason) {
        if (!isBusy(reason)) throw reason;
        if (attempt === MOST_ATTEMPTS) throw new Error(words.table.busy, { cause: reason });
      }
    }
  }

  /** A page; null where it did not come, which `problem` tells. */
  private async fetch(page: number, signal: AbortSignal): Promise<Table | null> {
    const sort = this.sort ? { sort: this.sort } : {};
    const query = { offset: page * PAGE_ROWS, limit: PAGE_ROWS, ...sort };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const found = await this.ask(query, signal);
        if (signal.aborted) return null;
        this.problem = '';
        return found;
      } catch (reason) {
        if (signal.aborted) return null;
        if (isBusy(reason) && attempt < MOST_ATTEMPTS) continue;
        this.problem = isBusy(reason) ? words.table.busy : sentence(reason);
        return null;
      }
    }
  }

  /** Asks what the columns hold. Where the machine has no time for that, it does without. */
  private async tellAbout(signal: AbortSignal): Promise<void> {
    try {
      const found = await this.ask({ about: true }, signal);
      if (signal.aborted) return;
      const told = found.columns.flatMap(({ about }, i) =>
        about ? [[found.first_column + i, about] as const] : [],
      );
      this.about = new Map(told);
    } catch {
      if (!signal.aborted) this.about = new Map();
    }
  }

  private ask(wanted: Omit<TableQuery, 'variable'>, signal: AbortSignal): Promise<Table> {
    return this.source.api.post('/api/machines/{name}/table', {
      ...of(this.source.name),
      body: {
        variable: this.variable,
        first_column: this.firstColumn,
        columns: PAGE_COLUMNS,
        filters: this.filters,
        ...wanted,
      },
      signal,
    });
  }
}
