import type { Api } from '$lib/api/api';
import type { AiApp, AppBackup, AppReport, AppState } from '$lib/api/types';
import { words } from '$lib/words';

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
  /** Why the list could not be loaded. */
  problem = $state('');

  readonly here = $derived((this.list ?? []).filter(({ installed }) => installed));
  /** Whether one that was connected is no longer. */
  readonly ailing = $derived(this.here.some(({ state }) => ['wiped', 'outdated'].includes(state)));
  readonly elsewhere = $derived((this.list ?? []).filter(({ installed }) => !installed));

  constructor(private readonly api: () => Api) {}

  async load(): Promise<void> {
    try {
      this.list = await this.api().listApps();
      this.problem = '';
      if (!this.busy && this.told && this.stateOf(this.told.id) !== this.toldOf) this.told = null;
    } catch (reason) {
      this.problem = sentence(reason);
    }
  }

  /** Finds out what would change. */
  ask = (app: AiApp, verb: Verb) =>
    this.of(app, async () => {
      const replace = verb !== 'disconnect' && ['official', 'taken'].includes(app.state);
      const report = await this.api().changeApp(app.id, verb, { replace, dry_run: true });
      this.plan = { app, verb, replace, report };
    });

  /** Does what was shown. */
  async confirm(): Promise<void> {
    const { plan } = this;
    if (!plan) return;
    await this.of(plan.app, async () => {
      const { app, verb, replace, report } = plan;
      const restart = this.restart && report.running && app.restarts;
      this.done(app, await this.api().changeApp(app.id, verb, { replace, restart }));
    });
    this.plan = null;
  }

  /** Has the app ask the person itself. */
  offer = (app: AiApp) =>
    this.of(app, async () => {
      const { opened } = await this.api().offerApp(app.id);
      const text = app.offers === 'extension' ? words.apps.extensionOpened : words.apps.linkOpened;
      this.told = { id: app.id, text: text(app.name, opened), bad: false };
    });

  test = (app: AiApp) =>
    this.of(app, async () => {
      const { took_ms } = await this.api().testApp(app.id);
      this.told = { id: app.id, text: words.apps.works(took_ms), bad: false };
    });

  showBackups = (app: AiApp) =>
    this.of(app, async () => {
      this.backups = { app, list: await this.api().listAppBackups(app.id) };
    });

  async restore(app: AiApp, backup: AppBackup): Promise<void> {
    await this.of(app, async () => {
      this.done(app, await this.api().restoreApp(app.id, backup.id));
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

  /** Does something with an app; what goes wrong is told beside it. */
  private async of(app: AiApp, action: () => Promise<void>): Promise<void> {
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

function sentence(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
