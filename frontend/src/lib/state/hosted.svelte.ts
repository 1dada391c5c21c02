import type { Api } from '$lib/api/api';
import { sentence } from '$lib/api/errors';
import type { Hosted, HostedAccount } from '$lib/api/types';
import { words } from '$lib/words';

/** The account of the hosted service, and what the person does with it. */
export class HostedAccounts {
  now = $state.raw<Hosted | null>(null);
  busy = $state(false);
  /** What was last said: that something worked, or why not. */
  told = $state.raw<{ readonly text: string; readonly bad: boolean } | null>(null);

  readonly others = $derived(
    (this.now?.accounts ?? []).filter(
      ({ server, account }) =>
        !this.now?.signed_in || server !== this.now.server || account !== this.now.account,
    ),
  );

  constructor(private readonly api: () => Api) {}

  load = () =>
    this.tell(async () => {
      this.now = await this.api().get('/api/hosted');
    });

  /** Resolves to whether it worked, as the other calls do. */
  signIn = (server: string, token: string) =>
    this.tell(async () => {
      this.now = await this.api().post('/api/hosted/login', { body: { server, token } });
    });

  takeOver = () =>
    this.tell(async () => {
      this.now = await this.api().post('/api/hosted/login', { body: { official: true } });
    });

  removeOfficial = () =>
    this.tell(async () => {
      await this.api().delete('/api/hosted/official');
      this.now = await this.api().get('/api/hosted');
    });

  use = (account: HostedAccount) =>
    this.tell(async () => {
      this.now = await this.api().post('/api/hosted/use', { body: account });
    });

  signOut = () =>
    this.tell(async () => {
      this.now = await this.api().post('/api/hosted/logout');
    });

  signUp = (server: string, email: string, account: string) =>
    this.tell(async () => {
      await this.api().post('/api/hosted/signup', { body: { server, email, account } });
      return words.hosted.signedUp(email);
    });

  private async tell(action: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    this.told = null;
    try {
      const text = await action();
      if (typeof text === 'string') this.told = { text, bad: false };
      return true;
    } catch (reason) {
      this.told = { text: sentence(reason), bad: true };
      return false;
    } finally {
      this.busy = false;
    }
  }
}
