import type { Branch, Checkpoint, FileEntry, Machine, Variable } from '$lib/api/types';
import type { Files } from './files.svelte';

/** A state that is compared: a checkpoint, and what it is called. */
export interface Compared {
  readonly id: string;
  readonly name: string;
}

/** What lies over the page; views/dialogs/Dialogs.svelte has a component for each kind. */
export type Dialog =
  | Of<'aiApps' | 'hosted' | 'newMachine' | 'notices' | 'palette' | 'settings'>
  | { readonly kind: 'unpack'; readonly file: File }
  | MachineDialog;

/** About a machine, as it was when the dialog opened. It closes when another machine is shown. */
export type MachineDialog = { readonly machine: Machine } & (
  | MachineForm
  | Of<'move' | 'pack' | 'purge' | 'report' | 'share'>
  | { readonly kind: 'rewind'; readonly checkpoint: Checkpoint }
  | { readonly kind: 'compare'; readonly from: Compared; readonly to: Compared | null }
  | { readonly kind: 'output'; readonly seq: number }
  | { readonly kind: 'table'; readonly variable: Variable }
  | { readonly kind: 'newFolder'; readonly files: Files }
  | { readonly kind: 'removeFile'; readonly files: Files; readonly entry: FileEntry }
);

/** A few fields, and what is done with them. */
export type MachineForm =
  | { readonly kind: 'branch'; readonly branch: Branch }
  | Of<'checkpoint' | 'details' | 'memory'>
  | { readonly kind: 'fork'; readonly checkpoint: Checkpoint | null }
  | { readonly kind: 'keep'; readonly checkpoint: Checkpoint };

/** A member of the union for each kind. */
type Of<Kind extends string> = Kind extends string ? { readonly kind: Kind } : never;
