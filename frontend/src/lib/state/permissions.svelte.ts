import type { Api } from '$lib/api/api';
import type { Permission } from '$lib/api/types';

/** What AI apps want to do and nobody has allowed or denied, oldest first. */
export class Permissions {
  list = $state.raw<readonly Permission[]>([]);

  /** Takes over how one stands now. */
  note(permission: Permission): void {
    const others = this.list.filter(({ id }) => id !== permission.id);
    this.list =
      permission.state === 'waiting' ? [...others, permission].sort((a, b) => a.id - b.id) : others;
  }

  /** Finds out what was asked before somebody listened. Throws nothing: apps ask again. */
  async load(api: Api): Promise<void> {
    try {
      this.list = (await api.get('/api/permissions')).items;
    } catch {
      this.list = [];
    }
  }
}
