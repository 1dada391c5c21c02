import type { Api } from '$lib/api/api';
import { sentence } from '$lib/api/errors';
import type { Settings, SettingsChange } from '$lib/api/types';

/** The daemon's settings as a view shows and changes them. Each change is saved at once. */
export class StoredSettings {
  /** Null until they are loaded. */
  now = $state.raw<Settings | null>(null);
  /** Whether the last change was saved. */
  saved = $state(false);
  /** Why the last call failed; empty where it did not. */
  problem = $state('');

  constructor(private readonly api: () => Api) {}

  load(): Promise<boolean> {
    return this.take(() => this.api().get('/api/settings'));
  }

  /** Resolves to whether the change holds now. */
  async set(body: SettingsChange): Promise<boolean> {
    this.saved = false;
    this.saved = await this.take(() => this.api().patch('/api/settings', { body }));
    // What was chosen and not taken is shown no more.
    if (!this.saved && this.now) this.now = { ...this.now };
    return this.saved;
  }

  private async take(from: () => Promise<Settings>): Promise<boolean> {
    this.problem = '';
    try {
      this.now = await from();
      return true;
    } catch (reason) {
      this.problem = sentence(reason);
      return false;
    }
  }
}
