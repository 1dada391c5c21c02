import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Programs that are started for a while, and ended together. */
export class Programs {
  private readonly started: ChildProcess[] = [];

  start(program: string, args: string[], env: NodeJS.ProcessEnv): ChildProcess {
    const process = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
    this.started.push(process);
    return process;
  }

  /**
   * A screen and a session bus of their own: the environment of programs that are to be shown
   * there, with that of `env`.
   */
  async screen(env: NodeJS.ProcessEnv, ...args: string[]): Promise<NodeJS.ProcessEnv> {
    const size = ['-screen', '0', '1280x900x24'];
    const screen = this.start('Xvfb', ['-displayfd', '1', ...size, ...args], process.env);
    const bus = this.start('dbus-daemon', ['--session', '--nofork', '--print-address'], env);
    const shown: NodeJS.ProcessEnv = {
      ...env,
      DISPLAY: `:${await firstLine(screen)}`,
      DBUS_SESSION_BUS_ADDRESS: await firstLine(bus),
    };
    delete shown['WAYLAND_DISPLAY'];
    return shown;
  }

  /** Kills them, the last one first. */
  async close(): Promise<void> {
    for (const process of this.started.splice(0).reverse()) await killed(process);
  }
}

/** Kills a program unless it has ended, and waits for its end. */
export async function killed(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const ended = once(process, 'exit');
  process.kill('SIGKILL');
  await ended;
}

export async function firstLine(process: ChildProcess): Promise<string> {
  if (!process.stdout) throw new Error('The output of the process is not read.');
  const [line] = (await once(createInterface(process.stdout), 'line')) as [string];
  return line.trim();
}
