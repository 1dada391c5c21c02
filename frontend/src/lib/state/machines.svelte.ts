import { SvelteMap } from 'svelte/reactivity';
import type { Machine } from '$lib/api/types';
import { byUser } from './groups';
import { Kept, isBoolean } from './kept.svelte';
import { matches } from './search';

/** The tag of machines that are put away. */
export const ARCHIVED = 'archived';

/** The tag of machines that are not backed up. */
export const LEFT_OUT = 'no-backup';

export const SHOWN = ['all', 'awake', 'asleep', 'archived'] as const;

/** All machines that are known, those in the bin too. */
export class Machines {
  search = $state('');
  /** Which of them the list shows. */
  shown = $state<(typeof SHOWN)[number]>('all');
  /** Whether the list is grouped by who uses the machines. */
  readonly grouped = new Kept('list.grouped', false, isBoolean);
  /** What changed while a list is being loaded. */
  private changed: Set<string> | null = null;
  private readonly byId = new SvelteMap<string, Machine>();

  readonly all = $derived(
    [...this.byId.values()].sort(
      (a, b) => b.last_active_at.localeCompare(a.last_active_at) || a.name.localeCompare(b.name),
    ),
  );
  /** Those not in the bin. */
  readonly alive = $derived(this.all.filter(({ state }) => state !== 'deleted'));
  readonly bin = $derived(this.all.filter(({ state }) => state === 'deleted'));
  /** What the search and the choice leave. */
  readonly found = $derived(
    this.alive.filter((machine) => this.fits(machine) && matches(machine, this.search)),
  );

  /** That in groups; null where it is not grouped. */
  readonly groups = $derived(this.grouped.value ? byUser(this.found) : null);
  /** That in the order in which it is shown. */
  readonly listed = $derived(this.groups?.flatMap(({ machines }) => machines) ?? this.found);

  private fits({ tags, state }: Machine): boolean {
    const archived = ARCHIVED in tags;
    if (this.shown === 'archived') return archived;
    if (this.shown === 'all') return !archived || this.search !== '';
    if (archived) return false;
    return (state === 'swapped') === (this.shown === 'asleep');
  }

  get(id: string): Machine | undefined {
    return this.byId.get(id);
  }

  named(name: string): Machine | undefined {
    return this.all.find((machine) => machine.name === name);
  }

  put(machine: Machine): void {
    this.byId.set(machine.id, machine);
    this.changed?.add(machine.id);
  }

  remove(id: string): void {
    this.byId.delete(id);
    this.changed?.add(id);
  }

  /** Takes over a complete list. What events told while it was on its way is newer and stays. */
  async replace(list: Promise<readonly Machine[]>): Promise<void> {
    const changed = (this.changed = new Set<string>());
    try {
      const machines = await list;
      const ids = new Set(machines.map(({ id }) => id));
      for (const id of [...this.byId.keys()]) {
        if (!ids.has(id) && !changed.has(id)) this.byId.delete(id);
      }
      for (const machine of machines) {
        if (!changed.has(machine.id)) this.byId.set(machine.id, machine);
      }
    } finally {
      if (this.changed === changed) this.changed = null;
    }
  }
}
