import type { ChangeKind } from '$lib/api/types';

/** One difference between two states of a machine: of a variable or a file. */
export interface Change {
  name: string;
  kind: ChangeKind;
  before: string | undefined;
  after: string | undefined;
  /** It may be the same: it was written, and is too large to compare. */
  unsure?: boolean | undefined;
  /** What differs inside it: of a table its columns. */
  inside?: readonly string[] | undefined;
}
