import { SvelteMap } from 'svelte/reactivity';
import type { Machine } from '$lib/api/types';

/** What a machine took at a moment. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly memoryBytes: number;
  /** Of its own limit. */
  readonly usedBytes: number;
  /** Of one processor, between the sample before and this one. */
  readonly cpu: number;
}

/** The daemon looks every two seconds while somebody watches: a quarter of an hour. */
const KEPT = 450;

/** What machines have taken since the page was opened. */
export class Vitals {
  private readonly byId = new SvelteMap<string, readonly Sample[]>();
  private readonly seconds = new Map<string, number>();

  of(id: string): readonly Sample[] {
    return this.byId.get(id) ?? [];
  }

  note(machine: Machine, now: number): void {
    const { id, stats } = machine;
    if (!stats) {
      this.seconds.delete(id); // they start over with the next stay in memory
      return;
    }
    const samples = this.of(id);
    const last = samples.at(-1);
    const before = this.seconds.get(id);
    if (last && before === stats.cpu_seconds && last.memoryBytes === stats.memory_bytes) return;
    const passed = last ? (now - last.at) / 1_000 : 0;
    // Two events in a row tell nothing of the time between them.
    if (last && passed < 0.5) return;
    const used = before === undefined ? 0 : Math.max(0, stats.cpu_seconds - before);
    const cpu = passed > 0 ? used / passed : 0;
    this.seconds.set(id, stats.cpu_seconds);
    const sample = { at: now, memoryBytes: stats.memory_bytes, usedBytes: stats.used_bytes, cpu };
    this.byId.set(id, [...samples.slice(1 - KEPT), sample]);
  }

  forget(id: string): void {
    this.byId.delete(id);
    this.seconds.delete(id);
  }
}
