import { of } from '$lib/api/api';
import { isBusy } from '$lib/api/errors';
import { isDone, type Instruction, type Variable } from '$lib/api/types';
import { isTable } from '$lib/output/tables';
import { shown } from '$lib/shown';
import { Entry } from '$lib/state/entry.svelte';
import type { Host } from './host.svelte';

/** Between two looks at code that runs, in milliseconds: longer and longer. */
const FIRST_LOOK = 500;
const LAST_LOOK = 5_000;
/** In a row, before ForeverVM counts as lost. */
const MOST_FAILURES = 10;
/** How old an instruction may be, in milliseconds, to be the one that is being called. */
const FRESH = 60_000;

/** One instruction, followed until it is over. */
export class Following {
  entry = $state.raw<Entry | null>(null);
  /** Tables that the code names, once it is over. */
  tables = $state.raw<readonly Variable[]>([]);
  /** A person has paused it. */
  paused = $state(false);
  /** ForeverVM does not answer this page. */
  lost = $state(false);
  private stopped = false;
  private seq: number | undefined;

  constructor(
    private readonly host: Host,
    readonly machine: string,
  ) {}

  /** Finds what runs this code now, while the call has not answered. Throws nothing. */
  async find(code: string): Promise<void> {
    await this.looking(async () => {
      // The call has answered without an instruction, or with the one to follow.
      if (this.host.result || this.host.cancelled || this.seq !== undefined) return true;
      const { items } = await this.host.api.get('/api/machines/{name}/instructions', {
        params: { path: { name: this.machine }, query: { order: 'newest', limit: 5 } },
      });
      const fresh = (one: Instruction): boolean =>
        one.code === code && Date.now() - new Date(one.queued_at).getTime() < FRESH;
      const found = items.find(fresh);
      if (found) void this.follow(found.seq);
      return found !== undefined;
    });
  }

  /** Shows an instruction, and what comes of it. Throws nothing. */
  async follow(seq: number): Promise<void> {
    if (this.seq === seq) return;
    this.seq = seq;
    const { api } = this.host;
    const path = { name: this.machine, seq };
    const get = (): Promise<Instruction> =>
      api.get('/api/machines/{name}/instructions/{seq}', { params: { path } });
    await this.looking(async () => {
      const now = await get();
      if (this.entry?.seq !== seq) this.entry = new Entry({ api, name: this.machine }, now);
      await this.entry.load();
      this.entry.update(now);
      this.paused =
        now.status === 'running' &&
        shown(await api.get('/api/machines/{name}', of(this.machine))) === 'paused';
      return isDone(now);
    });
    if (this.lost) return;
    await this.looking(async () => {
      try {
        await this.findTables();
      } catch (reason) {
        return !isBusy(reason); // who shows the result can do without them
      }
      return true;
    });
  }

  stop(): void {
    this.stopped = true;
  }

  /**
   * Looks again and again until there is no more to see. A daemon that answered before may be
   * starting again.
   */
  private async looking(look: () => Promise<boolean>): Promise<void> {
    let failures = 0;
    for (let pause = FIRST_LOOK; !this.stopped; pause = Math.min(pause * 1.2, LAST_LOOK)) {
      try {
        if (await look()) return;
        failures = 0;
      } catch {
        failures += 1;
        if (!this.entry || failures > MOST_FAILURES) {
          this.lost = true;
          return;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** A machine on disk is not woken for this. */
  private async findTables(): Promise<void> {
    const { api } = this.host;
    const names = new Set(this.entry?.instruction.code.match(/[\p{L}_][\p{L}\p{N}_]*/gu));
    const { state } = await api.get('/api/machines/{name}', of(this.machine));
    if (state !== 'idle' && state !== 'running') return;
    const { items } = await api.get('/api/machines/{name}/variables', of(this.machine));
    this.tables = items.filter((one) => isTable(one) && names.has(one.name)).slice(0, 8);
  }
}
