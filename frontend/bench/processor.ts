import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { Daemon } from '../e2e/daemon';

/** Linux counts it in hundredths of a second. */
const TICK_MS = 10;

/** Milliseconds that a process, and all that come from it, have computed so far. */
export function processorTime(root: number): number {
  const processes = new Map<number, { parent: number; ticks: number }>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number);
      // Its own time and that of children that have ended, in the kernel and outside.
      const ticks = fields.slice(11, 15).reduce((sum, value) => sum + value, 0);
      processes.set(Number(name), { parent: fields[1] ?? 0, ticks });
    } catch {
      // It has ended meanwhile.
    }
  }
  const within = (pid: number): boolean => {
    const parent = processes.get(pid)?.parent ?? 0;
    return pid === root || (parent !== 0 && within(parent));
  };
  let ticks = 0;
  for (const [pid, process] of processes) if (within(pid)) ticks += process.ticks;
  return ticks * TICK_MS;
}

/**
 * Waits until the daemon, and what its machines are, have had nothing to do for a while: what they
 * did before is saved then.
 */
export async function atRest(daemon: Daemon): Promise<void> {
  const { pid } = await daemon.call<{ pid: number }>('GET', '/api/status');
  for (let before = -Infinity, now = 0; now - before > 2 * TICK_MS;) {
    before = now;
    await setTimeout(1_000);
    now = processorTime(pid);
  }
}
