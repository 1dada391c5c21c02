import { Api, given, of } from '$lib/api/api';
import { clientName, connect, forget, inWindow, type Connection } from '$lib/api/connection';
import { followEvents } from '$lib/api/events';
import { ApiError, sentence } from '$lib/api/errors';
import { Http } from '$lib/api/http';
import { Stranger } from '$lib/api/proof';
import type {
  Answer,
  Checkpoint,
  Contact,
  Event,
  Export,
  Instruction,
  Machine,
  MachineChange,
  NewMachine,
  Status,
  Variable,
} from '$lib/api/types';
import { EXAMPLE } from '$lib/example';
import { onSaved, saveAs } from '$lib/save';
import { title, words } from '$lib/words';
import { Appearance } from './appearance.svelte';
import { AiApps } from './aiapps.svelte';
import { HostedAccounts } from './hosted.svelte';
import { ARCHIVED, Machines } from './machines.svelte';
import { Questions, type Question } from './questions.svelte';
import { Timeline } from './timeline.svelte';
import { Kept, isBoolean, isNumber, isString } from './kept.svelte';
import { Toasts } from './toasts.svelte';
import { Updates } from './updates.svelte';
import { Vitals } from './vitals.svelte';

const at = (machine: Machine, { id }: Checkpoint) => ({
  params: { path: { name: machine.name, id } },
});

const LOST_SHOWN_AFTER_MS = 1_200;

/** The page's one controller: keeps what the daemon tells, and does what the person asks. */
export class App {
  phase = $state<'connecting' | 'locked' | 'failed' | 'ready'>('connecting');
  /** Why it failed, for the person. */
  problem = $state('');
  /** False once the daemon has been away long enough to be worth a word. */
  online = $state(true);
  /** While the daemon is away: whether something else answers in its place. */
  stranger = $state(false);
  /** While the daemon is away: why the window cannot bring it back, for the person. */
  trouble = $state('');
  status = $state.raw<Status | null>(null);
  selectedId = $state<string | null>(null);
  timeline = $state.raw<Timeline | null>(null);
  now = $state(Date.now());
  /** Whether the AI apps are shown. */
  appsShown = $state(false);
  /** Whether the account of the hosted service is shown. */
  hostedShown = $state(false);

  /** A step that the person wants to see; who shows it takes the wish back. */
  wanted = $state.raw<number | null>(null);

  /** The panel at the right: whether it is shown where there is room for it, how wide, and what of it. */
  readonly side = {
    shown: new Kept('side.shown', true, isBoolean),
    width: new Kept('side.width', 360, isNumber),
    tab: new Kept('side.tab', '', isString),
  };

  readonly appearance = new Appearance();
  settingsShown = $state(false);
  /** Which part of the settings is shown, or was last. */
  settingsSection = $state('');
  paletteShown = $state(false);

  readonly vitals = new Vitals();
  readonly questions = new Questions();
  readonly machines = new Machines();
  readonly aiApps = new AiApps(() => this.api);
  readonly hosted = new HostedAccounts(() => this.api);
  readonly toasts = new Toasts();
  readonly updates = new Updates(
    () => this.api,
    (version) => this.toasts.info(words.updates.installed(version)),
  );
  readonly selected = $derived(
    this.selectedId === null ? undefined : this.machines.get(this.selectedId),
  );

  /** Told of each change of a machine's connections, by the machine's name; once with neither when some may have been missed. */
  private readonly contactListeners = new Set<(name?: string, contact?: Contact) => void>();

  /** Code written but not run, by machine. */
  readonly drafts = new Map<string, string>();

  constructor() {
    onSaved({
      saved: (path) => this.toasts.info(words.output.savedTo(path)),
      failed: (reason) => this.toasts.error(reason),
    });
  }

  private current: Api | null = null;
  private stop = new AbortController();
  private lostTimer: ReturnType<typeof setTimeout> | undefined;

  /** The daemon's operations; only once the page is ready. */
  get api(): Api {
    if (!this.current) throw new Error('The page is not connected yet.');
    return this.current;
  }

