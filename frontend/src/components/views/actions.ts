import Archive from '@lucide/svelte/icons/archive';
import GitFork from '@lucide/svelte/icons/copy-plus';
import FileDown from '@lucide/svelte/icons/file-down';
import FileText from '@lucide/svelte/icons/file-text';
import FolderOpen from '@lucide/svelte/icons/folder-open';
import FolderSymlink from '@lucide/svelte/icons/folder-symlink';
import MemoryStick from '@lucide/svelte/icons/memory-stick';
import MessageCircle from '@lucide/svelte/icons/message-circle';
import Moon from '@lucide/svelte/icons/moon';
import Package from '@lucide/svelte/icons/package';
import MoveRight from '@lucide/svelte/icons/move-right';
import Pause from '@lucide/svelte/icons/pause';
import Pencil from '@lucide/svelte/icons/pencil';
import Play from '@lucide/svelte/icons/play';
import Sun from '@lucide/svelte/icons/sun';
import Trash from '@lucide/svelte/icons/trash-2';
import type { MenuItem } from '$components/shared/Menu.svelte';
import type { Machine } from '$lib/api/types';
import { placesFor } from '$lib/elsewhere';
import { isHosted } from '$lib/hosted';
import { shown } from '$lib/shown';
import type { App } from '$lib/state/app.svelte';
import { ARCHIVED } from '$lib/state/machines.svelte';
import { words } from '$lib/words';

const EXPORTS = ['ipynb', 'html', 'md', 'py'] as const;

/** What can be done with a machine as it is now: the menu of its header, and the palette. */
export function machineActions(app: App, machine: Machine): MenuItem[] {
  const { commands } = app;
  const anywhere: MenuItem[] = [
    {
      label: words.machine.sentenceCopy,
      icon: MessageCircle,
      run: () => void commands.copySentence(machine),
    },
    {
      label: words.machine.report,
      icon: FileText,
      run: () => (app.dialog = { kind: 'report', machine }),
    },
    ...EXPORTS.map((format) => ({
      label: words.machine.exports[format],
      icon: FileDown,
      run: () => void commands.export(machine, format),
    })),
  ];
  if (isHosted(machine)) return anywhere;
  const archived = ARCHIVED in machine.tags;
  return [
    {
      label: words.machine.details,
      icon: Pencil,
      run: () => (app.dialog = { kind: 'details', machine }),
    },
    {
      label: words.machine.copy,
      icon: GitFork,
      run: () => (app.dialog = { kind: 'fork', machine, checkpoint: null }),
    },
    wakeOrSleep(app, machine),
    {
      label: words.machine.openResults,
      icon: FolderOpen,
      run: () => void commands.openResults(machine),
    },
    {
      label: words.machine.share,
      icon: FolderSymlink,
      run: () => (app.dialog = { kind: 'share', machine }),
    },
    {
      label: words.machine.memory,
      icon: MemoryStick,
      run: () => (app.dialog = { kind: 'memory', machine }),
    },
    ...(placesFor(machine, app.status?.engines).length > 0 ? [move(app, machine)] : []),
    ...anywhere,
    {
      label: words.machine.pack,
      icon: Package,
      run: () => (app.dialog = { kind: 'pack', machine }),
    },
    {
      label: archived ? words.machine.unarchive : words.machine.archive,
      icon: Archive,
      run: () => void commands.archive(machine, !archived),
    },
    {
      label: words.machine.remove,
      icon: Trash,
      danger: true,
      run: () => void commands.remove(machine),
    },
  ];
}

function move(app: App, machine: Machine): MenuItem {
  return {
    label: words.machine.move,
    icon: MoveRight,
    run: () => (app.dialog = { kind: 'move', machine }),
  };
}

function wakeOrSleep({ commands }: App, machine: Machine): MenuItem {
  const state = shown(machine);
  if (state === 'running') {
    return { label: words.machine.pause, icon: Pause, run: () => void commands.sleep(machine) };
  }
  if (state === 'paused') {
    return { label: words.machine.resume, icon: Play, run: () => void commands.wake(machine) };
  }
  if (machine.state === 'swapped' || machine.state === 'swapping') {
    return { label: words.machine.wake, icon: Sun, run: () => void commands.wake(machine) };
  }
  return { label: words.machine.sleep, icon: Moon, run: () => void commands.sleep(machine) };
}
