import { isProven } from '$lib/api/connection';

const KEY = 'forevervm.draft.';

/**
 * Code that was written and not run, by machine. It outlives a reload, as after another language
 * was chosen: for that moment it is in the tab's storage, where another program in the daemon's
 * place could read it.
 */
export class Drafts {
  private readonly all = new Map<string, string>();

  constructor() {
    try {
      for (const key of Object.keys(sessionStorage)) {
        if (!key.startsWith(KEY)) continue;
        this.all.set(key.slice(KEY.length), sessionStorage.getItem(key) ?? '');
        sessionStorage.removeItem(key);
      }
      addEventListener('pagehide', () => this.leave());
    } catch {
      // Then it holds until the page is closed.
    }
  }

  /** "" where there is none. */
  get(machine: string): string {
    return this.all.get(machine) ?? '';
  }

  set(machine: string, code: string): void {
    this.all.set(machine, code);
  }

  private leave(): void {
    if (!isProven()) return;
    for (const [machine, code] of this.all) {
      if (code !== '') sessionStorage.setItem(KEY + machine, code);
    }
  }
}