  /** Connects and follows the daemon until close(). */
  async start(): Promise<void> {
    this.stop.abort();
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.phase = 'connecting';
    const clock = setInterval(() => (this.now = Date.now()), 1_000);
    signal.addEventListener('abort', () => clearInterval(clock), { once: true });
    try {
      const first = await connect();
      if (!first) {
        this.phase = 'locked';
        return;
      }
      let next: typeof first | null = first;
      await followEvents(
        {
          api: async () => {
            const connection = next ?? (await this.reconnect());
            next = null;
            this.current = new Api(new Http(connection, clientName()));
            return this.current;
          },
        },
        {
          onEvent: (event) => this.onEvent(event),
          onState: (state, resumed) => this.onState(state, resumed),
          onUnauthorized: () => {
            forget();
            this.phase = 'locked';
          },
        },
        signal,
      );
    } catch (reason) {
      this.problem = sentence(reason);
      this.phase = 'failed';
    }
  }

  private async reconnect(): Promise<Connection> {
    try {
      const connection = await connect();
      if (connection) return connection;
    } catch (reason) {
      this.stranger = reason instanceof Stranger;
      if (inWindow() && reason instanceof Error) this.trouble = reason.message;
      throw reason;
    }
    throw new ApiError(401, 'Unauthorized', words.locked.title);
  }

  close(): void {
    this.stop.abort();
    this.updates.close();
    clearTimeout(this.lostTimer);
  }

  select(id: string | null): void {
    if (this.selectedId === id) return;
    this.selectedId = id;
    this.wanted = null;
    const machine = id === null ? undefined : this.machines.get(id);
    if (!machine) {
      this.timeline = null;
      return;
    }
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- the getters below are the source's, not the app's
    const app = this;
    const timeline = new Timeline({
      get api() {
        return app.api;
      },
      get name() {
        return app.machines.get(machine.id)?.name ?? machine.name;
      },
    });
    this.timeline = timeline;
    void timeline.load();
  }

  // What the person can do. Each tells its own failure and resolves to whether it worked.

  async create(options: NewMachine = {}): Promise<Machine | null> {
    return this.try(async () => {
      const machine = await this.api.post('/api/machines', { body: options });
      this.machines.put(machine);
      this.select(machine.id);
      return machine;
    });
  }

  /** Makes a machine that draws a chart. */
  async runExample(): Promise<void> {
    const machine = await this.create({ title: EXAMPLE.title });
    if (machine) await this.run(machine, EXAMPLE.code);
  }

  async run(machine: Machine, code: string): Promise<boolean> {
    const instruction = await this.try(() => this.execute(machine, code));
    if (instruction && this.selectedId === machine.id) this.timeline?.onInstruction(instruction);
    return instruction !== null;
  }

  /** Has the machine write a table into a file, by a step that everybody sees, and brings the file out. */
  async saveTable(machine: Machine, table: Variable, format: 'csv' | 'xlsx'): Promise<void> {
    const file = `${table.name}.${format}`;
    const frame = table.type === 'ndarray' ? `pd.DataFrame(${table.name})` : table.name;
    const write = `${frame}.to_${format === 'csv' ? 'csv' : 'excel'}("${file}")`;
    await this.try(async () => {
      const code = table.type === 'ndarray' ? `import pandas as pd\n${write}` : write;
      const { seq } = await this.execute(machine, code);
      const { status } = await this.api.ended(machine.name, seq);
      if (status !== 'ok') throw new Error(words.table.notSaved(seq));
      saveAs(
        file,
        await this.api.get('/api/machines/{name}/files/content', {
          params: { path: { name: machine.name }, query: { path: file } },
          parseAs: 'blob',
        }),
      );
      return true;
    });
  }

  /** What happened, as a file. */
  async export(machine: Machine, format: Export): Promise<void> {
    await this.try(async () => {
      const story = await this.api.get('/api/machines/{name}/export', {
        params: { path: { name: machine.name }, query: { format } },
        parseAs: 'blob',
      });
      saveAs(`${machine.name}.${format}`, story);
      return true;
    });
  }

  /** Puts a machine out of sight, by a tag that other programs can set as well, or back. */
  archive = (machine: Machine, away: boolean) =>
    this.change(machine, { tags: { [ARCHIVED]: away ? 'true' : null } });

  async copySentence(machine: Machine): Promise<void> {
    await this.try(async () => {
      // Only a title that somebody gave: an AI shall not be told what code says of itself.
      await navigator.clipboard.writeText(words.machine.sentence(machine.name, machine.title));
      this.toasts.info(words.machine.sentenceCopied);
      return true;
    });
  }

  cancel = (machine: Machine, seq: number) =>
    this.try(() =>
      this.api.delete('/api/machines/{name}/instructions/{seq}', {
        params: { path: { name: machine.name, seq } },
      }),
    );

