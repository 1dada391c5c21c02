import { isDone, type Instruction, type Item } from '$lib/api/types';
import { Transcript } from '$lib/output/transcript';
import { Slice } from '$lib/slice';
import type { Source } from './source';

/** Of long output the page loads this much from the beginning, and about so much from the end. */
const HEAD_PAGES = 2;
const TAIL_ITEMS = 1_000;
const TAIL_BYTES = 4 << 20;

/**
 * Views look at most so often while output streams. Nobody reads faster, and drawing every frame
 * would take a good part of a processor from what the machine does.
 */
const LOOK_MS = 50;

/**
 * One step of a machine: the instruction and what it put out, which is loaded when it comes into
 * view.
 */
export class Entry {
  instruction = $state.raw() as Instruction;
  loading = $state<'no' | 'loading' | 'failed' | 'yes'>('no');
  /**
   * Grows at once, and then now and then, while output streams; views read it before `transcript`.
   */
  version = $state(0);
  readonly transcript = new Transcript();

  private waiting: Item[] = [];
  private rest: ReturnType<typeof setTimeout> | undefined;
  private unseen = false;

  constructor(
    private readonly source: Source,
    instruction: Instruction,
  ) {
    this.instruction = instruction;
  }

  get seq(): number {
    return this.instruction.seq;
  }

  get done(): boolean {
    return isDone(this.instruction);
  }

  /**
   * Takes over a newer state. An answer may arrive after the event that overtook it: the end is not
   * taken back.
   */
  update(instruction: Instruction): void {
    if (this.done && !isDone(instruction)) return;
    this.instruction = instruction;
  }

  /** An item that just came. Before the load it waits: the load brings those before it. */
  add(item: Item): void {
    if (this.loading === 'yes') {
      this.transcript.add(item);
      this.changed();
    } else if (this.loading === 'loading') {
      this.waiting.push(item);
    }
  }

  /** Loads what there is, unless that has happened. */
  async ensure(): Promise<void> {
    if (this.loading === 'no') await this.load();
  }

  /** Loads what is not known yet: at first, and after events were missed. */
  async load(): Promise<void> {
    if (this.loading === 'loading') return;
    if (this.done && this.instruction.items === 0) {
      this.loading = 'yes';
      return;
    }
    this.loading = 'loading';
    const slice = new Slice();
    try {
      for (let pages = 1; ; pages += 1) {
        const page = await this.source.api.get('/api/machines/{name}/instructions/{seq}/items', {
          params: { path: this.path, query: { from: this.transcript.next, limit: 1000 } },
        });
        for (const item of page.items) {
          this.transcript.add(item);
          await slice.pause();
        }
        if (!page.next || page.items.length === 0) break;
        if (pages === HEAD_PAGES) await this.skipMiddle();
      }
      for (const item of this.waiting) this.transcript.add(item);
      this.waiting = [];
      this.loading = 'yes';
    } catch {
      this.loading = 'failed';
    }
    this.changed();
  }

  /**
   * Goes on near the end of what would take the page long to load and little of which it would
   * keep.
   */
  private async skipMiddle(): Promise<void> {
    const { path } = this;
    const now = await this.source.api.get('/api/machines/{name}/instructions/{seq}', {
      params: { path },
    });
    this.update(now);
    const average = Math.max(now.output_bytes / Math.max(now.items, 1), 1);
    const items = Math.min(TAIL_ITEMS, Math.ceil(TAIL_BYTES / average));
    if (now.items - items > this.transcript.next + items) {
      this.transcript.skipTo(now.items - items);
    }
  }

  private get path() {
    return { name: this.source.name, seq: this.seq };
  }

  private changed(): void {
    this.unseen = true;
    if (this.rest === undefined) this.look();
  }

  private look(): void {
    this.rest = undefined;
    if (!this.unseen) return;
    this.unseen = false;
    this.rest = setTimeout(() => this.look(), LOOK_MS);
    this.version += 1;
  }
}
