import type { TableFilter } from '$lib/api/types';

const COMPARISONS = {
  '>=': 'ge',
  '<=': 'le',
  '!=': 'ne',
  '>': 'gt',
  '<': 'lt',
  '=': 'eq',
} as const;

/**
 * What a person has typed above a column as a filter: `> 5`, `!= x`, or text to look for. Numbers
 * are looked for whole.
 */
export function parseFilter(column: number, number: boolean, text: string): TableFilter | null {
  const typed = text.trim();
  const [, sign, rest] = /^(>=|<=|!=|>|<|=)(.*)$/.exec(typed) ?? [];
  if (sign !== undefined && rest !== undefined) {
    const value = rest.trim();
    if (value === '') return null; // it is still being typed
    return { column, test: COMPARISONS[sign as keyof typeof COMPARISONS], value };
  }
  if (typed === '') return null;
  const whole = number && Number.isFinite(Number(typed));
  return { column, test: whole ? 'eq' : 'contains', value: typed };
}
