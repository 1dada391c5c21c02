import type { Change } from '$lib/change';
import type { Result } from './host.svelte';

/** Which instruction a tool's answer is of: the server says so beside it. */
export function instructionOf(result: Result | null): { machine: string; seq: number } | null {
  const named = result?._meta?.['forevervm/instruction'];
  if (typeof named !== 'object' || named === null) return null;
  if (!('machine' in named) || !('seq' in named)) return null;
  const { machine, seq } = named;
  return typeof machine === 'string' && typeof seq === 'number' ? { machine, seq } : null;
}

/** The code of the place for which the tool asks for a file. */
export function dropOf(result: Result | null): string | null {
  const code = result?._meta?.['forevervm/drop'];
  return typeof code === 'string' ? code : null;
}

export interface Differences {
  variables: Change[];
  files: Change[];
  nothing: boolean;
}

/** What compare-checkpoints found, if the answer is its own. */
export function differencesOf(result: Result | null): Differences | null {
  const found: unknown = result?.structuredContent;
  if (typeof found !== 'object' || found === null || !('onlyInFirst' in found)) return null;
  const [variables, files] = [changes(found, 'variables'), changes(found, 'files')];
  return { variables, files, nothing: variables.length + files.length === 0 };
}

function changes(found: object, key: string): Change[] {
  const all: unknown = (found as Record<string, unknown>)[key];
  if (!Array.isArray(all)) return [];
  return all.flatMap((one: unknown) => {
    const { name, change, before, after } = (one ?? {}) as Record<string, unknown>;
    if (typeof name !== 'string') return [];
    if (change !== 'added' && change !== 'removed' && change !== 'changed') return [];
    return [{ name, kind: change, before: string(before), after: string(after) }];
  });
}

const string = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;
