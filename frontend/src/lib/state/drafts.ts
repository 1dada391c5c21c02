const KEY = 'forevervm.draft.';

/**
 * Code that was written and not run, by machine. The browser's tab keeps it: a reload, as after
 * another language was chosen, loses nothing.
 */
export class Drafts {
  private readonly here = new Map<string, string>();

  /** "" where there is none. */
  get(machine: string): string {
    let kept: string | null = null;
    try {
      kept = sessionStorage.getItem(KEY + machine);
    } catch {
      // Then only what was written since the page was loaded is known.
    }
    return this.here.get(machine) ?? kept ?? '';
  }

  set(machine: string, code: string): void {
    this.here.set(machine, code);
    try {
      if (code === '') sessionStorage.removeItem(KEY + machine);
      else sessionStorage.setItem(KEY + machine, code);
    } catch {
      // It holds until the page is closed.
    }
  }
}
