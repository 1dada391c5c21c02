import { sentence } from '$lib/api/errors';
import type { FileEntry } from '$lib/api/types';
import { imageType, join, parseTable, previewOf, readsAsText } from '$lib/files';
import { saveStream } from '$lib/save';
import { words } from '$lib/words';
import type { Source } from './source';

export const HOME = '/root';
const TEXT_BYTES = 256 << 10;
const IMAGE_BYTES = 20 << 20;
const ROWS = 200;
const COLUMNS = 50;

/** A file on its way into the machine, or out of it. */
export interface Transfer {
  readonly id: number;
  readonly name: string;
  readonly out: boolean;
  readonly size: number;
  moved: number;
  readonly stop: AbortController;
}

export type Shown =
  | { kind: 'text'; text: string; cut: boolean }
  | { kind: 'table'; rows: string[][]; cut: boolean }
  | { kind: 'image'; address: string }
  | { kind: 'none' };

/** A folder of a machine, as the page shows it, and what goes in and out. */
export class Files {
  path = $state(HOME);
  list = $state.raw<readonly FileEntry[]>([]);
  more = $state(false);
  state = $state<'loading' | 'ready' | 'failed'>('loading');
  problem = $state('');
  /** Whether the machine was asked at all: one that sleeps is woken by that. */
  looked = $state(false);
  transfers = $state<Transfer[]>([]);
  /** The file that is looked at. */
  viewed = $state.raw<FileEntry | null>(null);
  shown = $state.raw<Shown | null>(null);

  private nextId = 0;
  private readonly stop = new AbortController();
  private look = new AbortController();

  constructor(
    private readonly source: Source,
    private readonly tell: (reason: unknown) => void,
  ) {}

  close(): void {
    this.stop.abort();
    this.unview();
    for (const one of this.transfers) one.stop.abort();
  }

  async open(path: string): Promise<void> {
    this.unview();
    if (path !== this.path) {
      this.state = 'loading';
      this.list = [];
    }
    this.path = path;
    await this.refresh();
  }

  async refresh(): Promise<void> {
    const asked = this.path;
    this.looked = true;
    try {
      const found = await this.source.api.get('/api/machines/{name}/files', {
        ...this.at(asked),
        signal: this.stop.signal,
      });
      if (asked !== this.path) return;
      this.list = [...found.items].sort(
        (a, b) => Number(b.dir) - Number(a.dir) || a.name.localeCompare(b.name),
      );
      this.more = found.more ?? false;
      this.state = 'ready';
    } catch (reason) {
      if (this.stop.signal.aborted || asked !== this.path) return;
      this.problem = sentence(reason);
      this.state = 'failed';
    }
  }

  /** Sends files into the folder that is shown, one after another. */
  async send(files: readonly File[]): Promise<void> {
    const folder = this.path;
    const mine = files.map((file) => ({ file, row: this.begin(file.name, file.size, false) }));
    for (const { file, row } of mine) {
      if (row.stop.signal.aborted) continue;
      const to = join(folder, file.name);
      await this.through(row, (signal) =>
        this.source.api.writeFile(this.source.name, to, file, (sent) => (row.moved = sent), signal),
      );
      if (this.path === folder && !this.stop.signal.aborted) await this.refresh();
    }
  }

  cancel(one: Transfer): void {
    one.stop.abort();
    this.transfers = this.transfers.filter(({ id }) => id !== one.id);
  }

  private begin(name: string, size: number, out: boolean): Transfer {
    this.nextId += 1;
    this.transfers.push({
      id: this.nextId,
      name,
      out,
      size,
      moved: 0,
      stop: new AbortController(),
    });
    return this.transfers[this.transfers.length - 1] as Transfer; // as the view sees it
  }

