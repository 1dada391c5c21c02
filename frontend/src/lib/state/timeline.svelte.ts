import { given, of } from '$lib/api/api';
import { ApiError } from '$lib/api/errors';
import { isDone, type Branch, type Checkpoint, type Instruction, type Item } from '$lib/api/types';
import { headline, words } from '$lib/words';
import { Entry } from './entry.svelte';
import { mergeBySeq } from './merge';
import type { Source } from './source';

const PAGE = 30;
/** On the way to a step that is far back. */
const REACH = 200;

/** A machine's steps and checkpoints, oldest first, loaded from the newest backwards. */
export class Timeline {
  entries = $state.raw<readonly Entry[]>([]);
  checkpoints = $state.raw<readonly Checkpoint[]>([]);
  /** What going back has left, the last left first. */
  branches = $state.raw<readonly Branch[]>([]);
  /** Whether there are steps before the first entry. */
  hasEarlier = $state(false);
  /** `gone` when there is no such machine, `failed` when that is not known. */
  state = $state<'loading' | 'ready' | 'failed' | 'gone'>('loading');
  /** Grows when a step has ended, or may have: what the machine holds may be other than before. */
  ended = $state(0);
  /** Grows when a step has shown something that is more than text, or may have. */
  shown = $state(0);

  /**
   * Which states are saved, by step: right after it, and the last one before it on the machine's
   * present line of work. Quick steps in a row share one.
   */
  readonly saved = $derived.by(() => {
    const after = new Map<number, Checkpoint>();
    for (const one of this.checkpoints) {
      if (one.running_seq === undefined) after.set(one.last_seq, one);
    }
    const before = new Map<number, { checkpoint: Checkpoint; exact: boolean }>();
    let latest: Checkpoint | undefined;
    let exact = true;
    for (const { seq, instruction } of this.entries) {
      if (latest) before.set(seq, { checkpoint: latest, exact });
      if (instruction.rolled_back || instruction.status === 'cancelled') continue;
      exact = after.has(seq);
      latest = after.get(seq) ?? latest;
    }
    return { after, before };
  });

  /** Checkpoints that were asked for, or that a branch ends in, by the step that they follow. */
  readonly marks = $derived.by(() => {
    const marks = new Map<number, Checkpoint[]>();
    for (const checkpoint of this.checkpoints) {
      if (checkpoint.kind !== 'manual' && !checkpoint.branch) continue;
      const list = marks.get(checkpoint.last_seq) ?? [];
      list.unshift(checkpoint); // they come newest first
      marks.set(checkpoint.last_seq, list);
    }
    return marks;
  });

  /**
   * The last step whose effect is there, where steps after it were undone: the person is back here.
   * Undefined where nothing after it was undone.
   */
  readonly here = $derived.by((): Entry | undefined => {
    const done = this.entries.filter(({ instruction }) => instruction.status !== 'cancelled');
    const last = done.findLastIndex(({ instruction }) => !instruction.rolled_back);
    return last === done.length - 1 ? undefined : done[last];
  });

  private loadingEarlier = false;
  /** What events told before the first load was done. */
  private readonly early: Instruction[] = [];

  constructor(private readonly source: Source) {}

  /** Loads the newest steps; after missed events, what changed of those shown. Throws nothing. */
  async load(): Promise<void> {
    if (this.state === 'failed') this.state = 'loading';
    try {
      const [page] = await Promise.all([this.page(undefined, PAGE), this.loadCheckpoints()]);
      const fresh = page.items.map((instruction) => this.entryFor(instruction));
      // A gap between what was shown and the newest page would look like a whole: start again then.
      const oldest = fresh[fresh.length - 1]?.seq ?? 0;
      const connected = this.entries.some((entry) => entry.seq >= oldest);
      const before = connected ? this.entries : [];
      this.entries = mergeBySeq(before, fresh.reverse());
      if (!connected) this.hasEarlier = page.next !== undefined;
      this.state = 'ready';
      this.ended += 1;
      this.shown += 1;
      for (const instruction of this.early.splice(0)) this.onInstruction(instruction);
      for (const entry of this.entries) {
        if (entry.loading !== 'no') void entry.load();
      }
    } catch (reason) {
      if (this.state !== 'loading') return;
      this.state = reason instanceof ApiError && reason.status === 404 ? 'gone' : 'failed';
    }
  }

