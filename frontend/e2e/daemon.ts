import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';

export const programs = new URL('../../build/bin/', import.meta.url).pathname;

/** A real daemon with a home of its own. */
export class Daemon {
  readonly home = mkdtempSync(join(tmpdir(), 'forevervm-page-'));
  /** The home folder of the person whose AI apps it sees. */
  readonly user = join(this.home, 'user');
  /** What lies in it is brought into machines. */
  readonly inbox = join(this.home, 'ForeverVM');
  url = '';

  /**
   * With variables that only the daemon itself gets, a command before its own that makes its
   * surroundings, and the folder of its program.
   */
  constructor(
    private readonly extra: NodeJS.ProcessEnv = {},
    private readonly surroundings: string[] = [],
    public bin = programs,
  ) {}

  private process: ChildProcess | null = null;
  private token = '';

  /** Starts it, or starts it again: at the same address, with the same token. */
  async start(): Promise<void> {
    const [command = '', ...args] = [...this.surroundings, join(this.bin, 'forevervm'), 'serve'];
    const started = spawn(command, args, {
      env: {
        ...this.env,
        ...{ HOME: this.user, XDG_CONFIG_HOME: '', CODEX_HOME: '', DISPLAY: ':0' },
        PATH: `${this.opener()}:${process.env.PATH}`,
        ...this.extra,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.process = started;
    const ready = once(createInterface(started.stdout), 'line');
    const ended = once(started, 'exit').then(() => {
      throw new Error('The daemon ended before it was ready.');
    });
    ended.catch(() => undefined);
    const [line] = (await Promise.race([ready, ended])) as [string];
    this.url = (JSON.parse(line) as { url: string }).url;
  }

  /**
   * Has it run with the default settings and without machines, places elsewhere, makers, files and
   * AI apps, whatever was done to it. What it knows of programs, updates and the apps' earlier settings stays: see
   * renew.
   */
  async reset(): Promise<void> {
    if (!this.alive) await this.start();
    const settings = await this.call<Record<string, unknown>>('GET', '/api/settings');
    const defaults = Object.fromEntries(Object.keys(settings).map((key) => [key, null]));
    await this.call('PATCH', '/api/settings', defaults);
    for (const bin of [false, true]) {
      const { items } = await this.call<{ items: { name: string }[] }>(
        'GET',
        `/api/machines?limit=1000&deleted=${bin}`,
      );
      await Promise.all(
        items.map(({ name }) => this.call('DELETE', `/api/machines/${name}?purge=true`)),
      );
    }
    const places = await this.call<{ items: { name: string }[] }>('GET', '/api/places');
    for (const { name } of places.items)
      await this.call('DELETE', `/api/places/${encodeURIComponent(name)}`);
    const makers = await this.call<{ items: { fingerprint: string }[] }>('GET', '/api/makers');
    for (const { fingerprint } of makers.items)
      await this.call('DELETE', `/api/makers/${fingerprint}`);
    for (const path of [this.user, this.inbox, join(this.home, 'opened')]) remove(path);
  }

  /** Has it run as on a computer that it has never run on; see reset, which is quicker. */
  async renew(): Promise<void> {
    await this.end('SIGTERM');
    this.token = '';
    for (const name of readdirSync(this.home)) remove(join(this.home, name));
    await this.start();
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Ends it gently and removes its home. */
  async close(): Promise<void> {
    await this.end('SIGTERM');
    remove(this.home);
  }

  /** What the command line program prints. */
  cli(...args: string[]): string {
    return execFileSync(join(this.bin, 'forevervm'), args, { env: this.env, encoding: 'utf8' });
  }

  /** Asks the daemon as an AI app does. */
  async call<T>(method: string, path: string, body?: object): Promise<T> {
    this.token ||= this.cli('token', '--owner').trim();
    const response = await fetch(this.url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        'content-type': 'application/json',
        'x-forevervm-client': 'Claude Desktop/1.0',
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (response.status === 204 ? undefined : await response.json()) as T;
  }

  /** Puts a file into a machine, also while code runs there. */
  async put(machine: string, path: string, text: string): Promise<void> {
    this.token ||= this.cli('token', '--owner').trim();
    const response = await fetch(
      `${this.url}/api/machines/${machine}/files/content?path=${encodeURIComponent(path)}`,
      { method: 'PUT', headers: { authorization: `Bearer ${this.token}` }, body: text },
    );
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  }

  /** Makes a machine, and returns its name. */
  async machine(options: { title?: string; tags?: Record<string, string> } = {}): Promise<string> {
    return (await this.call<{ name: string }>('POST', '/api/machines', options)).name;
  }

  /** Queues code, and returns its number. */
  async queue(machine: string, code: string): Promise<number> {
    const path = `/api/machines/${machine}/instructions`;
    return (await this.call<{ seq: number }>('POST', path, { code })).seq;
  }

  /** Waits for the end of what was queued, and for that it went well. */
  async ended(machine: string, seq: number): Promise<void> {
    const path = `/api/machines/${machine}/instructions/${seq}?wait=600`;
    const { status } = await this.call<{ status: string }>('GET', path);
    if (status !== 'ok') throw new Error(`Step ${seq + 1} of ${machine}: ${status}.`);
  }

  /** An address that opens the page, once. */
  link(): string {
    return this.cli('open', '--print').trim();
  }

  /** Whether a daemon of this home has started, no matter who started it. */
  runs(): boolean {
    return existsSync(this.discovery);
  }

  /** Ends a daemon that another program started here, and removes the home. */
  async closeDetached(): Promise<void> {
    if (!this.runs()) return this.close();
    const { url, pid } = JSON.parse(readFileSync(this.discovery, 'utf8')) as {
      url: string;
      pid: number;
    };
    const headers = { authorization: `Bearer ${this.cli('token', '--owner').trim()}` };
    await fetch(`${url}/api/shutdown`, { method: 'POST', headers });
    const deadline = Date.now() + 60_000;
    while (alive(pid)) {
      if (Date.now() > deadline) throw new Error('The daemon does not end.');
      await setTimeout(50);
    }
    await this.close();
  }

  /** A folder with what opens files and addresses: it notes them in the home's file "opened". */
  private opener(): string {
    const folder = join(this.home, 'bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" >"${this.home}/opened"\n`, {
      mode: 0o755,
    });
    return folder;
  }

  private get alive(): boolean {
    return this.process?.exitCode === null && this.process.signalCode === null;
  }

  /** The file in which a daemon says where it is. */
  private get discovery(): string {
    return join(this.home, 'run/daemon.json');
  }

  get env(): NodeJS.ProcessEnv {
    // Without the account at the hosted service that the person who runs the tests may have.
    const account = { FOREVERVM_TOKEN: undefined, FOREVERVM_BASE_URL: undefined };
    return { ...process.env, ...account, FOREVERVM_HOME: this.home };
  }

  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = this.process;
    this.process = null;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, 'exit');
    ending.kill(signal);
    await ended;
  }
}

export const desktop = join(programs, 'forevervm-desktop');

/** Removes a file or folder, which something that ends may still write to. */
function remove(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });
}

/**
 * Whether a process runs; one that has ended is none, even where nobody has asked for its status,
 * as in a container without an init.
 */
function alive(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
