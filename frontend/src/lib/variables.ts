import type { Variable } from '$lib/api/types';
import { isTable } from '$lib/output/tables';
import { words } from '$lib/words';

/** Variables as a person looks for them: data first, code last. */
export interface Groups {
  readonly tables: readonly Variable[];
  readonly values: readonly Variable[];
  /** Functions and classes: mostly what was imported. */
  readonly code: readonly Variable[];
}

export function grouped(variables: readonly Variable[]): Groups {
  const code = variables.filter(({ kind }) => kind !== 'value');
  const data = variables.filter(({ kind }) => kind === 'value');
  return {
    tables: data.filter(isTable),
    values: data.filter((variable) => !isTable(variable)),
    code,
  };
}

/** How many rows and columns a table has; no columns where it is a single column. */
export function extent({ shape }: Variable): { rows: number; columns?: number } | null {
  const found = /^\((\d+),(?: (\d+))?\)$/.exec(shape ?? '');
  if (!found) return null;
  const rows = Number(found[1]);
  return found[2] === undefined ? { rows } : { rows, columns: Number(found[2]) };
}

/** What a variable is, in a few words: how large a table is, else its type and value. */
export function about(variable: Variable): string {
  const size = isTable(variable) ? extent(variable) : null;
  if (size) return words.variables.table(size.rows, size.columns);
  const { type, shape, preview } = variable;
  return [type, shape, preview].filter(Boolean).join(' · ');
}
