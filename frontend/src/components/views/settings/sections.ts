import type { Component } from 'svelte';
import type { App } from '$lib/state/app.svelte';
import { words } from '$lib/words';
import Access from './Access.svelte';
import Appearance from './Appearance.svelte';
import Backups from './Backups.svelte';
import Computers from './Computers.svelte';
import Connections from './Connections.svelte';
import Diagnostics from './Diagnostics.svelte';
import Engines from './Engines.svelte';
import Network from './Network.svelte';
import Secrets from './Secrets.svelte';
import Storage from './Storage.svelte';
import Updates from './Updates.svelte';

export interface SectionProps {
  app: App;
}

export interface Section {
  readonly id: string;
  readonly label: string;
  readonly view: Component<SectionProps>;
}

/** The parts of the settings, in their order. */
export const SECTIONS: readonly [Section, ...Section[]] = [
  { id: 'appearance', label: words.settings.appearance, view: Appearance },
  { id: 'storage', label: words.settings.storage, view: Storage },
  { id: 'backups', label: words.backups.title, view: Backups },
  { id: 'network', label: words.network.title, view: Network },
  { id: 'engines', label: words.settings.engines, view: Engines },
  { id: 'computers', label: words.computers.title, view: Computers },
  { id: 'apps', label: words.apps.title, view: Connections },
  { id: 'secrets', label: words.secrets.title, view: Secrets },
  { id: 'access', label: words.access.title, view: Access },
  { id: 'updates', label: words.updates.title, view: Updates },
  { id: 'diagnostics', label: words.settings.diagnostics, view: Diagnostics },
];
