import type { Variable } from '$lib/api/types';
import type { Source } from './timeline.svelte';

/** A machine's variables, as they were when it last told. */
export class Variables {
  /** Null until it has told once. */
  list = $state.raw<readonly Variable[] | null>(null);
  /** Names of those that are new or other than the time before. */
  changed = $state.raw<ReadonlySet<string>>(new Set());
  /** Why the list is not up to date. */
  problem = $state('');

  private busy = false;
  private again = false;

  constructor(private readonly source: Source) {}

  /** Asks the machine, which must be in memory: it would be woken else. Throws nothing. */
  async refresh(): Promise<void> {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    do {
      this.again = false;
      try {
        this.take(await this.source.api.listVariables(this.source.name));
        this.problem = '';
      } catch (reason) {
        this.problem = reason instanceof Error ? reason.message : String(reason);
      }
    } while (this.again);
    this.busy = false;
  }

  private take(list: readonly Variable[]): void {
    const before = new Map(this.list?.map((variable) => [variable.name, JSON.stringify(variable)]));
    if (this.list) {
      const differ = list.filter(
        (variable) => before.get(variable.name) !== JSON.stringify(variable),
      );
      this.changed = new Set(differ.map(({ name }) => name));
    }
    this.list = list;
  }
}
