import type {
  AiApp,
  Answer,
  AppBackup,
  AppOffer,
  AppReport,
  AppTest,
  ChangeApp,
  Branch,
  Checkpoint,
  Comparison,
  Completions,
  Contact,
  Engine,
  FileEntry,
  FileList,
  Hosted,
  HostedAccount,
  HostedLogin,
  HostedSignup,
  Inspection,
  Instruction,
  Item,
  Machine,
  MachineChange,
  Network,
  NewMachine,
  Page,
  Parcel,
  Plot,
  Representation,
  SearchHit,
  Settings,
  SettingsChange,
  ShareFolder,
  Status,
  Table,
  TableQuery,
  Update,
  Variable,
} from './types';
import { Http } from './http';
import { isDone } from './types';

/** How much of a machine's file says what is in it, in bytes. */
const PARCEL_HEAD = 128 << 10;

/** The daemon's operations, named as in backend/api/openapi.yaml. All throw ApiError or Unreachable. */
export class Api {
  constructor(readonly http: Http) {}

  status = () => this.http.json<Status>('/api/status');
  settings = () => this.http.json<Settings>('/api/settings');
  changeSettings = (json: SettingsChange) =>
    this.http.json<Settings>('/api/settings', { method: 'PATCH', json });

  /** What is known of newer releases. */
  update = () => this.http.json<Update>('/api/update');
  lookForUpdate = () => this.http.json<Update>('/api/update/look', { method: 'POST' });
  installUpdate = () => this.http.json<Update>('/api/update/install', { method: 'POST' });

  /** Steps whose code or output has all of the words, newest first. */
  async search(q: string, limit: number, signal: AbortSignal): Promise<SearchHit[]> {
    const query = { q, limit };
    return (await this.http.json<Page<SearchHit>>('/api/search', { query, signal })).items;
  }

  /** What happened in a machine, as a document. */
  async story(name: string, format: string): Promise<Blob> {
    return (await this.http.send(at(name, 'export'), { query: { format } })).blob();
  }

  /** Starts what an engine needs, where that is installed and does not run; it may take minutes. */
  startEngine = (name: string) =>
    this.http.json<Engine>(`/api/engines/${encodeURIComponent(name)}/start`, { method: 'POST' });

  /** Every machine, or everything in the bin, over as many pages as there are. */
  async listMachines(deleted = false): Promise<Machine[]> {
    const all: Machine[] = [];
    let cursor: string | undefined;
    do {
      const page: Page<Machine> = await this.http.json('/api/machines', {
        query: { limit: 1000, cursor, deleted: deleted || undefined },
      });
      all.push(...page.items);
      cursor = page.next;
    } while (cursor);
    return all;
  }

  createMachine = (json: NewMachine = {}) =>
    this.http.json<Machine>('/api/machines', { method: 'POST', json });

  changeMachine = (name: string, json: MachineChange) =>
    this.http.json<Machine>(at(name), { method: 'PATCH', json });

  async deleteMachine(name: string, purge = false): Promise<void> {
    await this.http.send(at(name), { method: 'DELETE', query: { purge: purge || undefined } });
  }

  /** Has the machine see a folder of the daemon's computer at /mnt/shared; in memory, it comes back for that. */
  shareFolder = (name: string, json: ShareFolder) =>
    this.http.json<Machine>(at(name, 'shared'), { method: 'PUT', json });
  stopSharing = (name: string) => this.http.json<Machine>(at(name, 'shared'), { method: 'DELETE' });

  restoreMachine = (name: string) => this.act(name, 'restore');
  swapMachine = (name: string) => this.act(name, 'swap');
  wakeMachine = (name: string) => this.act(name, 'wake');

  /** Stops what runs; with a number only that instruction. */
  interruptMachine = (name: string, seq?: number) =>
    this.http.json<Machine>(at(name, 'interrupt'), { method: 'POST', query: { seq } });

  /** What is left stays as a branch; without a name for it one is made up. */
  rewindMachine = (name: string, checkpoint: string, keepAs = '') =>
    this.http.json<Machine>(at(name, 'rewind'), {
      method: 'POST',
      json: keepAs === '' ? { checkpoint } : { checkpoint, keep_as: keepAs },
    });

  async listBranches(name: string): Promise<Branch[]> {
    return (await this.http.json<Page<Branch>>(at(name, 'branches'))).items;
  }

  /** In what two states differ; without `to` it is the present one. */
  compareStates = (name: string, from: string, to?: string, signal?: AbortSignal) =>
    this.http.json<Comparison>(at(name, 'compare'), {
      query: { from, to },
      ...(signal ? { signal } : {}),
    });

