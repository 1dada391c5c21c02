import { of } from '$lib/api/api';
import { isBusy, sentence } from '$lib/api/errors';
import type { Variable } from '$lib/api/types';
import type { Source } from './source';

/** A machine's variables, as they were when it last told. */
export class Variables {
  /** Null until it has told once. */
  list = $state.raw<readonly Variable[] | null>(null);
  /**
   * Names of those that are new or other than before the last step, as far as the machine told
   * then.
   */
  changed = $state.raw<ReadonlySet<string>>(new Set());
  /** Why the list is not up to date. */
  problem = $state('');
  /** How often in a row the machine was too busy to answer. */
  refused = $state(0);

  /** What is compared with: the list after the step before. */
  private before: readonly Variable[] | null = null;
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
        const { api, name } = this.source;
        this.take((await api.get('/api/machines/{name}/variables', of(name))).items);
        // An answer that comes after the next step has ended may tell of that one.
        if (!this.again) this.before = this.list;
        this.problem = '';
        this.refused = 0;
      } catch (reason) {
        this.problem = sentence(reason);
        this.refused = isBusy(reason) ? this.refused + 1 : 0;
      }
    } while (this.again);
    this.busy = false;
  }

  private take(list: readonly Variable[]): void {
    if (this.before) {
      const before = new Map(this.before.map((one) => [one.name, JSON.stringify(one)]));
      const differ = list.filter((one) => before.get(one.name) !== JSON.stringify(one));
      this.changed = new Set(differ.map(({ name }) => name));
    }
    this.list = list;
  }
}
