import { given, of } from '$lib/api/api';
import type {
  Answer,
  Checkpoint,
  Export,
  Instruction,
  Machine,
  MachineChange,
  NewMachine,
  Permission,
} from '$lib/api/types';
import { EXAMPLE } from '$lib/example';
import { join } from '$lib/files';
import { saveAs } from '$lib/save';
import { title, words } from '$lib/words';
import type { App } from './app.svelte';
import { HOME } from './files.svelte';
import { ARCHIVED, LEFT_OUT } from './machines.svelte';
import type { Question } from './questions.svelte';

const at = (machine: Machine, { id }: Checkpoint) => ({
  params: { path: { name: machine.name, id } },
});

/** What the person can do. Each tells its own failure and resolves to whether it worked. */
export class Commands {
  constructor(private readonly app: App) {}

  async create(options: NewMachine = {}): Promise<Machine | null> {
    return this.try(async () => {
      const machine = await this.app.api.post('/api/machines', { body: options });
      this.app.machines.put(machine);
      this.app.select(machine.id);
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
    if (instruction && this.app.selectedId === machine.id) this.app.timeline?.onQueued(instruction);
    return instruction !== null;
  }

  /** What happened, as a file. */
  async export(machine: Machine, format: Export): Promise<void> {
    await this.try(async () => {
      const story = await this.app.api.get('/api/machines/{name}/export', {
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

  includeInBackups = (machine: Machine, yes: boolean) =>
    this.change(machine, { tags: { [LEFT_OUT]: yes ? null : 'true' } });

  // Only a title that somebody gave: an AI shall not be told what code says of itself.
  copySentence = (machine: Machine) =>
    this.copyPrompt(words.machine.sentence(machine.name, machine.title));

  /** Puts files into the folder in which a machine's code begins. */
  async give(machine: Machine, files: readonly File[]): Promise<void> {
    for (const file of files) {
      await this.try(async () => {
        const path = join(HOME, file.name);
        const { signal } = new AbortController();
        await this.app.api.writeFile(machine.name, path, file, () => undefined, signal);
        this.app.toasts.info(words.files.given(file.name, title(machine), path));
        return true;
      });
    }
  }

  /** Puts words for an AI app on the clipboard, and offers to open the app with them. */
  async copyPrompt(prompt: string): Promise<void> {
    await this.try(async () => {
      await navigator.clipboard.writeText(prompt);
      const app = this.app.aiApps.asking[0];
      const open = app && {
        label: words.first.open(app.name),
        run: () => void this.ask(app.id, prompt),
      };
      this.app.toasts.info(words.machine.sentenceCopied, open);
      return true;
    });
  }

  /** Opens an AI app with words that the person then sends or not. */
  ask = (app: string, prompt: string) =>
    this.try(() =>
      this.app.api.post('/api/apps/{id}/ask', { params: { path: { id: app } }, body: { prompt } }),
    );

  cancel = (machine: Machine, seq: number) =>
    this.try(() =>
      this.app.api.delete('/api/machines/{name}/instructions/{seq}', {
        params: { path: { name: machine.name, seq } },
      }),
    );

  /** Stops what the person sees running, and not what may have begun meanwhile. */
  interrupt = (machine: Machine) => {
    const seq = this.app.selectedId === machine.id ? this.app.timeline?.running : undefined;
    const params = { path: { name: machine.name }, query: given({ seq }) };
    return this.update(() => this.app.api.post('/api/machines/{name}/interrupt', { params }));
  };

  sleep = (machine: Machine) =>
    this.update(() => this.app.api.post('/api/machines/{name}/swap', of(machine.name)));
  wake = (machine: Machine) =>
    this.update(() => this.app.api.post('/api/machines/{name}/wake', of(machine.name)));
  openResults = (machine: Machine) =>
    this.try(() => this.app.api.post('/api/machines/{name}/results/open', of(machine.name)));
  stopSharing = (machine: Machine) =>
    this.update(() => this.app.api.delete('/api/machines/{name}/shared', of(machine.name)));
  restore = (machine: Machine) =>
    this.update(() => this.app.api.post('/api/machines/{name}/restore', of(machine.name)));
  change = (machine: Machine, body: MachineChange) =>
    this.update(() => this.app.api.patch('/api/machines/{name}', { ...of(machine.name), body }));

  async remove(machine: Machine): Promise<void> {
    const done = await this.try(async () => {
      await this.app.api.delete('/api/machines/{name}', of(machine.name));
      return true;
    });
    if (!done) return;
    if (this.app.selectedId === machine.id) this.app.select(null);
    this.app.machines.put({ ...machine, state: 'deleted' });
    this.app.toasts.info(words.machine.removed(title(machine)), {
      label: words.machine.undo,
      run: () => void this.restore(machine).then((back) => back && this.app.select(machine.id)),
    });
  }

  async purge(machine: Machine): Promise<void> {
    await this.try(async () => {
      await this.app.api.delete('/api/machines/{name}', {
        params: { path: { name: machine.name }, query: { purge: true } },
      });
      this.app.machines.remove(machine.id);
      return true;
    });
  }

  answer = (question: Question, answer: Answer) =>
    this.try(async () => {
      this.app.questions.answered(question);
      await this.app.api.post('/api/machines/{name}/connections/{id}/answer', {
        params: { path: { name: question.machine, id: question.contact.id } },
        body: { answer },
      });
    });

  permit = (permission: Permission, allow: boolean) =>
    this.try(async () => {
      await this.app.api.post('/api/permissions/{id}/answer', {
        params: { path: { id: permission.id } },
        body: { allow },
      });
      // A list that is on its way may still have it.
      this.app.permissions.note({ ...permission, state: allow ? 'allowed' : 'denied' });
    });

  async checkpoint(machine: Machine, label: string): Promise<void> {
    const body = label === '' ? {} : { label };
    const saved = await this.try(() =>
      this.app.api.post('/api/machines/{name}/checkpoints', { ...of(machine.name), body }),
    );
    if (!saved) return;
    this.app.toasts.info(words.checkpoint.saved);
    await this.refreshCheckpoints(machine);
  }

  async keepCheckpoint(machine: Machine, checkpoint: Checkpoint, label: string): Promise<void> {
    const kept = await this.try(() =>
      this.app.api.patch('/api/machines/{name}/checkpoints/{id}', {
        ...at(machine, checkpoint),
        body: { label },
      }),
    );
    if (!kept) return;
    this.app.toasts.info(words.checkpoint.kept);
    await this.refreshCheckpoints(machine);
  }

  async removeCheckpoint(machine: Machine, checkpoint: Checkpoint): Promise<void> {
    await this.try(() =>
      this.app.api.delete('/api/machines/{name}/checkpoints/{id}', at(machine, checkpoint)),
    );
    await this.refreshCheckpoints(machine);
  }

  /**
   * Goes back to a checkpoint. What is left stays as a branch, so that the message that tells has a
   * way back.
   */
  async rewind(machine: Machine, checkpoint: string, keepAs = ''): Promise<void> {
    const before = this.app.machines.get(machine.id)?.undo;
    const body = keepAs === '' ? { checkpoint } : { checkpoint, keep_as: keepAs };
    const done = await this.update(() =>
      this.app.api.post('/api/machines/{name}/rewind', { ...of(machine.name), body }),
    );
    if (!done) return;
    const { undo } = done;
    this.app.toasts.info(
      words.rewind.done,
      undo && undo !== before
        ? { label: words.rewind.undo, run: () => void this.rewind(done, undo) }
        : undefined,
    );
    if (this.app.selectedId === machine.id) await this.app.timeline?.load();
  }

  async renameBranch(machine: Machine, branch: string, to: string): Promise<void> {
    const params = { path: { name: machine.name, branch } };
    await this.try(() =>
      this.app.api.patch('/api/machines/{name}/branches/{branch}', { params, body: { name: to } }),
    );
    await this.refreshCheckpoints(machine);
  }

  async deleteBranch(machine: Machine, branch: string): Promise<void> {
    const params = { path: { name: machine.name, branch } };
    await this.try(() => this.app.api.delete('/api/machines/{name}/branches/{branch}', { params }));
    await this.refreshCheckpoints(machine);
  }

  async fork(machine: Machine, checkpoint: Checkpoint | null, name: string): Promise<void> {
    const body = {
      ...(checkpoint ? { checkpoint: checkpoint.id } : {}),
      ...(name === '' ? {} : { title: name }),
    };
    const made = await this.update(() =>
      this.app.api.post('/api/machines/{name}/fork', { ...of(machine.name), body }),
    );
    if (made) this.app.select(made.id);
  }

  /** Figures come as SVG, too, which stays sharp at any size. */
  private execute(machine: Machine, code: string): Promise<Instruction> {
    return this.app.api.post('/api/machines/{name}/instructions', {
      ...of(machine.name),
      body: { code, formats: ['svg'] },
    });
  }

  /** Starts what an engine needs, where that is installed; the next status says how it stands. */
  startEngine = (name: string) =>
    this.try(() => this.app.api.post('/api/engines/{name}/start', of(name)));

  private async refreshCheckpoints(machine: Machine): Promise<void> {
    if (this.app.selectedId !== machine.id) return;
    await this.app.timeline?.loadCheckpoints().catch(() => undefined);
  }

  private async update(action: () => Promise<Machine>): Promise<Machine | null> {
    const machine = await this.try(action);
    if (machine) this.app.machines.put(machine);
    return machine;
  }

  private async try<T>(action: () => Promise<T>): Promise<T | null> {
    try {
      return await action();
    } catch (reason) {
      this.app.toasts.error(reason);
      return null;
    }
  }
}