  async renameBranch(name: string, branch: string, to: string): Promise<void> {
    await this.http.send(at(name, 'branches', branch), { method: 'PATCH', json: { name: to } });
  }

  async deleteBranch(name: string, branch: string): Promise<void> {
    await this.http.send(at(name, 'branches', branch), { method: 'DELETE' });
  }

  forkMachine = (name: string, json: NewMachine) =>
    this.http.json<Machine>(at(name, 'fork'), { method: 'POST', json });

  async listCheckpoints(name: string): Promise<Checkpoint[]> {
    return (await this.http.json<Page<Checkpoint>>(at(name, 'checkpoints'))).items;
  }

  createCheckpoint = (name: string, label: string) =>
    this.http.json<Checkpoint>(at(name, 'checkpoints'), {
      method: 'POST',
      json: label === '' ? {} : { label },
    });

  /** Has one kept until it is deleted. */
  keepCheckpoint = (name: string, id: string, label: string) =>
    this.http.json<Checkpoint>(at(name, 'checkpoints', id), { method: 'PATCH', json: { label } });

  async deleteCheckpoint(name: string, id: string): Promise<void> {
    await this.http.send(at(name, 'checkpoints', id), { method: 'DELETE' });
  }

  /** The newest instructions below `before`, newest first. */
  listInstructions = (name: string, before: number | undefined, limit: number) =>
    this.http.json<Page<Instruction>>(at(name, 'instructions'), {
      query: { order: 'newest', before, limit },
    });

  /** Figures come as SVG, too, which stays sharp at any size. */
  execute = (name: string, code: string) =>
    this.http.json<Instruction>(at(name, 'instructions'), {
      method: 'POST',
      json: { code, formats: ['svg'] },
    });

  async cancelInstruction(name: string, seq: number): Promise<void> {
    await this.http.send(at(name, 'instructions', seq), { method: 'DELETE' });
  }

  listItems = (name: string, seq: number, from: number) =>
    this.http.json<Page<Item>>(at(name, 'instructions', seq, 'items'), {
      query: { from, limit: 1000 },
    });

  instruction = (name: string, seq: number) =>
    this.http.json<Instruction>(at(name, 'instructions', seq));

  /** The instruction once it is over. */
  async ended(name: string, seq: number): Promise<Instruction> {
    for (;;) {
      const path = at(name, 'instructions', seq);
      const now = await this.http.json<Instruction>(path, { query: { wait: 600 } });
      if (isDone(now)) return now;
    }
  }

  /** Everything that is kept of an instruction's output, as text: up to hundreds of megabytes, unread. */
  output = (name: string, seq: number, signal: AbortSignal) =>
    this.http.send(at(name, 'instructions', seq, 'output'), { signal });

  /** A representation's bytes as a blob. The href is the daemon's own path and is used as nothing else. */
  async data(representation: Representation, signal: AbortSignal): Promise<Blob> {
    if (!representation.href.startsWith('/api/')) throw new Error('This output has no address.');
    const response = await this.http.send(representation.href, { signal });
    return new Blob([await response.arrayBuffer()], { type: representation.mime });
  }

  /** What the machine has drawn before the cursor, newest first. */
  listPlots = (name: string, cursor: string | undefined, limit: number) =>
    this.http.json<Page<Plot>>(at(name, 'plots'), { query: { cursor, limit } });

  /** Wakes a machine that is not in memory. */
  async listVariables(name: string): Promise<Variable[]> {
    return (await this.http.json<Page<Variable>>(at(name, 'variables'))).items;
  }

  /** A page of a variable that is a table. */
  readTable = (name: string, json: TableQuery, signal: AbortSignal) =>
    this.http.json<Table>(at(name, 'table'), { method: 'POST', json, signal });

  /** A file of a machine's. */
  async readFile(name: string, path: string): Promise<Blob> {
    const response = await this.http.send(at(name, 'files', 'content'), { query: { path } });
    return response.blob();
  }

  complete = (name: string, code: string, cursor: number, signal: AbortSignal) =>
    this.http.json<Completions>(at(name, 'complete'), {
      method: 'POST',
      json: { code, cursor },
      signal,
    });

  /** What is known of the name at a cursor. Wakes a machine that is not in memory. */
  inspect = (name: string, code: string, cursor: number, signal: AbortSignal) =>
    this.http.json<Inspection>(at(name, 'inspect'), {
      method: 'POST',
      json: { code, cursor },
      signal,
    });

