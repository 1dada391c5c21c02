import type { Api } from '$lib/api/api';
import { sentence } from '$lib/api/errors';
import type { Settings, Update } from '$lib/api/types';

/** The daemon looks once a day on its own; this is how long it may take until the page knows. */
const ASKS_EVERY_MS = 60 * 60_000;
const ASKS_WHILE_BUSY_MS = 1_000;

/** What is newer than the version that runs, and what the person does about it. */
export class Updates {
  now = $state.raw<Update | null>(null);
  /** Whether newer versions are looked for on their own. */
  check = $state<Settings['update_check']>('daily');
  /** Whether somebody waits for an answer. */
  asking = $state(false);
  /** Why the last thing that was asked for did not work. */
  problem = $state('');

  /** What is worth a word where nobody has asked. */
  readonly told = $derived(this.check === 'daily' ? this.now?.newer : undefined);

  private next: ReturnType<typeof setTimeout> | undefined;
  /** Counts the calls of load(): only the latest goes on. */
  private round = 0;

  /** `replaced` is called when another version has taken the place of the one that ran. */
  constructor(
    private readonly api: () => Api,
    private readonly replaced: (version: string) => void,
  ) {}

  /** Brings it up to date, and keeps it so until close(). Throws nothing. */
  async load(): Promise<void> {
    const round = ++this.round;
    clearTimeout(this.next);
    try {
      const [now, { update_check }] = await Promise.all([
        this.api().get('/api/update'),
        this.api().get('/api/settings'),
      ]);
      if (round !== this.round) return;
      this.check = update_check;
      this.take(now);
    } catch {
      // A daemon that is away is told of elsewhere; when it is back this is called again.
    }
    if (round !== this.round) return;
    this.next = setTimeout(
      () => void this.load(),
      this.now?.busy ? ASKS_WHILE_BUSY_MS : ASKS_EVERY_MS,
    );
  }

  close(): void {
    this.round++;
    clearTimeout(this.next);
  }

  look = () => this.ask(async () => this.take(await this.api().post('/api/update/look')));

  install = () =>
    this.ask(async () => {
      this.take(await this.api().post('/api/update/install'));
      void this.load();
    });

  setCheck = (daily: boolean) =>
    this.ask(async () => {
      const before = this.check;
      this.check = daily ? 'daily' : 'off'; // as the box shows already
      try {
        const body = { update_check: this.check };
        const changed = await this.api().patch('/api/settings', { body });
        this.check = changed.update_check;
      } catch (reason) {
        this.check = before;
        throw reason;
      }
    });

  private take(now: Update): void {
    const before = this.now?.version;
    this.now = now;
    if (before !== undefined && before !== now.version) this.replaced(now.version);
  }

  private async ask(action: () => Promise<void>): Promise<void> {
    this.asking = true;
    this.problem = '';
    try {
      await action();
    } catch (reason) {
      this.problem = sentence(reason);
    }
    this.asking = false;
  }
}
