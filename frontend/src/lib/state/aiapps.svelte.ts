import type { Api } from '$lib/api/api';
import { sentence } from '$lib/api/errors';
import type { AiApp, AppBackup, AppReport, AppState, ChangeApp } from '$lib/api/types';
import { words } from '$lib/words';

const of = ({ id }: AiApp) => ({ params: { path: { id } } });

export type Verb = 'connect' | 'disconnect' | 'repair';

/** What would change, shown before it does. */
export interface Plan {
  readonly app: AiApp;
  readonly verb: Verb;
  /** Another server's entry gives way. */
  readonly replace: boolean;
  readonly report: AppReport;
}

/** The AI apps of this computer, and what the person does with them. */
export class AiApps {
  list = $state.raw<readonly AiApp[] | null>(null);
  plan = $state.raw<Plan | null>(null);
  /** Earlier settings of one app. */
  backups = $state.raw<{ readonly app: AiApp; readonly list: readonly AppBackup[] } | null>(null);
  /** What was last said of an app. */
  told = $state.raw<{ readonly id: string; readonly text: string; readonly bad: boolean } | null>(
    null,
  );
  /** How that app stood then: once it stands otherwise, what was said is of the past. */
  private toldOf: AppState | undefined;
  busy = $state(false);
  /** Whether an app that runs is quit for a change and started again: the person's choice. */
  restart = $state(true);
  /** Whether an app that takes skills gets ours when it is connected: the person's choice. */
  skill = $state(true);
  /** Why the list could not be loaded. */
  problem = $state('');

  readonly here = $derived((this.list ?? []).filter(({ installed }) => installed));
  /** Those that can make machines here. */
  readonly connected = $derived(
    this.here.filter(({ state }) => state === 'connected' || state === 'extension'),
  );
  /** Those that can be opened with a prompt. */
  readonly asking = $derived(this.connected.filter(({ asks }) => asks));
  /** Whether one that was connected is no longer. */
  readonly ailing = $derived(
    this.here.some(({ state }) => ['wiped', 'outdated', 'unfinished'].includes(state)),
  );
  readonly elsewhere = $derived((this.list ?? []).filter(({ installed }) => !installed));

  constructor(private readonly api: () => Api) {}

  async load(): Promise<void> {
    try {
      this.list = (await this.api().get('/api/apps')).items;
      this.problem = '';
      if (!this.busy && this.told && this.stateOf(this.told.id) !== this.toldOf) this.told = null;
    } catch (reason) {
      this.problem = sentence(reason);
    }
  }

  /** Finds out what would change. */
  ask = (app: AiApp, verb: Verb) =>
    this.about(app, async () => {
      const replace = verb !== 'disconnect' && ['official', 'taken'].includes(app.state);
      const report = await this.change(app, verb, {
        replace,
        dry_run: true,
        skill: this.skill,
      });
      this.plan = { app, verb, replace, report };
    });

  /** Does what was shown. */
  async confirm(): Promise<void> {
    const { plan } = this;
    if (!plan) return;
    await this.about(plan.app, async () => {
      const { app, verb, replace, report } = plan;
      const restart = this.restart && report.running && app.restarts;
      this.done(app, await this.change(app, verb, { replace, restart, skill: this.skill }));
    });
    this.plan = null;
  }

  /** Has the app ask the person itself. */
  offer = (app: AiApp) =>
    this.about(app, async () => {
      const { opened } = await this.api().post('/api/apps/{id}/offer', of(app));
      const text = app.offers === 'extension' ? words.apps.extensionOpened : words.apps.linkOpened;
      this.told = { id: app.id, text: text(app.name, opened), bad: false };
    });

  test = (app: AiApp) =>
    this.about(app, async () => {
      const { took_ms } = await this.api().post('/api/apps/{id}/test', of(app));
      this.told = { id: app.id, text: words.apps.works(took_ms), bad: false };
    });

  showBackups = (app: AiApp) =>
    this.about(app, async () => {
      const { items } = await this.api().get('/api/apps/{id}/backups', of(app));
      this.backups = { app, list: items };
    });

  async restore(app: AiApp, backup: AppBackup): Promise<void> {
    await this.about(app, async () => {
      const body = { backup: backup.id };
      this.done(app, await this.api().post('/api/apps/{id}/restore', { ...of(app), body }));
    });
    this.backups = null;
  }

  /** Back to the list. */
  back(): void {
    this.plan = null;
    this.backups = null;
  }

  private done(app: AiApp, report: AppReport): void {
    const { running, restarted, next = words.apps.atStart } = report;
    const then = running ? words.apps.runs(app.name, next) : next;
    const text = `${words.apps.done} ${restarted ? words.apps.restarted(app.name) : then}`;
    this.told = { id: app.id, text, bad: false };
  }

  private change(app: AiApp, verb: Verb, body: ChangeApp): Promise<AppReport> {
    return this.api().post(`/api/apps/{id}/${verb}`, { ...of(app), body });
  }

  /** Does something with an app; what goes wrong is told beside it. */
  private async about(app: AiApp, action: () => Promise<void>): Promise<void> {
    this.busy = true;
    this.told = null;
    try {
      await action();
    } catch (reason) {
      this.told = { id: app.id, text: sentence(reason), bad: true };
    } finally {
      await this.load();
      this.toldOf = this.stateOf(app.id);
      this.busy = false;
    }
  }

  private stateOf(id: string): AppState | undefined {
    return this.list?.find((app) => app.id === id)?.state;
  }
}
