import { given, type Api } from '$lib/api/api';
import { sentence } from '$lib/api/errors';
import type { Contact } from '$lib/api/types';
import type { Source } from './source';

/** So many are kept of those that came while this was shown. */
const MOST = 2_000;

/** A page of what a machine reached, or tried to, newest first. */
export function listContacts(api: Api, name: string, cursor?: string) {
  const query = { ...given({ cursor }), limit: 100 };
  return api.get('/api/machines/{name}/connections', { params: { path: { name }, query } });
}

/** What a machine reached, or tried to, newest first. */
export class Contacts {
  list = $state.raw<readonly Contact[]>([]);
  /** Null until it was loaded, or failed to be. */
  problem = $state<string | null>(null);
  /** Where there are earlier ones. */
  next = $state<string | undefined>();

  /** What was told while a page was on its way, which may be older. */
  private late: Contact[] | null = null;

  constructor(private readonly source: Source) {}

  /** The newest page in place of what there is. Throws nothing. */
  async load(): Promise<void> {
    await this.fetch(undefined, () => []);
  }

  async loadEarlier(): Promise<void> {
    await this.fetch(this.next, () => this.list);
  }

  /** Takes over how one stands now. */
  note(contact: Contact): void {
    this.late?.push(contact);
    this.put(contact);
  }

  private put(contact: Contact): void {
    const at = this.list.findIndex(({ id }) => id <= contact.id);
    if (at < 0) {
      if (this.next === undefined) this.list = [...this.list, contact];
    } else if (this.list[at]?.id === contact.id) {
      this.list = this.list.with(at, contact);
    } else {
      this.list = this.list.toSpliced(at, 0, contact).slice(0, MOST);
    }
  }

  private async fetch(cursor: string | undefined, before: () => readonly Contact[]): Promise<void> {
    const late: Contact[] = (this.late = []);
    try {
      const page = await listContacts(this.source.api, this.source.name, cursor);
      const known = before();
      const ids = new Set(known.map(({ id }) => id));
      this.list = [...known, ...page.items.filter(({ id }) => !ids.has(id))];
      this.next = page.next;
      this.problem = '';
      for (const contact of late) this.put(contact);
    } catch (reason) {
      this.problem = sentence(reason);
    } finally {
      if (this.late === late) this.late = null;
    }
  }
}
