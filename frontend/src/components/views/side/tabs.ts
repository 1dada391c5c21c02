import type { Component } from 'svelte';
import type { Machine } from '$lib/api/types';
import { isHosted } from '$lib/hosted';
import type { App } from '$lib/state/app.svelte';
import type { Timeline } from '$lib/state/timeline.svelte';
import { words } from '$lib/words';
import About from './About.svelte';
import Checkpoints from './Checkpoints.svelte';
import Files from './Files.svelte';
import Network from './Network.svelte';
import Plots from './Plots.svelte';
import Variables from './Variables.svelte';

/**
 * What every tab is given: the chosen machine, which stays the same one as long as the tab is
 * there.
 */
export interface TabProps {
  app: App;
  machine: Machine;
  timeline: Timeline;
}

export interface SideTab {
  /** Kept by the browser as the tab that was open last. */
  readonly id: string;
  readonly label: string;
  readonly view: Component<TabProps>;
  /** It shows what can only be seen of machines on this computer. */
  readonly local?: boolean;
}

const TABS: readonly SideTab[] = [
  { id: 'plots', label: words.side.plots, view: Plots },
  { id: 'variables', label: words.side.variables, view: Variables, local: true },
  { id: 'files', label: words.files.title, view: Files, local: true },
  { id: 'network', label: words.network.title, view: Network, local: true },
  { id: 'checkpoints', label: words.side.checkpoints, view: Checkpoints, local: true },
  { id: 'about', label: words.side.about, view: About },
];

/**
 * The tabs of a machine's panel at the right, in their order. A tab is there while it is shown:
 * what it loads, it loads again.
 */
export function tabsOf(machine: Machine): readonly SideTab[] {
  return isHosted(machine) ? TABS.filter(({ local }) => !local) : TABS;
}
