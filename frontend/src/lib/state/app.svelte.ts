import type { Api } from '$lib/api/api';
import type { Contact, Event, Machine, Status } from '$lib/api/types';
import { onSaved } from '$lib/save';
import type { Place } from '$lib/help/places';
import { byApp, words } from '$lib/words';
import { AiApps } from './aiapps.svelte';
import { Appearance } from './appearance.svelte';
import { Commands } from './commands';
import { Computers } from './computers.svelte';
import type { Dialog } from './dialog';
import { Drafts } from './drafts';
import { HostedAccounts } from './hosted.svelte';
import { Kept, isBoolean, isNumber, isString, isStrings } from './kept.svelte';
import { Machines } from './machines.svelte';
import { Permissions } from './permissions.svelte';
import { Questions } from './questions.svelte';
import { Session } from './session.svelte';
import { MachineSource } from './source';
import { Timeline } from './timeline.svelte';
import { Toasts } from './toasts.svelte';
import { Unseen } from './unseen.svelte';
import { Updates } from './updates.svelte';
import { Vitals } from './vitals.svelte';

/** What the page knows and shows: the daemon's state, by its events, and the person's choices. */
export class App {
  status = $state.raw<Status | null>(null);
  now = $state(Date.now());
  selectedId = $state<string | null>(null);
  timeline = $state.raw<Timeline | null>(null);
  /** A step that the person wants to see; who shows it takes the wish back. */
  wanted = $state.raw<number | null>(null);
  /** What lies over the page: one at a time. */
  dialog = $state.raw<Dialog | null>(null);
  /** What is shown of the documents. It lies over a dialog, which stays as it is. */
  help = $state.raw<Place | null>(null);
  /** Whether the list shows the bin in place of the machines. */
  inBin = $state(false);
  /** Which part of the settings is shown, or was last. */
  settingsSection = $state('');

  /**
   * The panel at the right: whether it is shown where there is room for it, how wide, and what of
   * it.
   */
  readonly side = {
    shown: new Kept('side.shown', true, isBoolean),
    width: new Kept('side.width', 360, isNumber),
    tab: new Kept('side.tab', '', isString),
  };
  /** Whether code that others ran is shown at once. */
  readonly everything = new Kept('steps.everything', false, isBoolean);
  /** Code written but not run, by machine. */
  readonly drafts = new Drafts();

  readonly session = new Session({
    onEvent: (event) => this.onEvent(event),
    onOpen: (resumed) => {
      void this.updates.load();
      if (resumed) void this.timeline?.retry();
      else void this.load();
    },
  });
  readonly commands = new Commands(this);
  readonly appearance = new Appearance();
  readonly vitals = new Vitals();
  readonly questions = new Questions();
  readonly permissions = new Permissions();
  readonly machines = new Machines();
  readonly unseen = new Unseen();
  /** AI apps whose first machine was announced. */
  private readonly announced = new Kept<readonly string[]>('announced', [], isStrings);
  readonly aiApps = new AiApps(() => this.api);
  readonly hosted = new HostedAccounts(() => this.api);
  readonly toasts = new Toasts();
  readonly computers = new Computers(() => this.api, this.toasts);
  readonly updates = new Updates(
    () => this.api,
    (version) => this.toasts.info(words.updates.installed(version)),
  );
  readonly selected = $derived(
    this.selectedId === null ? undefined : this.machines.get(this.selectedId),
  );

  /**
   * Told of each change of a machine's connections, by the machine's name; once with neither when
   * some may have been missed.
   */
  private readonly contactListeners = new Set<(name?: string, contact?: Contact) => void>();
  private clock: ReturnType<typeof setInterval> | undefined;

  constructor() {
    onSaved({
      saved: (path) => this.toasts.info(words.output.savedTo(path)),
      failed: (reason) => this.toasts.error(reason),
    });
  }

  /** The daemon's operations; only once the page is ready. */
  get api(): Api {
    return this.session.api;
  }

  /** Connects and follows the daemon until close(). */
  async start(): Promise<void> {
    clearInterval(this.clock);
    this.clock = setInterval(() => (this.now = Date.now()), 1_000);
    await this.session.start();
  }

  close(): void {
    clearInterval(this.clock);
    this.session.close();
    this.updates.close();
  }

  select(id: string | null): void {
    if (this.selectedId === id) return;
    this.selectedId = id;
    this.wanted = null;
    if (this.dialog && 'machine' in this.dialog) this.dialog = null;
    const machine = id === null ? undefined : this.machines.get(id);
    if (!machine) {
      this.timeline = null;
      return;
    }
    this.timeline = new Timeline(
      new MachineSource(
        () => this.api,
        () => this.machines.get(machine.id) ?? machine,
      ),
    );
    void this.timeline.load();
  }

  /**
   * Has the listener told of machines' connections until the function that is returned is called.
   */
  onContact(listener: (name?: string, contact?: Contact) => void): () => void {
    this.contactListeners.add(listener);
    return () => this.contactListeners.delete(listener);
  }

  /** Loads everything: at first, and after events were missed. */
  private async load(): Promise<void> {
    try {
      const ready = await this.session.ready(async () => {
        const lists = Promise.all([this.api.listMachines(), this.api.listMachines(true)]);
        const [status] = await Promise.all([
          this.api.get('/api/status'),
          this.machines.replace(lists.then((both) => both.flat())),
        ]);
        this.status = status;
      });
      if (!ready) return;
    } catch (reason) {
      this.toasts.error(reason);
      return;
    }
    this.unseen.tidy(this.machines.all);
    for (const tell of this.contactListeners) tell();
    void this.questions.load(this.api, this.machines.alive);
    void this.permissions.load(this.api);
    if (this.selectedId !== null && !this.selected) this.select(null);
    await this.timeline?.load();
  }

  private onEvent(event: Event): void {
    switch (event.type) {
      case 'reset':
        void this.load();
        break;
      case 'machine':
        if (event.machine) {
          const isNew = !this.machines.get(event.machine.id);
          this.machines.put(event.machine);
          if (isNew) this.announce(event.machine);
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
      case 'permission':
        if (event.permission) this.permissions.note(event.permission);
        break;
      case 'checkpoint':
        if (this.isSelected(event.name)) {
          void this.timeline?.loadCheckpoints().catch(() => undefined);
        }
    }
  }

  /** Says that an app has made its first machine. */
  private announce(machine: Machine): void {
    const { client } = machine;
    if (!client || !byApp({ client }) || this.announced.value.includes(client.name)) return;
    this.announced.value = [...this.announced.value, client.name];
    const watch = { label: words.list.watch, run: () => this.select(machine.id) };
    this.toasts.info(words.list.made(client.name), watch);
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
