import type { Machine } from '$lib/api/types';
import { Kept } from './kept.svelte';

interface Seen {
  /** When this was first asked, in milliseconds. Older machines count as seen up to then. */
  readonly since: number;
  /** How many steps of each machine were seen, by its ID. */
  readonly steps: Readonly<Record<string, number>>;
}

const isSeen = (value: unknown): value is Seen =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Seen).since === 'number' &&
  typeof (value as Seen).steps === 'object';

/** Which steps the person has not looked at. */
export class Unseen {
  private readonly seen = new Kept<Seen>('seen', { since: Date.now(), steps: {} }, isSeen);

  /** How many steps of a machine are new. */
  count({ id, next_seq, created_at }: Machine): number {
    const { since, steps } = this.seen.value;
    const known = steps[id] ?? (Date.parse(created_at) > since ? 0 : next_seq);
    return Math.max(0, next_seq - known);
  }

  /** The person looks at a machine. */
  look({ id, next_seq }: Machine): void {
    const { since, steps } = this.seen.value;
    if (steps[id] === next_seq) return;
    this.seen.value = { since, steps: { ...steps, [id]: next_seq } };
  }

  /** Notes how far machines are that nobody has looked at, and forgets those that are gone. */
  tidy(machines: readonly Machine[]): void {
    const { since } = this.seen.value;
    const steps = Object.fromEntries(
      machines.map((machine) => [machine.id, machine.next_seq - this.count(machine)]),
    );
    if (JSON.stringify(steps) !== JSON.stringify(this.seen.value.steps)) {
      this.seen.value = { since, steps };
    }
  }
}