  /** Stops what the person sees running, and not what may have begun meanwhile. */
  interrupt = (machine: Machine) => {
    const seq = this.selectedId === machine.id ? this.timeline?.running : undefined;
    const params = { path: { name: machine.name }, query: given({ seq }) };
    return this.update(() => this.api.post('/api/machines/{name}/interrupt', { params }));
  };

  sleep = (machine: Machine) =>
    this.update(() => this.api.post('/api/machines/{name}/swap', of(machine.name)));
  wake = (machine: Machine) =>
    this.update(() => this.api.post('/api/machines/{name}/wake', of(machine.name)));
  stopSharing = (machine: Machine) =>
    this.update(() => this.api.delete('/api/machines/{name}/shared', of(machine.name)));
  restore = (machine: Machine) =>
    this.update(() => this.api.post('/api/machines/{name}/restore', of(machine.name)));
  change = (machine: Machine, body: MachineChange) =>
    this.update(() => this.api.patch('/api/machines/{name}', { ...of(machine.name), body }));

  async remove(machine: Machine): Promise<void> {
    const done = await this.try(async () => {
      await this.api.delete('/api/machines/{name}', of(machine.name));
      return true;
    });
    if (!done) return;
    if (this.selectedId === machine.id) this.select(null);
    this.machines.put({ ...machine, state: 'deleted' });
    this.toasts.info(words.machine.removed(title(machine)), {
      label: words.machine.undo,
      run: () => void this.restore(machine).then((back) => back && this.select(machine.id)),
    });
  }

  async purge(machine: Machine): Promise<void> {
    await this.try(async () => {
      await this.api.delete('/api/machines/{name}', {
        params: { path: { name: machine.name }, query: { purge: true } },
      });
      this.machines.remove(machine.id);
      return true;
    });
  }

  answer = (question: Question, answer: Answer) =>
    this.try(async () => {
      this.questions.answered(question);
      await this.api.post('/api/machines/{name}/connections/{id}/answer', {
        params: { path: { name: question.machine, id: question.contact.id } },
        body: { answer },
      });
    });

  /** Has the listener told of machines' connections until the function that is returned is called. */
  onContact(listener: (name?: string, contact?: Contact) => void): () => void {
    this.contactListeners.add(listener);
    return () => this.contactListeners.delete(listener);
  }

  async checkpoint(machine: Machine, label: string): Promise<void> {
    const body = label === '' ? {} : { label };
    const saved = await this.try(() =>
      this.api.post('/api/machines/{name}/checkpoints', { ...of(machine.name), body }),
    );
    if (!saved) return;
    this.toasts.info(words.checkpoint.saved);
    await this.refreshCheckpoints(machine);
  }

  async keepCheckpoint(machine: Machine, checkpoint: Checkpoint, label: string): Promise<void> {
    const kept = await this.try(() =>
      this.api.patch('/api/machines/{name}/checkpoints/{id}', {
        ...at(machine, checkpoint),
        body: { label },
      }),
    );
    if (!kept) return;
    this.toasts.info(words.checkpoint.kept);
    await this.refreshCheckpoints(machine);
  }

  async removeCheckpoint(machine: Machine, checkpoint: Checkpoint): Promise<void> {
    await this.try(() =>
      this.api.delete('/api/machines/{name}/checkpoints/{id}', at(machine, checkpoint)),
    );
    await this.refreshCheckpoints(machine);
  }

  /** Goes back to a checkpoint. What is left stays as a branch, so that the message that tells has a way back. */
  async rewind(machine: Machine, checkpoint: string, keepAs = ''): Promise<void> {
    const before = this.machines.get(machine.id)?.undo;
    const body = keepAs === '' ? { checkpoint } : { checkpoint, keep_as: keepAs };
    const done = await this.update(() =>
      this.api.post('/api/machines/{name}/rewind', { ...of(machine.name), body }),
    );
    if (!done) return;
    const { undo } = done;
    this.toasts.info(
      words.rewind.done,
      undo && undo !== before
        ? { label: words.rewind.undo, run: () => void this.rewind(done, undo) }
        : undefined,
    );
    if (this.selectedId === machine.id) await this.timeline?.load();
  }

  async renameBranch(machine: Machine, branch: string, to: string): Promise<void> {
    const params = { path: { name: machine.name, branch } };
    await this.try(() =>
      this.api.patch('/api/machines/{name}/branches/{branch}', { params, body: { name: to } }),
    );
    await this.refreshCheckpoints(machine);
  }