  /** Does what a transfer is about; what goes wrong is told, unless somebody stopped it. */
  private async through(
    row: Transfer,
    move: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<void> {
    try {
      await move(row.stop.signal);
    } catch (reason) {
      if (!row.stop.signal.aborted) this.tell(reason);
    }
    this.transfers = this.transfers.filter(({ id }) => id !== row.id);
  }

  async makeFolder(name: string): Promise<boolean> {
    return this.change(() =>
      this.source.api.post('/api/machines/{name}/files/folder', this.at(join(this.path, name))),
    );
  }

  async remove(entry: FileEntry): Promise<void> {
    if (this.viewed?.name === entry.name) this.unview();
    await this.change(() =>
      this.source.api.delete('/api/machines/{name}/files', this.at(this.placeOf(entry))),
    );
  }

  private async change(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
    } catch (reason) {
      this.tell(reason);
      return false;
    }
    await this.refresh();
    return true;
  }

  /** Saves a file on this computer. */
  async download(entry: FileEntry): Promise<void> {
    const row = this.begin(entry.name, entry.size, true);
    await this.through(row, async (signal) => {
      const body = await this.read(entry, signal);
      if (body) await saveStream(entry.name, body, (bytes) => (row.moved = bytes));
    });
  }

  /** Looks at a file: its beginning, or a picture whole. */
  async view(entry: FileEntry): Promise<void> {
    this.unview();
    this.viewed = entry;
    this.look = new AbortController();
    const { signal } = this.look;
    try {
      const shown = await this.preview(entry, signal);
      if (signal.aborted) {
        if (shown.kind === 'image') URL.revokeObjectURL(shown.address);
        return;
      }
      this.shown = shown;
    } catch (reason) {
      if (signal.aborted) return;
      this.viewed = null;
      this.tell(reason);
    }
  }

  unview(): void {
    this.look.abort();
    if (this.shown?.kind === 'image') URL.revokeObjectURL(this.shown.address);
    this.viewed = null;
    this.shown = null;
  }

  private async preview(entry: FileEntry, signal: AbortSignal): Promise<Shown> {
    const kind = previewOf(entry.name);
    if (kind === 'none' || (kind === 'image' && entry.size > IMAGE_BYTES)) return { kind: 'none' };
    const body = await this.read(entry, signal);
    if (kind === 'image') {
      const bytes = await new Response(body).arrayBuffer();
      const blob = new Blob([bytes], { type: imageType(entry.name) });
      return { kind: 'image', address: URL.createObjectURL(blob) };
    }
    const { bytes, cut } = await beginning(body, TEXT_BYTES);
    if (!readsAsText(bytes)) return { kind: 'none' };
    const text = new TextDecoder().decode(bytes, { stream: true });
    if (kind === 'text') return { kind: 'text', text, cut };
    const rows = parseTable(text, ROWS + 1, COLUMNS);
    return { kind: 'table', rows: rows.slice(0, ROWS), cut: cut || rows.length > ROWS };
  }

  /** What an entry is; of a link, what it leads to. */
  stat(entry: FileEntry): Promise<FileEntry> {
    return this.source.api.get('/api/machines/{name}/files/stat', this.at(this.placeOf(entry)));
  }

  private read(entry: FileEntry, signal: AbortSignal) {
    return this.source.api.get('/api/machines/{name}/files/content', {
      ...this.at(this.placeOf(entry)),
      parseAs: 'stream',
      signal,
    });
  }

  private placeOf(entry: FileEntry): string {
    return join(this.path, entry.name);
  }

  /** What a call about a file or folder of the machine begins with. */
  private at(path: string) {
    return { params: { path: { name: this.source.name }, query: { path } } };
  }
}

/** The first bytes of an answer; the rest is not fetched. */
async function beginning(
  body: ReadableStream<Uint8Array> | null,
  most: number,
): Promise<{ bytes: Uint8Array; cut: boolean }> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = body?.getReader();
  while (reader && size <= most) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
  }
  if (size > most) await reader?.cancel();
  const bytes = new Uint8Array(Math.min(size, most));
  let at = 0;
  for (const part of parts) {
    bytes.set(part.subarray(0, bytes.length - at), at);
    at = Math.min(at + part.length, bytes.length);
  }
  return { bytes, cut: size > most };
}

/** What a name stands for, to a screen reader. */
export function kindWord(entry: FileEntry): string {
  return entry.dir ? words.files.folder : words.files.kinds[entry.kind];
}