  /** Loads again what could not be loaded. */
  async retry(): Promise<void> {
    if (this.state === 'failed') await this.load();
    const failed = this.entries.filter(({ loading }) => loading === 'failed');
    await Promise.all(failed.map((entry) => entry.load()));
  }

  async loadEarlier(limit = PAGE): Promise<void> {
    const first = this.entries[0];
    if (!this.hasEarlier || this.loadingEarlier || !first) return;
    this.loadingEarlier = true;
    try {
      const page = await this.page(first.seq, limit);
      const older = page.items.map((instruction) => this.entryFor(instruction)).reverse();
      this.entries = mergeBySeq(older, this.entries);
      this.hasEarlier = page.next !== undefined;
    } finally {
      this.loadingEarlier = false;
    }
  }

  /** Loads steps until this one is there. Throws what the daemon answers. */
  async reach(seq: number): Promise<boolean> {
    while (!this.find(seq)) {
      const first = this.entries[0];
      if (!this.hasEarlier || this.loadingEarlier || !first || first.seq < seq) return false;
      await this.loadEarlier(REACH);
    }
    return true;
  }

  async loadCheckpoints(): Promise<void> {
    const { api, name } = this.source;
    const [checkpoints, branches] = await Promise.all([
      api.get('/api/machines/{name}/checkpoints', of(name)),
      api.get('/api/machines/{name}/branches', of(name)),
    ]);
    this.checkpoints = checkpoints.items;
    this.branches = branches.items;
  }

  /** The newest instructions below `before`, newest first. */
  private page(before: number | undefined, limit: number) {
    const query = { order: 'newest', ...given({ before }), limit } as const;
    return this.source.api.get('/api/machines/{name}/instructions', {
      params: { path: { name: this.source.name }, query },
    });
  }

  /** What the daemon answers to code that was sent. Events that have overtaken it know better. */
  onQueued(instruction: Instruction): void {
    const known =
      this.find(instruction.seq) ?? this.early.find(({ seq }) => seq === instruction.seq);
    if (!known) this.onInstruction(instruction);
  }

  /** A new or changed instruction, from an event. */
  onInstruction(instruction: Instruction): void {
    if (this.state !== 'ready') {
      this.early.push(instruction);
      return;
    }
    const known = this.find(instruction.seq);
    const before = known?.done ?? false;
    if (known) known.update(instruction);
    if (!before && isDone(instruction)) this.ended += 1;
    if (known) return;
    const first = this.entries[0];
    if (first && instruction.seq < first.seq) return; // comes with its own page
    this.entries = mergeBySeq(this.entries, [this.entryFor(instruction)]);
  }

  onItem(seq: number, item: Item): void {
    this.find(seq)?.add(item);
    if (item.kind !== 'output') this.shown += 1;
  }

  /** The number of the step that runs, as far as is known. */
  get running(): number | undefined {
    return this.entries.findLast(({ instruction }) => instruction.status === 'running')?.seq;
  }

  /** How many steps a rewind to this checkpoint would undo. */
  stepsAfter(checkpoint: Checkpoint): number {
    return this.entries.filter(
      ({ seq, instruction }) =>
        seq > checkpoint.last_seq && instruction.status !== 'cancelled' && !instruction.rolled_back,
    ).length;
  }

  /** What a saved state is called: its name, else the step that was the last one. */
  nameOf({ label, last_seq }: Checkpoint): string {
    if (label) return label;
    const step = this.find(last_seq)?.instruction;
    const says = step ? headline(step) : '';
    return words.checkpoints.after(last_seq) + (says && `: ${says}`);
  }

  private find(seq: number): Entry | undefined {
    return this.entries.findLast((entry) => entry.seq === seq);
  }

  private entryFor(instruction: Instruction): Entry {
    const known = this.find(instruction.seq);
    if (known) {
      known.update(instruction);
      return known;
    }
    return new Entry(this.source, instruction);
  }
}
