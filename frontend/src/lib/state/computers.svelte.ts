import { of, type Api } from '$lib/api/api';
import { ApiError, sentence } from '$lib/api/errors';
import type { PlaceFacts } from '$lib/api/types';
import { hostOf } from '$lib/elsewhere';
import { words } from '$lib/words';
import type { Toasts } from './toasts.svelte';

type Doing = 'look' | 'add' | 'remove';

/**
 * Other computers on which machines can run, and what the person does with them. The daemon calls
 * them places, and the status has each among the engines.
 */
export class Computers {
  /** What the person has typed. */
  address = $state('');
  /** What is at an address, once somebody has looked. */
  found = $state.raw<{ readonly address: string; readonly facts: PlaceFacts } | null>(null);
  /** What the person waits for; null for nothing. */
  doing = $state<Doing | null>(null);
  /** What was last said: that something worked, or why not. */
  told = $state.raw<{
    readonly of: Doing;
    readonly text: string;
    readonly bad: boolean;
  } | null>(null);
  /** Whether what is told here is seen. Setting up takes so long that people do other things. */
  seen = false;

  private stopper = new AbortController();

  constructor(
    private readonly api: () => Api,
    private readonly toasts: Pick<Toasts, 'info' | 'error'>,
  ) {}

  /** Finds out what is at the address. It changes nothing there. */
  look = () =>
    this.act('look', async (signal) => {
      const address = this.address.trim();
      this.found = null;
      const body = { kind: 'ssh', address } as const;
      const facts = await this.api().post('/api/places/look', { body, signal });
      this.found = { address, facts };
    });

  /** Sets up what was found. */
  add = () =>
    this.act('add', async (signal) => {
      if (!this.found) return;
      const { address } = this.found;
      await this.api().post('/api/places', { body: { kind: 'ssh', address }, signal });
      this.found = null;
      this.address = '';
      return words.computers.added(address, words.create.engine, words.list.createWith);
    });

  /** Ends what goes on; the daemon undoes it. */
  stop = () => this.stopper.abort();

  remove = (engine: string) =>
    this.act('remove', async () => {
      await this.api().delete('/api/places/{name}', of(engine));
      return words.computers.removed(hostOf(engine));
    });

  /** The person turns to something else. What goes on goes on; what was read is shown no more. */
  leave(): void {
    this.seen = false;
    this.told = null;
    if (!this.doing) this.found = null;
  }

  private async act(
    doing: Doing,
    action: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<void> {
    const { signal } = (this.stopper = new AbortController());
    this.doing = doing;
    this.told = null;
    try {
      const text = await action(signal);
      if (typeof text === 'string') this.tell(doing, text, false);
    } catch (reason) {
      // What an error's code means is about this computer; what the daemon says is about the other.
      const text = reason instanceof ApiError ? reason.said : sentence(reason);
      if (!signal.aborted) this.tell(doing, text, true);
    } finally {
      this.doing = null;
    }
  }

  private tell(of: Doing, text: string, bad: boolean): void {
    this.told = { of, text, bad };
    if (this.seen) return;
    if (bad) this.toasts.error(text);
    else this.toasts.info(text);
  }
}
