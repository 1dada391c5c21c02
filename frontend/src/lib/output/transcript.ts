import type { Item, Representation } from '$lib/api/types';
import { TerminalText } from './terminal';

/** What one instruction put out, as blocks to show one below the other. */
export type Block =
  | {
      readonly kind: 'text';
      readonly id: number;
      readonly stream: 'stdout' | 'stderr';
      readonly background: boolean;
      readonly text: TerminalText;
    }
  | {
      readonly kind: 'display';
      readonly id: number;
      readonly displayId: string | undefined;
      readonly representations: readonly Representation[];
    }
  /** What was left out here was never loaded. */
  | { readonly kind: 'gap'; readonly id: number };

/** Beyond this the middle is left out: two streams in turn could otherwise fill the page. */
const MAX_BLOCKS = 400;
const KEPT_HEAD = 100;

/**
 * Puts items together in their order; an item that came before is ignored, so that a reload and the
 * events may overlap.
 */
export class Transcript {
  /** The index of the next item that has not been seen. */
  next = 0;
  /** Grows with every change. */
  version = 0;
  /** Blocks left out of the middle. */
  omitted = 0;
  blocks: readonly Block[] = [];

  private nextId = 0;
  private clearPending = false;

  /**
   * Adds an item unless it is known. Items may skip numbers: the daemon leaves out the middle of
   * long output.
   */
  add(item: Item): void {
    if (item.index < this.next) return;
    this.next = item.index + 1;
    this.version += 1;
    if (item.kind === 'clear') {
      if (item.wait) this.clearPending = true;
      else this.clear();
      return;
    }
    if (this.clearPending) this.clear();
    if (item.kind === 'output') this.output(item);
    else this.display(item);
  }

  /** Goes on at a later item, and shows that something is missing. */
  skipTo(index: number): void {
    if (index <= this.next) return;
    this.next = index;
    this.version += 1;
    this.push({ kind: 'gap', id: this.nextId });
  }

  private clear(): void {
    this.clearPending = false;
    this.omitted = 0;
    this.blocks = [];
  }

  private output(item: Item): void {
    const stream = item.stream ?? 'stdout';
    const background = item.background ?? false;
    const last = this.blocks[this.blocks.length - 1];
    if (last?.kind === 'text' && last.stream === stream && last.background === background) {
      last.text.write(item.text ?? '');
      return;
    }
    const text = new TerminalText();
    text.write(item.text ?? '');
    this.push({ kind: 'text', id: this.nextId, stream, background, text });
  }

  private display(item: Item): void {
    const representations = item.representations ?? [];
    const displayId = item.display_id;
    if (displayId !== undefined && item.update) {
      this.blocks = this.blocks.map((block) =>
        block.kind === 'display' && block.displayId === displayId
          ? { ...block, representations }
          : block,
      );
      return;
    }
    this.push({ kind: 'display', id: this.nextId, displayId, representations });
  }

  private push(block: Block): void {
    this.nextId += 1;
    const blocks = [...this.blocks, block];
    if (blocks.length > MAX_BLOCKS) {
      blocks.splice(KEPT_HEAD, 1);
      this.omitted += 1;
    }
    this.blocks = blocks;
  }
}