  listFiles = (name: string, path: string, signal: AbortSignal) =>
    this.http.json<FileList>(at(name, 'files'), { query: { path }, signal });

  statFile = (name: string, path: string) =>
    this.http.json<FileEntry>(at(name, 'files', 'stat'), { query: { path } });

  /** A file's bytes, unread. */
  openFile = (name: string, path: string, signal: AbortSignal) =>
    this.http.send(at(name, 'files', 'content'), { query: { path }, signal });

  /** Sends a file; `onsent` is told how many bytes have gone. */
  writeFile = (
    name: string,
    path: string,
    file: Blob,
    onsent: (bytes: number) => void,
    signal: AbortSignal,
  ) => this.http.upload('PUT', at(name, 'files', 'content'), { path }, file, onsent, signal);

  /** A whole machine as one file. */
  pack = (name: string, signal: AbortSignal) => this.http.send(at(name, 'pack'), { signal });

  /** What a machine's file holds, and what is to be said about it here. */
  lookIntoParcel = (file: Blob, signal: AbortSignal) =>
    this.http.json<Parcel>('/api/unpack/look', {
      method: 'POST',
      body: file.slice(0, PARCEL_HEAD),
      signal,
    });

  /** Makes a machine of a file. `trust` names a maker who is not known, `maker` is what the person calls them. */
  async unpack(
    file: Blob,
    query: { trust?: string; maker?: string },
    onsent: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<Machine> {
    return JSON.parse(
      await this.http.upload('POST', '/api/unpack', query, file, onsent, signal),
    ) as Machine;
  }

  async removeFile(name: string, path: string): Promise<void> {
    await this.http.send(at(name, 'files'), { method: 'DELETE', query: { path } });
  }

  async makeFolder(name: string, path: string): Promise<void> {
    await this.http.send(at(name, 'files', 'folder'), { method: 'POST', query: { path } });
  }

  network = (name: string) => this.http.json<Network>(at(name, 'network'));

  /** What a machine reached, or tried to, newest first. */
  listContacts = (name: string, cursor?: string) =>
    this.http.json<Page<Contact>>(at(name, 'connections'), { query: { cursor, limit: 100 } });

  /** Answers a machine that asks whether it may reach a host, for all that it has waiting for that host. */
  async answer(name: string, contact: number, answer: Answer): Promise<void> {
    const path = at(name, 'connections', contact, 'answer');
    await this.http.send(path, { method: 'POST', json: { answer } });
  }

  async listApps(): Promise<AiApp[]> {
    return (await this.http.json<Page<AiApp>>('/api/apps')).items;
  }

  changeApp = (id: string, what: 'connect' | 'disconnect' | 'repair', json: ChangeApp) =>
    this.http.json<AppReport>(ofApp(id, what), { method: 'POST', json });

  offerApp = (id: string) => this.http.json<AppOffer>(ofApp(id, 'offer'), { method: 'POST' });

  testApp = (id: string) => this.http.json<AppTest>(ofApp(id, 'test'), { method: 'POST' });

  async listAppBackups(id: string): Promise<AppBackup[]> {
    return (await this.http.json<Page<AppBackup>>(ofApp(id, 'backups'))).items;
  }

  restoreApp = (id: string, backup: string) =>
    this.http.json<AppReport>(ofApp(id, 'restore'), { method: 'POST', json: { backup } });

  hosted = () => this.http.json<Hosted>('/api/hosted');

  signIn = (json: HostedLogin) =>
    this.http.json<Hosted>('/api/hosted/login', { method: 'POST', json });

  useAccount = (json: HostedAccount) =>
    this.http.json<Hosted>('/api/hosted/use', { method: 'POST', json });

  signOut = () => this.http.json<Hosted>('/api/hosted/logout', { method: 'POST' });

  async signUp(json: HostedSignup): Promise<void> {
    await this.http.send('/api/hosted/signup', { method: 'POST', json });
  }

  async removeOfficial(): Promise<void> {
    await this.http.send('/api/hosted/official', { method: 'DELETE' });
  }

  private act(name: string, what: 'restore' | 'swap' | 'wake'): Promise<Machine> {
    return this.http.json<Machine>(at(name, what), { method: 'POST' });
  }
}

const ofApp = (id: string, what: string) => `/api/apps/${encodeURIComponent(id)}/${what}`;

function at(name: string, ...rest: (string | number)[]): string {
  return ['/api/machines', name, ...rest]
    .map((part, i) => (i === 0 ? part : encodeURIComponent(part)))
    .join('/');
}