  async deleteBranch(machine: Machine, branch: string): Promise<void> {
    const params = { path: { name: machine.name, branch } };
    await this.try(() => this.api.delete('/api/machines/{name}/branches/{branch}', { params }));
    await this.refreshCheckpoints(machine);
  }

  async fork(machine: Machine, checkpoint: Checkpoint | null, name: string): Promise<void> {
    const body = {
      ...(checkpoint ? { checkpoint: checkpoint.id } : {}),
      ...(name === '' ? {} : { title: name }),
    };
    const made = await this.update(() =>
      this.api.post('/api/machines/{name}/fork', { ...of(machine.name), body }),
    );
    if (made) this.select(made.id);
  }

  /** Figures come as SVG, too, which stays sharp at any size. */
  private execute(machine: Machine, code: string): Promise<Instruction> {
    return this.api.post('/api/machines/{name}/instructions', {
      ...of(machine.name),
      body: { code, formats: ['svg'] },
    });
  }

  /** Starts what an engine needs, where that is installed; how it stands then comes with the next status. */
  startEngine = (name: string) =>
    this.try(() => this.api.post('/api/engines/{name}/start', of(name)));

  private async refreshCheckpoints(machine: Machine): Promise<void> {
    if (this.selectedId !== machine.id) return;
    await this.timeline?.loadCheckpoints().catch(() => undefined);
  }

  private async update(action: () => Promise<Machine>): Promise<Machine | null> {
    const machine = await this.try(action);
    if (machine) this.machines.put(machine);
    return machine;
  }

  private async try<T>(action: () => Promise<T>): Promise<T | null> {
    try {
      return await action();
    } catch (reason) {
      this.toasts.error(reason);
      return null;
    }
  }

  // What the daemon tells.

  private onState(state: 'open' | 'lost', resumed: boolean): void {
    clearTimeout(this.lostTimer);
    if (state === 'lost') {
      this.current?.http.close();
      this.lostTimer = setTimeout(() => (this.online = false), LOST_SHOWN_AFTER_MS);
      return;
    }
    this.online = true;
    this.stranger = false;
    this.trouble = '';
    void this.updates.load();
    if (resumed) void this.timeline?.retry();
    else void this.loadAll();
  }

  private async loadAll(): Promise<void> {
    try {
      const lists = Promise.all([this.api.listMachines(), this.api.listMachines(true)]);
      const [status] = await Promise.all([
        this.api.get('/api/status'),
        this.machines.replace(lists.then((both) => both.flat())),
      ]);
      this.status = status;
      this.phase = 'ready';
      for (const tell of this.contactListeners) tell();
      void this.questions.load(this.api, this.machines.alive);
      if (this.selectedId !== null && !this.selected) this.select(null);
      await this.timeline?.load();
    } catch (reason) {
      if (this.phase === 'ready') this.toasts.error(reason);
      else if (reason instanceof ApiError) {
        this.problem = reason.message;
        this.phase = 'failed';
      }
      // Else it was lost again while loading: the next `open` loads anew.
    }
  }

  private onEvent(event: Event): void {
    switch (event.type) {
      case 'reset':
        void this.loadAll();
        break;
      case 'machine':
        if (event.machine) {
          this.machines.put(event.machine);
          this.vitals.note(event.machine, Date.now());
        }
        break;
      case 'purged':
        this.onPurged(event);
        break;
      case 'status':
        if (event.status) this.status = event.status;
        break;
      case 'instruction':
        if (event.instruction && this.isSelected(event.instruction.machine)) {
          this.timeline?.onInstruction(event.instruction);
        }
        break;
      case 'item':
        if (event.item && this.isSelected(event.name)) {
          this.timeline?.onItem(event.seq ?? 0, event.item);
        }
        break;
      case 'connection':
        if (event.connection && event.name) {
          this.questions.note(event.name, event.connection);
          for (const tell of this.contactListeners) tell(event.name, event.connection);
        }
        break;
      case 'checkpoint':
        if (this.isSelected(event.name)) {
          void this.timeline?.loadCheckpoints().catch(() => undefined);
        }
    }
  }

  private onPurged(event: Event): void {
    const machine = event.machine ?? (event.name ? this.machines.named(event.name) : undefined);
    if (!machine) return;
    if (this.selectedId === machine.id) this.select(null);
    this.machines.remove(machine.id);
    this.vitals.forget(machine.id);
  }

  private isSelected(name: string | undefined): boolean {
    return name !== undefined && this.selected?.name === name;
  }
}
